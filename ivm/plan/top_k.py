"""The first rows of each group."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from math import log2
from typing import ClassVar

from ivm.analysis.expected import Expected, first
from ivm.catalog.types import Physical
from ivm.plan.estimate import GROUP, Estimate, rows_of
from ivm.plan.node import Change, NamesOf, Plan, PlanOver, Sizes, order_text
from ivm.sql.ir.compared_once import compared_once
from ivm.sql.ir.rebuild import Row, row
from ivm.sql.ir.relation import Order, Relation, TopK

MOST_WORDS = 256
"""Of a group's first rows, where these are all that is kept of it."""


@compared_once
class TopKPlan(PlanOver):
    """The first rows per group, with `ties` also those equal to the last in `order`. State: the input in order.

    `append_only`: there is a limit without ties, and no row of the input ever goes: only the first rows are state.
    """

    input: Plan
    group: tuple[int, ...]
    order: tuple[Order, ...]
    limit: int | None
    offset: int
    row: Row
    ties: bool = False
    append_only: bool = False
    state_kind: ClassVar[str | None] = "ordered"
    is_append_only = False
    label = "top-k"

    def lines(self, names_of: NamesOf) -> list[str]:
        """Group, order and bounds."""
        names = self.input.names(names_of)
        group = f" group=[{', '.join(names[g] for g in self.group)}]" if self.group else ""
        offset = f" offset={self.offset}" if self.offset else ""
        more = (" ties" if self.ties else "") + (" of rows that only come" if self.append_only else "")
        return [f"top-k{group} order=[{order_text(self.order, names)}] limit={self.limit}{offset}{more}"]

    @cached_property
    def most_rows(self) -> int | None:
        """The limit, if all rows are one group."""
        bounded = not self.group and self.limit is not None and not self.ties
        return self.limit if bounded else self.input.most_rows

    def expected(self, sizes: Sizes) -> Expected:
        """The limit for each group."""
        return first(sizes.of(self.input), self.group, self.limit)

    def state(self, sizes: Sizes) -> Estimate | None:
        """The first rows, or all of the input."""
        return rows_of(sizes.count(self), self.row, GROUP) if self.append_only else super().state(sizes)

    def passed(self, change: Change, rate: float) -> float:
        """A row that comes or goes within the bounds moves another over them."""
        change.lookups += rate
        if change.sizes is None:
            return rate
        rows = change.partition(self.input, self.group)
        shown = rows if self.limit is None else min(rows, float(self.limit))
        changes = rate * min(1.0, (shown + self.offset) / rows) * 2.0
        if self.append_only:  # a group's first rows stand side by side, and are read and written together
            kept = min(rows, shown + self.offset)
            change.visited += rate * (log2(1.0 + kept) + kept)
        else:
            change.visited += rate * log2(1.0 + rows) + changes
        return changes


def lower_top_k(top: TopK, lower: Callable[[Relation], Plan]) -> TopKPlan:
    """Where rows only come and the first are few, nothing else is kept."""
    columns, below = row(top), lower(top.input)
    # Few enough to be kept beside each other in the fields of their group.
    words = 1 + sum(column.nullable + (2 if column.type.physical is Physical.WIDE else 1) for column in columns)
    first = top.limit is not None and not top.ties and (top.limit + top.offset) * words <= MOST_WORDS
    append_only = first and below.is_append_only
    return TopKPlan(below, top.group, top.order, top.limit, top.offset, columns, top.ties, append_only)
