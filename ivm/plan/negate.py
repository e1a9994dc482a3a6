"""Negations."""

from __future__ import annotations

from ivm.plan.node import Plan, PlanOver
from sql.ir.compared_once import compared_once
from sql.ir.rebuild import Row


@compared_once
class NegatePlan(PlanOver):
    """The input with its diffs negated. State: none."""

    input: Plan
    row: Row
    is_append_only = False
