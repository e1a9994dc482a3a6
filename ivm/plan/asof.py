"""ASOF joins: each row of the left with the nearest row of the right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from math import log2
from typing import ClassVar

from ivm.analysis.expected import Expected, appended, projected
from ivm.plan.estimate import IN_ORDER, Estimate, rows_of, total
from ivm.plan.node import Change, Names, NamesOf, Plan, Sizes
from ivm.sql.ir.compared_once import compared_once
from ivm.sql.ir.functions import function_of
from ivm.sql.ir.rebuild import Row, row
from ivm.sql.ir.relation import Asof, Relation
from ivm.sql.ir.scalar import Scalar

LowerMapped = Callable[[Relation, tuple[Scalar, ...]], Plan]


@compared_once
class AsofPlan(Plan):
    """Rows of the left, each with the nearest of the right: see `ivm.sql.ir.relation.Asof`. State: both, in order.

    `keys` and `times` are columns of left and right, none of them twice; of the columns of either the first `widths`
    are put out.
    """

    left: Plan
    right: Plan
    keys: tuple[tuple[int, int], ...]
    times: tuple[int, int]
    function: str
    outer: bool
    widths: tuple[int, int]
    row: Row
    state_kind: ClassVar[str | None] = "ordered"
    is_append_only = False

    def below(self) -> tuple[Plan, ...]:
        """The right first, so that it is there when rows of the left ask for the nearest."""
        return self.right, self.left

    def named(self, names_of: NamesOf) -> Names:
        """Those of both sides."""
        left, right = (side.names(names_of) for side in (self.left, self.right))
        return left[: self.widths[0]] + right[: self.widths[1]]

    def lines(self, names_of: NamesOf) -> list[str]:
        """Keys and times, the left first."""
        left, right = self.left.names(names_of), self.right.names(names_of)
        by = f" by=[{', '.join(f'{left[c]} = {right[d]}' for c, d in self.keys)}]" if self.keys else ""
        compared = f"{left[self.times[0]]} {function_of(self.function).symbol} {right[self.times[1]]}"
        return [f"asof{' outer' if self.outer else ''}{by} nearest={compared}"]

    @cached_property
    def most_rows(self) -> int | None:
        """No more than the left."""
        return self.left.most_rows

    def expected(self, sizes: Sizes) -> Expected:
        """The rows of the left, each with one of the right."""
        return appended(projected(sizes.of(self.left), range(self.widths[0])), len(self.row), more=sizes.of(self.right))

    def state(self, sizes: Sizes) -> Estimate | None:
        """Both sides in order."""
        return total(rows_of(sizes.count(side), side.row, IN_ORDER) for side in (self.left, self.right))

    def passed(self, change: Change, rate: float) -> float:
        """A row of the left is looked up; one of the right moves those of the left up to the next one."""
        change.lookups += rate
        moving = change.rates.get(self.right, 0.0)
        if change.sizes is None:
            return rate
        left, right = (change.sizes.count(side) for side in (self.left, self.right))
        moved = left / max(1.0, right)
        change.visited += rate * log2(2.0 + left + right) + moving * moved
        return change.rates.get(self.left, 0.0) + 2.0 * moving * moved


def lower_asof(asof: Asof, mapped: LowerMapped, lower: Callable[[Relation], Plan]) -> AsofPlan:
    """A column that is in several pairs is there as often."""
    pairs = (*asof.keys, asof.times)
    reads = [c for c, _ in pairs], [d for _, d in pairs]
    sides, places = [], []
    for side, read in zip((asof.left, asof.right), reads, strict=True):
        again, at = _once_each(read, len(side.schema))
        columns = row(side)
        sides.append(mapped(side, (*columns, *(columns[c] for c in again))) if again else lower(side))
        places.append(at)
    own = tuple(zip(*places, strict=True))
    widths = len(asof.left.schema), len(asof.right.schema)
    return AsofPlan(sides[0], sides[1], own[:-1], own[-1], asof.function, asof.outer, widths, row(asof))


def _once_each(columns: Sequence[int], width: int) -> tuple[list[int], list[int]]:
    """Which of the columns are wanted once more, behind `width` of them; and where each of them stands then."""
    again: list[int] = []
    places: list[int] = []
    for column in columns:
        if column in places:
            places.append(width + len(again))
            again.append(column)
        else:
            places.append(column)
    return again, places
