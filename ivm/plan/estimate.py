"""How much state a plan would add, from the sizes of tables and textbook selectivities."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import prod

from catalog.types import Physical
from ivm.analysis.cardinality import selectivity
from ivm.plan.mfp import Row
from ivm.plan.nodes import (
    ArrangementPlan,
    ConstantPlan,
    JoinPlan,
    MfpPlan,
    NegatePlan,
    Plan,
    ReducePlan,
    TablePlan,
    ThresholdPlan,
    TopKPlan,
    UnionPlan,
    ViewPlan,
    WindowPlan,
    arrangements_of,
    nodes_of,
)

_WIDTH = {
    Physical.BOOL: 1,
    Physical.INT32: 4,
    Physical.CODE: 4,
    Physical.INT64: 8,
    Physical.FLOAT64: 8,
    Physical.WIDE: 16,
}
_DISTINCT = 0.1
"""The share of a column's rows that are distinct values, where nothing is known."""

# Bytes beside the columns', as measured over 200,000 rows: of a view's row, of a row that is stored under a key, of a
# group, of a row in order, of a reference to a row, of a key in an index (of one word, of several).
_IN_VIEW, _STORED, _GROUP, _IN_ORDER, _REFERENCE, _KEY, _LONG_KEY = 16, 40, 35, 48, 4, 28, 100
# A word of an entry in an ordered tree, whose nodes are three quarters full.
_IN_TREE = 11


@dataclass(frozen=True, slots=True)
class Estimate:
    """Rows (of an index: entries) and bytes."""

    rows: float
    bytes: float

    def __str__(self) -> str:
        return f"about {rounded(self.rows)} rows, {bytes_text(self.bytes)}"


@dataclass
class Estimator:
    """Estimates over the given sizes; `rows` are those of each table and view by name."""

    rows: Mapping[str, float]
    _counts: dict[Plan, float] = field(default_factory=dict)

    def added(
        self, plan: Plan, exists: Callable[[Plan | ArrangementPlan], bool]
    ) -> dict[Plan | ArrangementPlan | None, Estimate]:
        """What installing `plan` as a view would add: each new arrangement and stateful node, and under None the view's
        contents. Empty where no table that it reads has a row, since nothing is known then. Cost: linear in the plan.
        """
        if not any(self.count(each) for each in nodes_of(plan) if isinstance(each, TablePlan | ViewPlan)):
            return {}
        new = [each for each in (*arrangements_of(plan), *nodes_of(plan)) if not exists(each)]
        found = ((each, self.state(each)) for each in dict.fromkeys(new))
        states: dict[Plan | ArrangementPlan | None, Estimate] = {each: e for each, e in found if e is not None}
        states[None] = self._of(self.count(plan), width(plan.row) + _IN_VIEW)
        return states

    def state(self, plan: Plan | ArrangementPlan) -> Estimate | None:
        """The state of one node or arrangement; None if it holds none."""
        match plan:
            case ArrangementPlan():
                return self._arrangement(plan)
            case ReducePlan():
                groups = self._of(self.count(plan), width(plan.row) + _GROUP)
                ordered = sum(map(plan.keeps_order, plan.aggregates))
                return Estimate(groups.rows, groups.bytes + ordered * _IN_ORDER * self.count(plan.input))
            case TopKPlan() if plan.growing:
                return self._of(self.count(plan), width(plan.row) + _GROUP)
            case TopKPlan() | WindowPlan() | ThresholdPlan():
                return self._of(self.count(plan.input), width(plan.input.row) + _IN_ORDER)
        return None

    def to_read(self, plan: Plan, exists: Callable[[Plan | ArrangementPlan], bool]) -> float:
        """How many rows installing `plan` reads, to fill each new arrangement and stateful node, and the view."""
        new = dict.fromkeys(each for each in (*arrangements_of(plan), *nodes_of(plan)) if not exists(each))
        return self._drawn(plan) + sum(self._filled(each) for each in new)

    def count(self, plan: Plan) -> float:
        """The number of rows that a plan is expected to yield."""
        if plan not in self._counts:
            self._counts[plan] = self._count(plan)
        return self._counts[plan]

    def _filled(self, plan: Plan | ArrangementPlan) -> float:
        """How many rows are read to fill the state of one node or arrangement."""
        match plan:
            case ArrangementPlan():
                own = plan.kind == "groups" or (plan.kind == "index" and plan.key in _keys(plan.collection))
                return 0.0 if own else self._drawn(plan.collection)
            case ReducePlan() | TopKPlan() | WindowPlan() | ThresholdPlan():
                return self._drawn(plan.input)
        return 0.0

    def _drawn(self, plan: Plan) -> float:
        """How many rows the contents of a plan are computed from: those of tables, views and stateful nodes."""
        match plan:
            case MfpPlan() | NegatePlan():
                return self._drawn(plan.input)
            case UnionPlan():
                return sum(self._drawn(each) for each in plan.inputs)
            case JoinPlan():
                return self._drawn(plan.inputs[plan.paths[plan.whole].source])
        return self.count(plan)

    def _arrangement(self, plan: ArrangementPlan) -> Estimate:
        if plan.kind == "groups":
            return Estimate(0.0, 0.0)  # the reduce's own
        rows = self.count(plan.collection)
        if plan.value is not None:
            values = 2 if plan.value.type.physical is Physical.WIDE else 1
            entry = _IN_TREE * (len(plan.key) + values + 2)
            own = 0 if isinstance(plan.collection, TablePlan) else width(plan.collection.row) + _STORED
            return self._of(rows, entry + own)
        if not isinstance(plan.collection, TablePlan):
            return self._of(rows, width(plan.collection.row) + _STORED)
        if plan.key in plan.collection.keys:
            return Estimate(0.0, 0.0)  # the table's own
        keys = min(rows, prod(self.distinct(plan.collection, c) for c in plan.key)) if plan.key else 1.0
        return Estimate(rows, rows * _REFERENCE + keys * (_KEY if len(plan.key) == 1 else _LONG_KEY))

    def _of(self, rows: float, each: int) -> Estimate:
        return Estimate(rows, rows * each)

    def _count(self, plan: Plan) -> float:
        match plan:
            case TablePlan() | ViewPlan():
                return self.rows.get(plan.name, 0.0)
            case ConstantPlan():
                return float(len(plan.rows))
            case MfpPlan():
                return self.count(plan.input) * prod(selectivity(p) for p in plan.mfp.predicates)
            case JoinPlan():
                return self._joined(plan)
            case ReducePlan():
                groups = prod(self.distinct(plan.input, key) for key in range(plan.keys))
                return min(groups, self.count(plan.input)) if plan.keys else 1.0
            case TopKPlan():
                groups = prod(self.distinct(plan.input, key) for key in plan.group)
                rows = self.count(plan.input)
                return rows if plan.limit is None else min(rows, plan.limit * groups)
            case UnionPlan():
                return sum(self.count(each) for each in plan.inputs)
            case WindowPlan() | ThresholdPlan() | NegatePlan():
                return self.count(plan.input)
        raise AssertionError(f"no estimate for {type(plan).__name__}")

    def _joined(self, plan: JoinPlan) -> float:
        """The product, divided for each class by the distinct values of all of its columns but the fewest."""
        total = prod(self.count(each) for each in plan.inputs) * prod(selectivity(p) for p in plan.predicates)
        for group in plan.classes:
            values = sorted(self.distinct_joined(plan, column) for column in group)
            total /= prod(max(1.0, value) for value in values[1:])
        return total

    def distinct(self, plan: Plan, column: int) -> float:
        """The number of distinct values that a column of a plan is expected to have."""
        rows = self.count(plan)
        match plan:
            case TablePlan():
                return rows if (column,) in plan.keys else self._guessed(rows)
            case MfpPlan():
                place = plan.mfp.projection[column]
                known = self.distinct(plan.input, place) if place < plan.mfp.width else self._guessed(rows)
                return min(rows, known)
            case JoinPlan():
                place = plan.final.projection[column]
                if place >= plan.final.width:
                    return self._guessed(rows)
                group = next((g for g in plan.classes if place in g), (place,))
                return min(rows, *(self.distinct_joined(plan, c) for c in group))
            case ReducePlan() if column < plan.keys:
                return min(rows, self.distinct(plan.input, column))
            case TopKPlan() | ThresholdPlan() | NegatePlan():
                return min(rows, self.distinct(plan.input, column))
        return self._guessed(rows)

    def distinct_joined(self, plan: JoinPlan, column: int) -> float:
        """The number of distinct values of a column of the joined row, in the input that it belongs to."""
        for each, offset in zip(reversed(plan.inputs), reversed(plan.offsets), strict=True):
            if column >= offset:
                return self.distinct(each, column - offset)
        raise AssertionError("a column that no input has")

    def _guessed(self, rows: float) -> float:
        return max(min(rows, 1.0), rows * _DISTINCT)


def _keys(plan: Plan) -> tuple[tuple[int, ...], ...]:
    return plan.keys if isinstance(plan, TablePlan) else ()


def total(estimates: Iterable[Estimate]) -> Estimate:
    """Of all of them together."""
    each = list(estimates)
    return Estimate(sum(e.rows for e in each), sum(e.bytes for e in each))


def rounded(count: float) -> str:
    """A count by its first two digits: it is a guess."""
    whole = max(0, round(count))
    return f"{round(whole, 2 - len(str(whole))):,}"


def bytes_text(size: float) -> str:
    """`340 bytes`, `1.2 MB`, by powers of a thousand."""
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= unit:
            return f"{size / unit:.{1 if size < 100 * unit else 0}f} {name}"
    return f"{size:.0f} bytes"


def width(row: Row) -> int:
    """The bytes of a row's columns, text as codes; the text itself is the dictionary's, which all share."""
    return sum(_WIDTH[column.type.physical] + column.nullable for column in row)
