"""Unions, negations and thresholds: what counts rows anew, and leaves them as they are."""

from __future__ import annotations

from typing import ClassVar

from ivm.analysis.expected import Expected, distinct, summed
from ivm.plan.node import Change, Plan, PlanOver, Sizes
from ivm.sql.ir.compared_once import compared_once
from ivm.sql.ir.rebuild import Row


@compared_once
class UnionPlan(Plan):
    """The sum of the inputs. State: none."""

    inputs: tuple[Plan, ...]
    row: Row

    def below(self) -> tuple[Plan, ...]:
        """The inputs."""
        return self.inputs

    def expected(self, sizes: Sizes) -> Expected:
        """The sum, less what is taken away."""
        return summed([sizes.of(each) for each in self.inputs], [isinstance(each, NegatePlan) for each in self.inputs])


@compared_once
class NegatePlan(PlanOver):
    """The input with its diffs negated. State: none."""

    input: Plan
    row: Row
    is_append_only = False


@compared_once
class ThresholdPlan(PlanOver):
    """The rows of positive multiplicity. State: the input's distinct rows with their multiplicities."""

    input: Plan
    row: Row
    state_kind: ClassVar[str | None] = "derived"

    def expected(self, sizes: Sizes) -> Expected:
        """Each row once."""
        return distinct(sizes.of(self.input))

    def passed(self, change: Change, rate: float) -> float:
        """A lookup for each change."""
        change.lookups += rate
        return rate
