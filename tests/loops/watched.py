"""What goes through a loop, and what its groups hold, by rounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from ivm.dataflow.drive import Drive
from ivm.dataflow.feedback import Feedback
from ivm.dataflow.loop import Iterate
from ivm.operators.by_round import ByRound
from ivm.operators.projection import Given
from ivm.operators.round_reduce import RoundReduce
from ivm.plan import lower
from ivm.plan.lift import ByRound as ByRoundNode
from ivm.plan.within_loop import ByRoundPlan, lower_by_round
from ivm.render.renderer import Renderer
from ivm.sql.ir.relation import LetRec
from ivm.trace.delta import Delta, delta_of
from tests.loops.world import Row, Rows, rows_of
from tests.model.relation import MOST_ROUNDS, evaluate, held

Rounds = dict[int, Rows]
"""What each round changes."""


@dataclass
class Watched:
    """Of one loop what bindings have given by rounds, and the nodes of groups, each with the relation it stands for."""

    given: list[Rounds] = field(default_factory=list)
    groups: list[tuple[ByRoundNode, Any]] = field(default_factory=list)
    rounds: int = 0
    """How many the last commit took."""

    def note(self, number: int, rows: list[Row], diffs: list[int]) -> None:
        """What a binding gives."""
        while len(self.given) <= number:
            self.given.append({})
        for (*row, of), diff in zip(rows, diffs, strict=True):
            self.given[number].setdefault(of, Counter())[tuple(row)] += diff


@contextmanager
def watched() -> Iterator[Watched]:
    """The loop that is installed within; it is held against what goes through a loop at all."""
    found, plans, operators = Watched(), list[tuple[ByRoundNode, ByRoundPlan]](), dict[ByRoundPlan, Any]()
    render, rounds, fed, add = Renderer._by_round, Iterate._rounds, Iterate._feed, Feedback.add
    gave = Drive._give

    def lowered(relation: ByRoundNode, *given: Any) -> ByRoundPlan:
        plan = lower_by_round(relation, *given)
        plans.append((relation, plan))
        return plan

    def rendered(renderer: Renderer, plan: ByRoundPlan) -> ByRound | RoundReduce:
        operators[plan] = render(renderer, plan)
        found.groups[:] = [(relation, operators[each]) for relation, each in plans if each in operators]
        return operators[plan]

    def run(loop: Iterate, *given: Any) -> Iterator[int | None]:
        before, last = loop.passed, -1
        for number in rounds(loop, *given):
            if number is not None:
                assert number > last, "rounds ascend"
                last = number
            yield number
        found.rounds = loop.passed - before

    def feed(loop: Iterate, given: Any, *more: Any) -> None:
        for number, deltas in enumerate(given):
            for delta in deltas:
                found.note(number, rows_of(delta), delta.diff_array().tolist())
        fed(loop, given, *more)

    def give(drive: Drive, rows: Given, length: int, diffs: Any, *more: Any, **further: Any) -> None:
        given = rows_of(delta_of(rows.columns, 0, diffs, length))
        found.note(
            0, [(*row, later - 1) for *row, later, _ in given], [1] * length if diffs is None else diffs.tolist()
        )
        gave(drive, rows, length, diffs, *more, **further)

    def back(feedback: Feedback, node: Any, delta: Delta, *more: Any) -> None:
        rows = rows_of(delta)
        assert len(set(rows)) == len(rows), "what is fed back is consolidated"
        assert all(delta.diff_array()), "what is fed back is consolidated"
        add(feedback, node, delta, *more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lower, "lower_by_round", lowered)
        patch.setattr(Renderer, "_by_round", rendered)
        patch.setattr(Iterate, "_rounds", run)
        patch.setattr(Iterate, "_feed", feed)
        patch.setattr(Feedback, "add", back)
        patch.setattr(Drive, "_give", give)
        for kind in (ByRound, RoundReduce):
            patch.setattr(kind, "evaluate", _only_of_its_round(kind.evaluate))
        yield found


def _only_of_its_round(evaluate: Callable[..., Delta | None]) -> Callable[..., Delta | None]:
    """What groups give in a round is of that round."""

    def evaluated(group: Any, number: int, tick: int) -> Delta | None:
        assert group.due == number, "a group is looked at in the round in which it is due"
        delta = evaluate(group, number, tick)
        assert group.due is None or group.due > number, "and once in it"
        if delta is not None:
            rows = rows_of(delta)
            assert {row[-1] for row in rows} == {number}
            assert len(set(rows)) == len(rows), "what groups give is consolidated"
            assert all(delta.diff_array()), "what groups give is consolidated"
        return delta

    return evaluated


def rounds_of(loop: LetRec, tables: Mapping[str, Rows]) -> list[dict[str, Any]]:
    """For each round of the meaning of a loop what names hold when each binding is evaluated, and when it is through.

    Under the name of a binding that of the moment before it is evaluated; under the empty name what holds at the end.
    """
    now = {binding.name: Rows() for binding in loop.bindings}
    found = list[dict[str, Any]]()
    for _ in range(loop.limit or MOST_ROUNDS):
        before, moments = dict(now), dict[str, Any]()
        for binding in loop.bindings:
            moments[binding.name] = {**tables, **{held(name): rows for name, rows in now.items()}}
            now[binding.name] = evaluate(binding.relation, moments[binding.name])
        moments[""] = dict(now)
        found.append(moments)
        if before == now:
            break
    return found


def up_to(rounds: Mapping[int, Rows], number: int) -> Rows:
    """What there is in a round."""
    total = Rows()
    for each, rows in rounds.items():
        if each <= number:
            total.update(rows)
    return Rows({row: n for row, n in total.items() if n})
