"""Negations."""

from __future__ import annotations

from dataclasses import dataclass

from ivm.plan.node import Plan, PlanOver
from ivm.plan.row import Row
from sql.ir.compared_once import compared_once


@compared_once
@dataclass(frozen=True)
class NegatePlan(PlanOver):
    """The input with its diffs negated. State: none."""

    input: Plan
    row: Row
