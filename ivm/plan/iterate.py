"""Loops: bindings that are stepped round by round until nothing changes; see `ivm.plan.lift`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from math import log2
from typing import ClassVar

from ivm.analysis.expected import Expected, unknown
from ivm.analysis.order_free import RoundOrder, order_of
from ivm.plan.arrangement import ArrangementPlan
from ivm.plan.estimate import GROUP, Estimate, rows_of, total
from ivm.plan.join import JoinPlan
from ivm.plan.lift import lifted
from ivm.plan.mfp import MfpPlan
from ivm.plan.node import Change, Names, NamesOf, Plan, PlanOver, Sizes
from ivm.plan.within_loop import ByRoundPlan
from ivm.sql.ir.compared_once import compared_once
from ivm.sql.ir.rebuild import Row, row
from ivm.sql.ir.relation import LetRec, Relation


@compared_once
class IteratePlan(Plan):
    """A loop: its bindings, lifted, are stepped round by round until no round changes anything. State: theirs, and the
    distinct rows of each binding that is `read` outside, with their multiplicities, if it is not what groups give.

    `names_bound` are those of the bindings, `names_written` those that people have written. With a `limit` it ends
    after so many rounds, if `fails_at_limit` with an error.
    """

    names_bound: Names
    names_written: Names
    bindings: tuple[Plan, ...]
    read: tuple[int, ...]
    limit: int | None
    fails_at_limit: bool
    order: RoundOrder
    row: Row = ()
    state_kind: ClassVar[str | None] = "loop"
    is_static = is_append_only = False
    most_rows: ClassVar[None] = None

    @property
    def kind(self) -> str:
        """A loop."""
        return "loop"

    @cached_property
    def inner(self) -> tuple[Plan, ...]:
        """The plans that run within the loop, each once, inputs first."""
        found: dict[Plan, None] = {}
        for plan in self.bindings:
            _collect(plan, found)
        return tuple(found)

    @cached_property
    def entered(self) -> tuple[Plan, ...]:
        """The plans outside of the loop that those within it read, each once."""
        read = (below for each in self.inner for below in each.below() if not below.is_lifted)
        return tuple(dict.fromkeys((*read, *(each for each in self.bindings if not each.is_lifted))))

    @cached_property
    def arrangements(self) -> tuple[ArrangementPlan, ...]:
        """The arrangements outside of the loop that joins within it look up in, each once."""
        joins = (each for each in self.inner if isinstance(each, JoinPlan))
        return tuple(dict.fromkeys(a for join in joins for a in join.arrangements if not a.collection.is_lifted))

    @cached_property
    def looked_up_first(self) -> frozenset[ArrangementPlan]:
        """The arrangements within the loop in which nothing looks up but changes of what enters, before all rounds."""
        joins = [each for each in self.inner if isinstance(each, JoinPlan)]
        own = {each for join in joins for each in join.arrangements if each.collection.is_lifted}
        return frozenset(own.difference(
            stage.arrangement
            for join in joins
            for path in join.paths
            if join.inputs[path.source].is_lifted
            for stage in path.lookups
        ))  # fmt: skip

    @property
    def _rounds(self) -> str:
        """In which order it is run."""
        order = self.order
        if order.exact:
            return "exact rounds"
        if not order.valued:
            return "settled rounds"
        return "rounds by value" if any(each.grows for each in order.valued) else "rounds apart, small values first"

    @property
    def waits(self) -> bool:
        """Whether what comes back waits for its round. If not all passes groups on its way, it has to be net there."""
        return not self.order.valued or not all(map(_is_grouped, self.bindings))

    def below(self) -> tuple[Plan, ...]:
        """What enters."""
        return self.entered

    def named(self, names_of: NamesOf) -> Names:
        """It has no columns."""
        return ()

    def lines(self, names_of: NamesOf) -> list[str]:
        """The bindings, and what runs within the loop."""
        limit = "" if self.limit is None else f", {'an error' if self.fails_at_limit else 'ends'} after {self.limit}"
        lines = [f"loop {', '.join(self.names_bound)}: {self._rounds}{limit}"]
        for each in self.inner:
            lines += [f"    {line}" for line in each.lines(names_of)]
        return lines

    def expected(self, sizes: Sizes) -> Expected:
        """As many rows as enter."""
        return unknown(sum(map(sizes.count, self.entered)), len(self.row))

    def rounds(self, sizes: Sizes) -> float:
        """As many as its limit, else as paths in a random graph of the rows that enter are long."""
        if self.limit is not None:
            return self.limit
        return 1 + log2(1 + max(map(sizes.count, self.entered), default=0.0))

    def passed(self, change: Change, rate: float) -> float:
        """What follows from a change is not known; that of one round is a lookup in each join and each group."""
        stages = sum(isinstance(each, JoinPlan | ByRoundPlan) for each in self.inner)
        change.lookups += rate * stages
        change.visited += rate * stages
        return rate

    def state(self, sizes: Sizes) -> Estimate | None:
        """As if all that enters had been found once, and were kept by round."""
        rows = sizes.count(self)
        return total(rows_of(rows, each.row, GROUP) for each in self.bindings)

    def costs(self) -> Iterator[str]:
        """What those within cost."""
        return (sentence for each in self.inner for sentence in each.costs())

    def remarks(self) -> Iterator[str]:
        """What those within remark; and where it is computed anew."""
        yield from (sentence for each in self.inner for sentence in each.remarks())
        if any(isinstance(each, ByRoundPlan) and each.adds_up and each.has_aggregates for each in self.inner):
            what = f"the loop of {', '.join(self.names_written)} adds up what it passes on"
            yield f"{what}: a change that moves all sums in all rounds costs as much as computing it anew"


@compared_once
class LoopResultPlan(PlanOver):
    """What binding number `binding` of a loop holds at its end. State: the loop's."""

    input: Plan
    binding: int
    row: Row
    is_append_only = False

    @property
    def kind(self) -> str:
        """The result of a loop."""
        return "result"

    def read_anew(self) -> tuple[Plan, ...]:
        """None: the loop keeps the rows."""
        return ()

    def named(self, names_of: NamesOf) -> Names:
        """By their places."""
        return tuple(f"#{i}" for i in range(len(self.row)))

    def lines(self, names_of: NamesOf) -> list[str]:
        """The name of the binding."""
        assert isinstance(self.input, IteratePlan), "the result of a loop is read of the loop"
        return [f"result {self.input.names_bound[self.binding]}"]

    def expected(self, sizes: Sizes) -> Expected:
        """Nothing is known but how many enter."""
        return unknown(sizes.count(self.input), len(self.row))


def lower_loop(relation: LetRec, read: tuple[int, ...], lower: Callable[[Relation], Plan]) -> LoopResultPlan:
    """The loop, and what is read of it; `read` are all bindings of the loop that are read outside of it."""
    names = tuple(binding.name for binding in relation.bindings)
    plans = tuple(map(lower, lifted(relation)))
    written = tuple(binding.written for binding in relation.bindings if binding.written)
    loop = IteratePlan(names, written, plans, read, relation.limit, relation.fails_at_limit, order_of(relation))
    return LoopResultPlan(loop, relation.result, row(relation))


def _is_grouped(plan: Plan) -> bool:
    while isinstance(plan, MfpPlan):
        plan = plan.input
    return isinstance(plan, ByRoundPlan) or not plan.is_lifted


def _collect(plan: Plan, found: dict[Plan, None]) -> None:
    if plan in found or not plan.is_lifted:
        return
    for each in plan.below():
        _collect(each, found)
    found[plan] = None
