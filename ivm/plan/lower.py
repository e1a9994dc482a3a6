"""IR to plan. Every relation becomes one plan node, with the map-filter-projects around it fused."""

from __future__ import annotations

from dataclasses import replace

from ivm.plan.changeless import fits_group, only_grows
from ivm.plan.existing import Existing
from ivm.plan.join import lower_join
from ivm.plan.mfp import Mfp, Row, peel, row_of, row_of_relation
from ivm.plan.nodes import (
    AggregatePlan,
    ConstantPlan,
    MfpPlan,
    NegatePlan,
    Plan,
    ReducePlan,
    TablePlan,
    ThresholdPlan,
    TopKPlan,
    UnionPlan,
    ViewPlan,
)
from ivm.plan.readings import check_readings
from ivm.plan.window import lower_window
from sql.ir.relation import (
    Aggregate,
    Constant,
    Get,
    Join,
    Negate,
    Order,
    Reduce,
    Relation,
    Threshold,
    TopK,
    Union,
    Window,
)
from sql.ir.scalar import Scalar


def lower(relation: Relation, existing: Existing | None = None) -> Plan:
    """The plan of a relation that the transforms have brought into shape, beside what exists (by default nothing).

    It is the same whenever what exists is. UnsupportedError as for `check_readings`.
    Cost: linear in the relation's size, and the choice of keys for each join.
    """
    plan = _Lowering(Existing() if existing is None else existing.above()).lower(relation)
    check_readings(plan)
    return plan


def apply_mfp(plan: Plan, mfp: Mfp) -> Plan:
    """`plan` followed by `mfp`, merged into it where it is an MFP itself; nothing is added for the identity."""
    mfp = mfp.pruned()
    if mfp.is_identity:
        return plan
    if isinstance(plan, MfpPlan):
        return apply_mfp(plan.input, plan.mfp.then(mfp))
    return MfpPlan(plan, mfp, output_row(plan.row, mfp))


def output_row(row: Row, mfp: Mfp) -> Row:
    """The row that `mfp` makes of `row`; a column compared with success is still nullable by type."""
    parts: tuple[Scalar, ...] = (*row, *mfp.maps)
    return row_of(tuple(parts[p] for p in mfp.projection))


class _Lowering:
    """One plan in the making: of parts that are met again, the plan there is; of joins, those that exist."""

    def __init__(self, existing: Existing) -> None:
        self._existing = existing
        self._done: dict[int, tuple[Relation, Plan]] = {}  # by identity, of relations that live as long as this

    def lower(self, relation: Relation) -> Plan:
        known = self._done.get(id(relation))
        if known is None:
            known = self._done[id(relation)] = relation, self._lower(relation)
        return known[1]

    def _lower(self, relation: Relation) -> Plan:
        base, mfp = peel(relation)
        if isinstance(base, Join):
            return lower_join(base, mfp, self.lower, self._existing)
        return apply_mfp(self._base(base), mfp)

    def _base(self, relation: Relation) -> Plan:
        match relation:
            case Get():
                row = row_of_relation(relation)
                if not relation.is_table:
                    return ViewPlan(relation.name, row)
                return TablePlan(relation.name, row, relation.keys, relation.append_only, relation.static)
            case Constant():
                return ConstantPlan(relation.rows, row_of_relation(relation))
            case Reduce():
                return self._reduce(relation)
            case TopK():
                return self._top_k(relation)
            case Window():
                return lower_window(relation, self.mapped)
            case Union():
                return UnionPlan(tuple(self.lower(r) for r in relation.inputs), row_of_relation(relation))
            case Negate():
                return NegatePlan(self.lower(relation.input), row_of_relation(relation))
            case Threshold():
                return ThresholdPlan(self.lower(relation.input), row_of_relation(relation))
        raise AssertionError(f"no plan for {type(relation).__name__}")

    def _top_k(self, top: TopK) -> TopKPlan:
        row, below = row_of_relation(top), self.lower(top.input)
        first = top.limit is not None and not top.ties and fits_group(row, top.limit + top.offset)
        return TopKPlan(
            below, top.group, top.order, top.limit, top.offset, row, top.ties, growing=first and only_grows(below)
        )

    def _reduce(self, reduce: Reduce) -> ReducePlan:
        """Keys and arguments are computed by the MFP below, each distinct argument once."""
        arguments = tuple(dict.fromkeys(scalar for a in reduce.aggregates for scalar in a.scalars))
        places = {argument: len(reduce.keys) + i for i, argument in enumerate(arguments)}
        aggregates = tuple(_lower_aggregate(a, places) for a in reduce.aggregates)
        below = self.mapped(reduce.input, (*reduce.keys, *arguments))
        row = row_of((*reduce.keys, *reduce.aggregates))  # type: ignore[arg-type]
        return ReducePlan(below, len(reduce.keys), aggregates, row, only_grows(below))

    def mapped(self, relation: Relation, scalars: tuple[Scalar, ...]) -> Plan:
        """The plan of `scalars` computed over `relation`, in place of its columns, for a reader of all of them.

        They are gathered where rows are dropped or come from a join; whole columns of a batch are not worth copying.
        """
        base, mfp = peel(relation)
        width = len(mfp.projection)
        computed = mfp.map(scalars).project(tuple(range(width, width + len(scalars))))
        computed = replace(computed, gathered=bool(mfp.predicates) or isinstance(base, Join))
        if isinstance(base, Join):
            return lower_join(base, computed, self.lower, self._existing)
        return apply_mfp(self._base(base), computed)


def _lower_aggregate(aggregate: Aggregate, places: dict[Scalar, int]) -> AggregatePlan:
    assert not aggregate.distinct, "expand_distinct has taken DISTINCT away"
    return AggregatePlan(
        aggregate.function,
        None if aggregate.arg is None else places[aggregate.arg],
        aggregate.type,
        aggregate.nullable,
        tuple(places[scalar] for scalar in aggregate.others),
        tuple(Order(places[o.scalar], o.descending, o.nulls_first) for o in aggregate.order),
        aggregate.parameters,
    )
