"""What a new view is planned against: the arrangements and joins that installed views have, the sizes of tables;
and what installing it adds to these, and reads for that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ivm.plan.arrangement import ArrangementPlan
from ivm.plan.estimate import IN_VIEW, Estimate, rows_of
from ivm.plan.join import JoinPlan, arrangements_of
from ivm.plan.mfp import Mfp
from ivm.plan.node import Plan, Sizes, nodes_of
from ivm.plan.table import Named
from ivm.sql.ir.scalar import Scalar

Question = tuple[tuple[Plan, ...], tuple[tuple[int, ...], ...], tuple[Scalar, ...], Mfp]
"""What a join computes, however: its inputs, the equal columns, the predicates, the output."""

Exists = Callable[[Plan | ArrangementPlan], bool]

SMALL = 1000
"""A database whose largest table has fewer rows than this is taken to be still empty: its sizes say nothing."""


@dataclass
class Existing:
    """Collections that are arranged already, and the joins that run; what is planned joins them.

    `rows`: the number of rows of each table and maintained view. `below`: what exists besides, which this adds to.
    """

    rows: Mapping[str, float] = field(default_factory=dict)
    below: Existing | None = None
    _arrangements: dict[Plan, set[tuple[int, ...]]] = field(default_factory=dict)
    _joins: dict[Question, JoinPlan] = field(default_factory=dict)

    def above(self, rows: Mapping[str, float] | None = None) -> Existing:
        """One more, over this one, to which a plan in the making adds its own. Cost: none."""
        return Existing(self.rows if rows is None else rows, self)

    def fixed(self) -> Existing:
        """The same, which does not change when this does. Cost: linear in what exists."""
        below = None if self.below is None else self.below.fixed()
        arrangements = {plan: set(keys) for plan, keys in self._arrangements.items()}
        return Existing(dict(self.rows), below, arrangements, dict(self._joins))

    def add(self, plans: Iterable[Plan | ArrangementPlan]) -> None:
        """Take note of what rendered plans offer to others."""
        for plan in plans:
            if isinstance(plan, ArrangementPlan) and plan.value is None:
                self._arrangements.setdefault(plan.collection, set()).add(plan.key)
            elif isinstance(plan, JoinPlan):
                self._joins[question(plan)] = plan

    def remove(self, plans: Iterable[Plan | ArrangementPlan]) -> None:
        """Forget plans that were added here and run no more."""
        for plan in plans:
            if isinstance(plan, ArrangementPlan) and plan.value is None:
                keys = self._arrangements.get(plan.collection, set())
                keys.discard(plan.key)
                if not keys:
                    self._arrangements.pop(plan.collection, None)
            elif isinstance(plan, JoinPlan) and self._joins.get(question(plan)) is plan:
                del self._joins[question(plan)]

    def keys(self, collection: Plan) -> frozenset[tuple[int, ...]]:
        """The keys by which a collection is arranged."""
        own = frozenset(self._arrangements.get(collection, ()))
        return own if self.below is None else own | self.below.keys(collection)

    def join(self, asked: Question) -> JoinPlan | None:
        """The join that answers a question, if there is one."""
        known = self._joins.get(asked)
        return known if known is not None or self.below is None else self.below.join(asked)

    @cached_property
    def sizes(self) -> Sizes:
        """What to expect of plans."""
        return Sizes(self.rows)

    def sizes_known(self, *plans: Plan) -> bool:
        """Whether the sizes of the tables below say something about those to come: none is empty, one is not small."""
        sizes = [self.rows.get(name, 0) for plan in plans for name in plan.tables_below]
        return bool(sizes) and min(sizes) > 0 and max(sizes) >= SMALL


def question(plan: JoinPlan) -> Question:
    """What the join computes. Two joins that answer the same question can be one, by whichever paths it finds it."""
    return plan.inputs, plan.classes, plan.predicates, plan.final


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
