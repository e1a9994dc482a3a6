"""Thresholds."""

from __future__ import annotations

from typing import ClassVar

from ivm.plan.node import Change, Plan, PlanOver
from sql.ir.compared_once import compared_once
from sql.ir.rebuild import Row


@compared_once
class ThresholdPlan(PlanOver):
    """The rows of positive multiplicity. State: the input's distinct rows with their multiplicities."""

    input: Plan
    row: Row
    state_kind: ClassVar[str | None] = "derived"

    def passed(self, change: Change, rate: float) -> float:
        """A lookup for each change."""
        change.lookups += rate
        return rate
