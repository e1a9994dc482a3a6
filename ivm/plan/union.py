"""Unions."""

from __future__ import annotations

from ivm.plan.node import Plan, Sizes
from sql.ir.compared_once import compared_once
from sql.ir.rebuild import Row


@compared_once
class UnionPlan(Plan):
    """The sum of the inputs. State: none."""

    inputs: tuple[Plan, ...]
    row: Row

    def below(self) -> tuple[Plan, ...]:
        """The inputs."""
        return self.inputs

    def count(self, sizes: Sizes) -> float:
        """The sum."""
        return sum(map(sizes.count, self.inputs))
