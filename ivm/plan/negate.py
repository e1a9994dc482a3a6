"""Negations."""

from __future__ import annotations

from ivm.plan.node import Plan, PlanOver
from ivm.plan.row import Row
from sql.ir.compared_once import compared_once


@compared_once
class NegatePlan(PlanOver):
    """The input with its diffs negated. State: none."""

    input: Plan
    row: Row
