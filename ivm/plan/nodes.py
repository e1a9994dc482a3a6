"""The plan's nodes. Equal plans are equal values, so whatever two views have in common is rendered once.

`row` of a node lists its output columns with their types; names play no part in a plan.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from catalog.types import SqlType
from ivm.plan.mfp import Mfp, Row
from sql.ir.compared_once import compared_once
from sql.ir.relation import Frame, Order
from sql.ir.scalar import Column, Literal, Scalar, Value


@compared_once
@dataclass(frozen=True)
class TablePlan:
    """The changes of a base table. State: the table's own store, shared by everything.

    `append_only`: its rows never go. `static`: it has no changes while the plan runs.
    """

    name: str
    row: Row
    keys: tuple[tuple[int, ...], ...] = ()
    append_only: bool = False
    static: bool = False


@compared_once
@dataclass(frozen=True)
class ViewPlan:
    """The changes of an installed view. State: that view's own."""

    name: str
    row: Row


@compared_once
@dataclass(frozen=True)
class ConstantPlan:
    """Rows that never change, in engine form."""

    rows: tuple[tuple[Value, ...], ...]
    row: Row


@compared_once
@dataclass(frozen=True)
class MfpPlan:
    """A map-filter-project. State: none."""

    input: Plan
    mfp: Mfp
    row: Row


@compared_once
@dataclass(frozen=True)
class ArrangementPlan:
    """A collection indexed by `key`. Of a base table: row references. Of a reduce by its group key: the groups that it
    keeps anyway. Of anything else: its own copy of the rows.

    With a `value`, an expression over the collection's columns, the rows of a key are in its order: a tree of
    references to rows. Rows whose value is NULL are not in it.
    """

    collection: Plan
    key: tuple[int, ...]
    value: Scalar | None = None

    @property
    def kind(self) -> str:
        """`index` over a base table's rows, `groups` of a reduce, `derived`, or `ordered`."""
        if self.value is not None:
            return "ordered"
        if isinstance(self.collection, TablePlan):
            return "index"
        grouped = isinstance(self.collection, ReducePlan) and self.key == tuple(range(self.collection.keys))
        return "groups" if grouped else "derived"


@compared_once
@dataclass(frozen=True)
class Bound:
    """What limits the rows that a stage looks up: their value in the arrangement stands in `comparison` to `scalar`.

    `comparison` is lt, le, eq, ge or gt; `scalar` is over the columns bound before. `carried`: the columns bound before
    that are read later but for the comparison. Changes that are equal in key and `carried` cancel on the rows that
    are on the same side of the bound of each, so that only the others are visited.
    """

    comparison: str
    scalar: Scalar
    carried: tuple[int, ...]


@compared_once
@dataclass(frozen=True)
class Stage:
    """One half-join of a path: look up in `arrangement` of input `input` by the columns `stream` bound before.

    `inclusive`: whether changes of the looked-up input at the same time are seen (see `ivm.plan.changeless.Ties`).
    `unique`: at most one row of the input has a key. `predicates` hold over the joined row from here on.
    `bound`: one of them, by which an ordered arrangement finds its rows; None for a lookup of all rows of the key.
    """

    input: int
    arrangement: ArrangementPlan
    stream: tuple[int, ...]
    inclusive: bool
    unique: bool
    predicates: tuple[Scalar, ...]
    bound: Bound | None = None


@compared_once
@dataclass(frozen=True)
class Path:
    """How the changes of input `source` find their partners: `predicates` first, then the stages in turn.

    `needed` are the columns of `source` that the path reads: changes that are equal in them cancel before it begins.
    None: there are no such changes.
    """

    source: int
    needed: tuple[int, ...]
    predicates: tuple[Scalar, ...]
    stages: tuple[Stage, ...]


@compared_once
@dataclass(frozen=True)
class JoinPlan:
    """A delta join: a path for each input, no intermediate state. State: only the arrangements that the stages name.

    An input whose changes cannot meet anything has no path; there is at least one.

    Within a path, columns are those of all collections side by side (`offsets`); `final` makes the output of them.
    `classes` (equal columns) and `predicates` over them are what the paths together test. `whole` is the path by which
    all rows of the join are found, to hydrate what reads it; plans that differ in nothing else are equal.
    """

    inputs: tuple[Plan, ...]
    classes: tuple[tuple[int, ...], ...]
    predicates: tuple[Scalar, ...]
    paths: tuple[Path, ...]
    final: Mfp
    row: Row
    whole: int = field(default=-1, compare=False)

    @property
    def arrangements(self) -> tuple[ArrangementPlan, ...]:
        """Those that the stages look up in, each once."""
        return tuple(dict.fromkeys(stage.arrangement for path in self.paths for stage in path.stages))

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Where each input's columns begin in the joined row."""
        offsets = [0]
        for plan in self.inputs:
            offsets.append(offsets[-1] + len(plan.row))
        return tuple(offsets[:-1])

    @cached_property
    def joined_row(self) -> Row:
        """The columns of all inputs side by side."""
        return tuple(
            Column(offset + column.index, column.type, column.nullable)
            for offset, each in zip(self.offsets, self.inputs, strict=True)
            for column in each.row
        )


@compared_once
@dataclass(frozen=True)
class AggregatePlan:
    """One aggregate over column `argument` of the input (None for count_star); see `sql.ir.relation.Aggregate`."""

    function: str
    argument: int | None
    type: SqlType
    nullable: bool
    others: tuple[int, ...] = ()
    order: tuple[Order, ...] = ()
    parameters: tuple[Literal, ...] = ()


_ACCUMULATED = frozenset(
    ("count", "count_star", "sum", "avg", "stddev_samp", "stddev_pop", "var_samp", "var_pop", "bool_and", "bool_or")
)
_EXTREMES = frozenset(("min", "max"))


@compared_once
@dataclass(frozen=True)
class ReducePlan:
    """Groups by the first `keys` columns of the input; accumulable aggregates in one pass, extremes in order.

    `growing`: no row of the input ever goes, so that min and max are accumulable too.
    """

    input: Plan
    keys: int
    aggregates: tuple[AggregatePlan, ...]
    row: Row
    growing: bool = False

    def keeps_order(self, aggregate: AggregatePlan) -> bool:
        """Whether the rows of each group are kept in order for an aggregate."""
        return aggregate.function not in (_ACCUMULATED | _EXTREMES if self.growing else _ACCUMULATED)


@compared_once
@dataclass(frozen=True)
class TopKPlan:
    """The first rows per group, with `ties` also those equal to the last in `order`. State: the input in order.

    `growing`: there is a limit without ties, and no row of the input ever goes: only the first rows are state.
    """

    input: Plan
    group: tuple[int, ...]
    order: tuple[Order, ...]
    limit: int | None
    offset: int
    row: Row
    ties: bool = False
    growing: bool = False


@dataclass(frozen=True)
class WindowFunctionPlan:
    """One window function over column `argument` of the input (None: of the row's place alone).

    lead is a lag of negative `number`, first_value the first nth_value. `reach` says which rows a change may concern,
    `before` and `after` how many rows the function looks back and ahead: see `ivm.kernels.windows.reach`.
    """

    function: str
    argument: int | None
    type: SqlType
    nullable: bool
    frame: Frame
    skips_nulls: bool
    number: int
    default: Value
    reach: str
    before: int
    after: int


@compared_once
@dataclass(frozen=True)
class WindowPlan:
    """Window functions over the first `width` columns of the input, in order by partition; the others are arguments.

    State: the input, a tree for each partition, with the functions' values and the totals of subtrees.
    """

    input: Plan
    width: int
    partition: tuple[int, ...]
    order: tuple[Order, ...]
    functions: tuple[WindowFunctionPlan, ...]
    row: Row


@compared_once
@dataclass(frozen=True)
class UnionPlan:
    """The sum of the inputs. State: none."""

    inputs: tuple[Plan, ...]
    row: Row


@compared_once
@dataclass(frozen=True)
class NegatePlan:
    """The input with its diffs negated. State: none."""

    input: Plan
    row: Row


@compared_once
@dataclass(frozen=True)
class ThresholdPlan:
    """The rows of positive multiplicity. State: the input's distinct rows with their multiplicities."""

    input: Plan
    row: Row


Plan = (
    TablePlan
    | ViewPlan
    | ConstantPlan
    | MfpPlan
    | JoinPlan
    | ReducePlan
    | TopKPlan
    | WindowPlan
    | UnionPlan
    | NegatePlan
    | ThresholdPlan
)


def inputs_of(plan: Plan) -> tuple[Plan, ...]:
    """The plans that this one reads directly."""
    if isinstance(plan, TablePlan | ViewPlan | ConstantPlan):
        return ()
    if isinstance(plan, JoinPlan | UnionPlan):
        return plan.inputs
    return (plan.input,)


def nodes_of(plan: Plan) -> Iterator[Plan]:
    """Every node of the plan once, inputs first. Cost: linear in the number of different nodes."""
    seen: set[int] = set()
    open_: list[tuple[Plan, Iterator[Plan]]] = [(plan, iter(inputs_of(plan)))]
    while open_:
        node, inputs = open_[-1]
        below = next((each for each in inputs if id(each) not in seen), None)
        if below is not None:
            open_.append((below, iter(inputs_of(below))))
            continue
        open_.pop()
        if id(node) not in seen:
            seen.add(id(node))
            yield node


def arrangements_of(plan: Plan) -> tuple[ArrangementPlan, ...]:
    """Every arrangement that the plan needs, each once, in the order in which the plan names them."""
    joins = (node for node in nodes_of(plan) if isinstance(node, JoinPlan))
    return tuple(dict.fromkeys(each for join in joins for each in join.arrangements))
