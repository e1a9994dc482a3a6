"""Unions."""

from __future__ import annotations

from ivm.plan.node import Plan, Sizes
from ivm.plan.row import Row
from sql.ir.compared_once import compared_once


@compared_once
class UnionPlan(Plan):
    """The sum of the inputs. State: none."""

    inputs: tuple[Plan, ...]
    row: Row

    def below(self) -> tuple[Plan, ...]:
        """The inputs."""
        return self.inputs

    @property
    def is_append_only(self) -> bool:
        """If all inputs are."""
        return all(each.is_append_only for each in self.inputs)

    def count(self, sizes: Sizes) -> float:
        """The sum."""
        return sum(map(sizes.count, self.inputs))
