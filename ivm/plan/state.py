"""What installing a plan adds, and what it reads for that."""

from __future__ import annotations

from collections.abc import Callable

from ivm.plan.arrangement import ArrangementPlan
from ivm.plan.estimate import IN_VIEW, Estimate, rows_of
from ivm.plan.join import arrangements_of
from ivm.plan.node import Plan, Sizes, nodes_of
from ivm.plan.table import Named

Exists = Callable[[Plan | ArrangementPlan], bool]


def added_state(plan: Plan, sizes: Sizes, exists: Exists) -> dict[Plan | ArrangementPlan | None, Estimate]:
    """What installing `plan` as a view would add: each new arrangement and stateful node, and under None the view's
    contents. Empty where no table that it reads has a row, since nothing is known then. Cost: linear in the plan.
    """
    if not any(sizes.count(each) for each in nodes_of(plan) if isinstance(each, Named)):
        return {}
    found = ((each, each.state(sizes)) for each in _new(plan, exists))
    states: dict[Plan | ArrangementPlan | None, Estimate] = {each: e for each, e in found if e is not None}
    states[None] = rows_of(sizes.count(plan), plan.row, IN_VIEW)
    return states


def rows_to_read(plan: Plan, sizes: Sizes, exists: Exists) -> float:
    """How many rows installing `plan` reads, to fill each new arrangement and stateful node, and the view."""
    return sizes.drawn(plan) + sum(_filled(each, sizes) for each in _new(plan, exists))


def _new(plan: Plan, exists: Exists) -> dict[Plan | ArrangementPlan, None]:
    plans: tuple[Plan | ArrangementPlan, ...] = (*arrangements_of(plan), *nodes_of(plan))
    return dict.fromkeys(each for each in plans if not exists(each))


def _filled(plan: Plan | ArrangementPlan, sizes: Sizes) -> float:
    """How many rows are read to fill the state of one node or arrangement."""
    if isinstance(plan, ArrangementPlan):
        return 0.0 if plan.is_own else sizes.drawn(plan.collection)
    return sum(map(sizes.drawn, plan.below())) if plan.state_kind else 0.0
