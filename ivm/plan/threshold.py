"""Thresholds."""

from __future__ import annotations

from typing import ClassVar

from ivm.plan.estimate import IN_ORDER, Estimate, rows_of
from ivm.plan.node import Change, Plan, PlanOver, Sizes
from ivm.plan.row import Row
from sql.ir.compared_once import compared_once


@compared_once
class ThresholdPlan(PlanOver):
    """The rows of positive multiplicity. State: the input's distinct rows with their multiplicities."""

    input: Plan
    row: Row
    state_kind: ClassVar[str | None] = "derived"

    @property
    def is_append_only(self) -> bool:
        """If the input is."""
        return self.input.is_append_only

    def state(self, sizes: Sizes) -> Estimate | None:
        """The rows of the input."""
        return rows_of(sizes.count(self.input), self.input.row, IN_ORDER)

    def passed(self, change: Change, rate: float) -> float:
        """A lookup for each change."""
        change.lookups += rate
        return rate
