"""IR to plan. Every relation becomes one plan node, with the map-filter-projects around it fused."""

from __future__ import annotations

from dataclasses import replace

from ivm.catalog.errors import UnsupportedError
from ivm.plan.asof import lower_asof
from ivm.plan.called import is_call, lower_called
from ivm.plan.existing import Existing
from ivm.plan.iterate import lower_loop
from ivm.plan.join_lowering import lower_join
from ivm.plan.lift import ByRound, Delayed, Entered, Fed, Numbered, Signed, Unsigned
from ivm.plan.mfp import Mfp, apply_mfp, identity, peel
from ivm.plan.multiplicities import NegatePlan, ThresholdPlan, UnionPlan
from ivm.plan.node import Plan, nodes_of
from ivm.plan.reduce import lower_reduce
from ivm.plan.table import ConstantPlan, lower_get
from ivm.plan.top_k import lower_top_k
from ivm.plan.unnest import lower_unnest
from ivm.plan.window import lower_window
from ivm.plan.within_loop import (
    DelayedPlan,
    EnteredPlan,
    FedPlan,
    NumberedPlan,
    SignedPlan,
    UnsignedPlan,
    lower_by_round,
)
from ivm.sql.ir.rebuild import nodes, row
from ivm.sql.ir.relation import (
    Asof,
    Constant,
    Filter,
    Get,
    Join,
    LetRec,
    Map,
    Negate,
    Project,
    Reduce,
    Relation,
    Threshold,
    TopK,
    Union,
    Unnest,
    Window,
    inputs_of,
)
from ivm.sql.ir.scalar import Scalar

MOST_READINGS = 10_000
"""So many times a plan may read the same in vain."""


def lower(relation: Relation, existing: Existing | None = None) -> Plan:
    """The plan of a relation that the transforms have brought into shape, beside what exists (by default nothing).

    It is the same whenever what exists is. UnsupportedError if it reads a part of it in too many ways.
    Cost: linear in the relation's size, and the choice of keys for each join.
    """
    above = Existing() if existing is None else existing.above()
    plan = _Lowering(above, _read_often(relation), _results(relation)).lower(relation)
    _check_readings(plan)
    return plan


class _Lowering:
    """One plan in the making: of parts that are met again, the plan there is; of joins, those that exist."""

    def __init__(
        self, existing: Existing, read_often: frozenset[int], results: dict[Relation, tuple[int, ...]]
    ) -> None:
        self._existing = existing
        self._read_often = read_often
        self._results = results
        self._done: dict[int, tuple[Relation, Plan]] = {}  # by identity, of relations that live as long as this

    def lower(self, relation: Relation) -> Plan:
        known = self._done.get(id(relation))
        if known is None:
            base, mfp = peel(relation)
            known = self._done[id(relation)] = (
                relation,
                self._base(base) if base is relation else self._under(base, mfp),
            )
        return known[1]

    def mapped(self, relation: Relation, scalars: tuple[Scalar, ...]) -> Plan:
        """The plan of `scalars` computed over `relation`, in place of its columns, for a reader of all of them.

        They are gathered where rows are dropped or come from a join; whole columns of a batch are not worth copying.
        """
        base, mfp = peel(relation)
        width = len(mfp.projection)
        computed = mfp.map(scalars).project(tuple(range(width, width + len(scalars))))
        return self._under(base, replace(computed, gathered=bool(mfp.predicates) or isinstance(base, Join)))

    def _under(self, base: Relation, mfp: Mfp) -> Plan:
        """The plan of `base` followed by `mfp`."""
        if isinstance(base, Join) and id(base) not in self._read_often:
            return lower_join(base, mfp, self.lower, self._existing)
        return apply_mfp(self.lower(base), mfp)

    def _base(self, relation: Relation) -> Plan:
        match relation:
            case Get():
                return lower_get(relation)
            case Constant():
                return ConstantPlan(relation.rows, row(relation))
            case Join():
                return lower_join(relation, identity(len(relation.schema)), self.lower, self._existing)
            case Reduce():
                return lower_reduce(relation, self.mapped)
            case TopK():
                return lower_top_k(relation, self.lower)
            case Unnest():
                return (lower_called if is_call(relation) else lower_unnest)(relation, self.mapped)
            case Window():
                return lower_window(relation, self.mapped)
            case Asof():
                return lower_asof(relation, self.mapped, self.lower)
            case Union():
                return UnionPlan(tuple(map(self.lower, relation.inputs)), row(relation))
            case Negate():
                return NegatePlan(self.lower(relation.input), row(relation))
            case Threshold():
                return ThresholdPlan(self.lower(relation.input), row(relation))
            case LetRec():
                return lower_loop(relation, self._results[replace(relation, result=0)], self.lower)
            case Fed():
                return FedPlan(relation.name, row(relation))
            case ByRound():
                return lower_by_round(relation, self.lower, self.mapped)
            case Numbered():
                return NumberedPlan(self.lower(relation.input), relation.binding, relation.column, row(relation))
            case Delayed():
                return DelayedPlan(self.lower(relation.input), relation.binding, relation.column, row(relation))
            case Entered():
                return EnteredPlan(self.lower(relation.input), row(relation))
            case Signed():
                return SignedPlan(self.lower(relation.input), row(relation))
            case Unsigned():
                return UnsignedPlan(self.lower(relation.input), row(relation))
        raise AssertionError(f"no plan for {type(relation).__name__}")


def _results(relation: Relation) -> dict[Relation, tuple[int, ...]]:
    """For each loop, as the one whose first binding is read, all of its bindings that are read."""
    found: dict[Relation, set[int]] = {}
    for node in nodes(relation):
        if isinstance(node, LetRec):
            found.setdefault(replace(node, result=0), set()).add(node.result)
    return {loop: tuple(sorted(results)) for loop, results in found.items()}


def _read_often(relation: Relation) -> frozenset[int]:
    """The joins, by identity, that are read in several places whole: each is one plan, of which every reader computes
    what it wants. A reader that filters has its filter asked along the join's paths, and a join of its own.
    """
    readers: dict[int, int] = {}
    filtered: set[int] = set()
    for node in nodes(relation):
        for each in () if isinstance(node, Map | Filter | Project) else inputs_of(node):
            base, mfp = peel(each)
            if isinstance(base, Join):
                readers[id(base)] = readers.get(id(base), 0) + 1
                if mfp.predicates:
                    filtered.add(id(base))
    return frozenset(join for join, count in readers.items() if count > 1 and join not in filtered)


def _check_readings(plan: Plan) -> None:
    """UnsupportedError where unions of unions, each of which reads the one before more than once, multiply too far.

    What keeps state reads its input once, to fill it; unions, joins and maps read their inputs anew for each reader.
    Cost: linear in the number of different nodes.
    """
    readings: dict[int, int] = {}
    for node in nodes_of(plan):
        count = sum(readings[id(each)] for each in node.read_anew()) or 1
        if count > MOST_READINGS:
            what = f"cannot plan this query: it reads one of its parts in more than {MOST_READINGS} ways, the limit"
            raise UnsupportedError(
                f"{what}, since subqueries or views stand in one another twice and more; make some of them MATERIALIZED"
            )
        readings[id(node)] = count
