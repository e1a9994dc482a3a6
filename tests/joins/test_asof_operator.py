"""The operator of ASOF joins against the model, at every time of batches of many, and after what is undone."""

from __future__ import annotations

from collections import Counter
from itertools import product
from random import Random
from typing import Any

import pytest

from ivm.catalog.schema import Field
from ivm.catalog.types import BIGINT, DOUBLE, VARCHAR
from ivm.plan.asof import AsofPlan
from ivm.plan.lower import lower
from ivm.render.ordered import asof_operator
from ivm.sql.ir.relation import Asof, Get
from ivm.trace.text.dictionary import TextDictionary
from tests.model.relation import evaluate
from tests.reduce.model import apply, from_delta, to_delta
from tests.states import rollback, seal, step

SCHEMA = (Field("s", VARCHAR), Field("d", DOUBLE), Field("n", BIGINT, False))
WAYS = [
    (((0, 0),), (1, 1), "ge", True),
    (((0, 0),), (1, 1), "gt", False),
    ((), (0, 0), "le", True),
    (((2, 2), (1, 1)), (0, 0), "lt", True),
    (((2, 2),), (1, 1), "ge", False),
]


def _change(random: Random, held: Counter[Any], time: int) -> list[tuple[Any, int, int]]:
    """Some rows come, some of those that are there go, at one of several times."""
    made = []
    for _ in range(random.choice((0, 0, 1, 1, 2, 12))):
        if held and random.random() < 0.45:
            row, diff = random.choice(sorted(held, key=repr)), -1
        else:
            row = random.choice((None, "a", "b")), random.choice((None, 0.5, 1.0, 2.0)), random.randrange(3)
            diff = random.choice((1, 1, 2))
        held[row] += diff
        if not held[row]:
            del held[row]
        made.append((row, time, diff))
    return made


@pytest.mark.parametrize("way", WAYS)
def test_rows_are_right_at_every_time_and_after_every_undo(way: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ivm.operators.asof._MORE", 0)
    asof = Asof(Get("l", SCHEMA), Get("r", SCHEMA), *way)
    plan, dictionary, random = lower(asof), TextDictionary(), Random(7)
    assert isinstance(plan, AsofPlan)
    operator, types = asof_operator(plan, dictionary), tuple((f.type, f.nullable) for f in SCHEMA)
    output = [f.type for f in asof.schema]
    held: dict[str, Counter[Any]] = {"l": Counter(), "r": Counter()}
    shown: Counter[Any] = Counter()
    for commit in range(40):
        before, expected = {name: rows.copy() for name, rows in held.items()}, {}
        batches: dict[str, list[Any]] = {"l": [], "r": []}
        if commit == 25:  # all goes, and comes again
            for name, rows in held.items():
                batches[name] += [(row, 10 * commit, -count) for row, count in rows.items()]
                rows.clear()
            expected[10 * commit] = evaluate(asof, held)
        for time in range(10 * commit + 1, 10 * commit + 1 + random.choice((1, 3))):
            for name, rows in held.items():
                batches[name] += _change(random, rows, time)
            expected[time] = evaluate(asof, held)
        deltas = [to_delta(batches[name], types, dictionary) if batches[name] else None for name in ("r", "l")]
        found = from_delta(step(operator, deltas), output, dictionary)
        if random.random() < 0.3:
            rollback(operator)
            held = before
            continue
        now = shown
        for time, wanted in expected.items():
            now = apply(now, [update for update in found if update[1] == time])
            assert now == wanted, (time, batches)
        shown = now
        seal(operator)
        contents = [u for delta in operator.contents([], 1) for u in from_delta(delta, output, dictionary)]
        assert apply(Counter(), contents) == shown


QUIET, MOVING = (("r", "b"),) * 9, (("l", "a"), ("r", "a"))
"""Sides and keys of the rows that come at one time: many where nobody looks for them, few where somebody does."""


@pytest.mark.parametrize("history", [*product((1, 2, 3), (QUIET, MOVING), repeat=3)], ids=range(216))
def test_what_a_quiet_step_leaves_fits_the_next_one_whatever_its_times(history: Any) -> None:
    """Three steps, each of rows at so many times; a step that puts nothing out leaves its memory to the next."""
    asof = Asof(Get("l", SCHEMA), Get("r", SCHEMA), *WAYS[0])
    plan, dictionary = lower(asof), TextDictionary()
    assert isinstance(plan, AsofPlan)
    operator, types = asof_operator(plan, dictionary), tuple((f.type, f.nullable) for f in SCHEMA)
    held: dict[str, Counter[Any]] = {"l": Counter(), "r": Counter()}
    shown, time = Counter[Any](), 0
    for times, kind in zip(history[::2], history[1::2], strict=True):
        batches: dict[str, list[Any]] = {"l": [], "r": []}
        expected = {}
        for _ in range(times):
            time += 1
            for name, key in kind:
                row = key, float(time), 0
                held[name][row] += 1
                batches[name].append((row, time, 1))
            expected[time] = evaluate(asof, held)
        deltas = [to_delta(batches[name], types, dictionary) if batches[name] else None for name in ("r", "l")]
        found = from_delta(step(operator, deltas), [f.type for f in asof.schema], dictionary)
        for at, wanted in expected.items():
            shown = apply(shown, [update for update in found if update[1] == at])
            assert shown == wanted, (history, at)
        seal(operator)
