"""Negations."""

from __future__ import annotations

from dataclasses import dataclass

from ivm.plan.node import Plan, PlanOver, Sizes
from ivm.plan.row import Row
from sql.ir.compared_once import compared_once


@compared_once
@dataclass(frozen=True)
class NegatePlan(PlanOver):
    """The input with its diffs negated. State: none."""

    input: Plan
    row: Row

    def read_anew(self) -> tuple[Plan, ...]:
        """The input."""
        return (self.input,)

    def distinct(self, sizes: Sizes, column: int) -> float | None:
        """The input's."""
        return sizes.distinct(self.input, column)
