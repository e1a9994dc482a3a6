"""What holds between commits and within them, whatever the loop: see what `watched` asserts of each pass besides."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from ivm.analysis.order_free import RoundOrder
from ivm.operators.by_round import ByRound
from ivm.operators.round_reduce import RoundExtreme, RoundReduce
from ivm.plan import iterate, lift
from ivm.sql.ir.rebuild import nodes
from ivm.sql.ir.relation import Binding, Reduce
from ivm.trace.rows import compaction
from tests.found_rounds import found_cells, found_signed
from tests.loops.programs import PROGRAMS
from tests.loops.test_programs import BEGINNING
from tests.loops.watched import Rounds, Watched, rounds_of, up_to, watched
from tests.loops.world import Rows, World, all_gone, some_changes
from tests.model.relation import evaluate
from tests.model.scalar import value_of


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_round_holds_what_it_means(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (lift, iterate):
        monkeypatch.setattr(module, "order_of", lambda _: RoundOrder(exact=True))
    random, world = Random(5), World()
    world.commit(BEGINNING)
    with watched() as seen:
        world.install(PROGRAMS[name])
        _check(world, seen)
        for number in range(8):
            changes = some_changes(world, random, 5) if number < 7 else all_gone(world)
            if changes:
                world.commit(changes)
            _check(world, seen)


def _check(world: World, seen: Watched) -> None:
    """Bindings and groups hold in each round what the meaning says, and nothing waits."""
    loop = world.loops["v"]
    rounds = rounds_of(loop, world.tables)
    for number, binding in enumerate(loop.bindings):
        given = seen.given[number] if number < len(seen.given) else {}
        _compare(given, [moments[""][binding.name] for moments in rounds], binding.name)
    for node, group in seen.groups:
        assert group.due is None, "nothing is due between commits"
        if isinstance(group, RoundExtreme):
            continue
        (binding,) = (each for each in loop.bindings if any(node.over is part for part in nodes(each.relation)))
        held, expected = _held(node, group, rounds, binding)
        _compare(held, expected, f"a group of {binding.name}")
        if isinstance(group, RoundReduce):
            assert not group.groups.dues
    assert world.rows() == world.expected()


def _held(node: Any, group: Any, rounds: list[dict[str, Any]], binding: Binding) -> tuple[Rounds, list[Rows]]:
    """What a node of groups holds by rounds, and what it should hold in each: its rows, or how many rows its keys have."""
    held: Rounds = {}
    if isinstance(group, ByRound):
        for row, sign in found_signed(group._made).items():
            held.setdefault(row[-1], Counter())[row[:-1]] += sign
        return held, [evaluate(node.over, moments[binding.name]) for moments in rounds]
    for key, cells in found_cells(group.groups).items():
        for of, fields in cells.items():
            held.setdefault(of, Counter())[key] += fields[0]
    expected = list[Rows]()
    for moments in rounds:
        rows = evaluate(node.over.input, moments[binding.name])
        keyed: Rows = Counter()
        for row, n in rows.items():
            keyed[tuple(value_of(k, row) for k in node.over.keys) if isinstance(node.over, Reduce) else row] += n
        expected.append(Counter({key: n for key, n in keyed.items() if n}))
    return held, expected


def _compare(held: Rounds, expected: list[Rows], what: str) -> None:
    last = max((*held, len(expected)), default=0)
    for number in range(last + 1):
        should = expected[min(number, len(expected) - 1)] if expected else Counter()
        assert up_to(held, number) == should, f"{what} in round {number}"


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_came_and_went_has_left_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "FROM_ROWS", 1)
    monkeypatch.setattr(compaction, "_AT_LEAST", 1)
    random, world, other = Random(7), World(), World()
    for each in (world, other):
        each.install(PROGRAMS[name])
    for _ in range(6):
        changes = some_changes(world, random, 6)
        if changes:
            world.commit(changes)
    world.commit(all_gone(world))
    (loop,), (empty,) = world.iterates, other.iterates
    for state, of_nothing in zip(loop.states, empty.states, strict=True):
        size = state.size()
        assert size.rows == of_nothing.size().rows
        assert size.entries <= 2 * size.rows, "the index of a key, and that of living rows, where something has gone"
