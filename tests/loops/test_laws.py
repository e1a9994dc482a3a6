"""Many times at once are as one by one, what comes late is as if it had been there, and what is saved goes on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from random import Random
from typing import Any

import pytest

from ivm.analysis.order_free import order_of
from ivm.dataflow.loop import Iterate
from ivm.operators.arrange import ArrangeTable
from ivm.plan.iterate import IteratePlan
from ivm.session.core import engine_of
from ivm.session.database import core_of
from ivm.trace.columns.segment import Segment
from tests.engine.chunks import chunks_of
from tests.loops.programs import PROGRAMS, Program
from tests.loops.test_programs import BEGINNING
from tests.loops.watched import watched
from tests.loops.world import Changes, Rows, World, all_gone, some_changes

_CHAIN = PROGRAMS["reach"]
_MORE: Changes = {"roots": [((9,), 1)]}


def _negated(changes: Changes) -> Changes:
    return {name: [(row, -diff) for row, diff in updates] for name, updates in changes.items()}


@pytest.mark.parametrize("name", PROGRAMS)
def test_many_times_in_a_commit_are_as_one_by_one(name: str) -> None:
    random, world, other = Random(3), World(PROGRAMS[name], history=100), World(PROGRAMS[name])
    for _ in range(4):
        batch = list[Changes]()
        for _ in range(4):
            batch.append(some_changes(other, random, 5) or _MORE)
            other.commit(batch[-1])
        batch += [_negated(batch[-1]), batch[-1]]  # the last one goes and comes again, each at a time of its own
        first, tables = world.db.time + 1, world.tables
        world.commit(*batch)
        world.check()
        for number in range(len(batch)):
            world.tables = tables
            world.tables = world.after(*batch[: number + 1])
            assert world.rows(as_of=first + number) == world.expected(), f"at time {number} of a batch"
        assert world.tables == other.tables


def _committing(world: World, random: Random, program: str, name: str = "v") -> int:
    """Install a view, with commits in its first pauses; how many pauses there are."""
    pauses = 0

    def pause() -> None:
        nonlocal pauses
        pauses += 1
        changes = some_changes(world, random, 6)
        if changes and pauses < 12:
            world.commit(changes)

    world.install(PROGRAMS[program], name, pause)
    return pauses


@pytest.mark.parametrize("name", PROGRAMS)
def test_commits_come_while_a_loop_comes_in(name: str) -> None:
    random, world = Random(4), World()
    world.commit(BEGINNING)
    for _ in range(3):
        if changes := some_changes(world, random, 6):
            world.commit(changes)
    with chunks_of(4):
        assert _committing(world, random, name)
        world.check()
        for _ in range(3):
            if changes := some_changes(world, random, 6):
                world.commit(changes)
            world.check()


@pytest.mark.parametrize("name", PROGRAMS)
def test_commits_come_while_a_loop_is_read_by_another_view(name: str) -> None:
    random, world = Random(5), World(PROGRAMS[name])
    world.commit(BEGINNING)
    for number in range(4):
        loops = len(world.iterates)
        with chunks_of(4):
            _committing(world, random, name, f"late{number}")
        assert len(world.iterates) == loops, "it reads the loop that there is"
        world.check()
        world.commit(all_gone(world) if number == 1 else some_changes(world, random, 6) or _MORE)
        world.check()


@pytest.mark.parametrize("name", ["closure", "sums", "count", "first two"])
def test_a_loop_that_does_not_come_in_leaves_nothing(name: str) -> None:
    random, world, most = Random(6), World(), 0
    world.commit(BEGINNING)
    nodes = len(list(engine_of(core_of(world.db)).renderer.graph.nodes))
    while not world.loops:
        pauses = 0

        def pause() -> None:
            nonlocal pauses
            pauses += 1
            if pauses == 2 and (changes := some_changes(world, random, 6)):
                world.commit(changes)
            if pauses > most:  # noqa: B023
                raise KeyboardInterrupt

        with suppress(KeyboardInterrupt), chunks_of(4):
            world.install(PROGRAMS[name], pause=pause)
            break
        assert len(list(engine_of(core_of(world.db)).renderer.graph.nodes)) == nodes
        assert not engine_of(core_of(world.db)).views
        most += 1 + most // 4
    assert most > 3
    world.check()


@pytest.mark.parametrize("sharing", [True, False])
def test_what_enters_is_shared_with_others(sharing: bool) -> None:
    world = World(sharing=sharing)
    for name in ("reach", "closure", "shortest paths"):
        world.install(PROGRAMS[name], name)
    world.db.sql("CREATE MATERIALIZED VIEW beside AS SELECT a.s, b.d FROM e a JOIN e b ON a.d = b.s")
    nodes = engine_of(core_of(world.db)).renderer.graph.nodes
    indexes = [node for node in nodes if isinstance(node.operator, ArrangeTable)]
    assert (len(indexes) == 2) == sharing, "one by what edges begin with, one by what they end with"
    world.commit(BEGINNING)
    world.check()


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_saved_in_the_middle_goes_on(name: str) -> None:
    random, world = Random(8), World(PROGRAMS[name])
    for _ in range(5):
        # Also of nothing, since what shows something of nothing must not show it again.
        (loop,), other = world.iterates, World()
        saved = [[segment.batch for segment in state.segments()] for state in loop.states]
        if any(world.tables.values()):
            other.commit({each: list(rows.items()) for each, rows in world.tables.items()})
        _install_saved(other, PROGRAMS[name], saved)
        other.check()
        for _ in range(4):
            if changes := some_changes(other, random, 5):
                other.commit(changes)
            other.check()
        world.commit(some_changes(world, random, 5) or _MORE)


def _install_saved(world: World, program: Program, saved: list[list[Any]]) -> None:
    """A loop in the states that were written."""
    renderer, given = engine_of(core_of(world.db)).renderer, False

    def give(plan: object, node: Any, contents: bool) -> bool:
        nonlocal given
        if not isinstance(plan, IteratePlan):
            return False
        for state, batches in zip(node.operator.states, saved, strict=True):
            state.restore(iter([Segment(batch) for batch in batches]))
        given = True
        return True

    renderer.saved = give
    world.install(program)
    renderer.saved = None
    assert given


def test_an_unsupported_cycle_goes_in_as_many_rounds_as_it_is_long() -> None:
    length, world = 60, World()
    cycle = [((1 + number, 1 + (number + 1) % length), 1) for number in range(length)]
    world.commit({"roots": [((0,), 1)], "e": [((0, 1), 1), *cycle]})
    with watched() as seen:
        world.install(_CHAIN)
        assert world.rows() == Counter((node,) for node in range(length + 1))
        world.commit({"e": [((0, 1), -1)]})
        assert world.rows() == Counter([(0,)])
        assert seen.rounds <= length + 2
        (loop,) = world.iterates
        assert sum(state.size().rows for state in loop.states) <= 4, "a root, in each state"
        world.commit({"e": [((2, 5), 1)]})
        assert seen.rounds <= 1, "what nobody reaches changes nothing"


def test_a_copy_of_an_edge_is_over_in_the_rounds_of_its_ends() -> None:
    world = World()
    world.commit({"roots": [((0,), 1)], "e": [((number, number + 1), 1) for number in range(40)]})
    with watched() as seen:
        world.install(_CHAIN)
        world.commit({"e": [((20, 21), 1)]})
        assert seen.rounds <= 2, "the row that is reached twice goes on as it was"
        world.check()


def test_of_values_that_grow_each_comes_in_its_turn() -> None:
    query = """SELECT v, min(x) AS x FROM (
        SELECT v, 0 AS x FROM roots UNION ALL SELECT e.d, p.x + e.d FROM p JOIN e ON p.v = e.s WHERE e.d > 0
    ) GROUP BY v"""
    random, world, nodes = Random(1), World(), 100
    edges = {(random.randrange(nodes), random.randrange(nodes)) for _ in range(5 * nodes)}
    world.commit({"roots": [((0,), 1)], "e": [(edge, 1) for edge in edges]})
    with watched() as seen:
        world.install(Program((("p", "v BIGINT, x BIGINT", query),)))
    changed = [n for rows in seen.given[0].values() for n in rows.values()]
    assert changed == [1] * world.rows().total(), "no node has a distance first that is not its least"


def test_one_loop_is_read_in_several_places() -> None:
    world = World()
    for name, result in (("evens", 0), ("odds", 1)):
        world.install(Program(PROGRAMS["even and odd"].bindings, result), name)
    world.commit(BEGINNING)
    world.check()
    world.drop("evens")
    world.commit({"e": [((3, 1), 1)]})
    world.check()
    world.drop("odds")
    assert not [
        node for node in engine_of(core_of(world.db)).renderer.graph.nodes if isinstance(node.operator, Iterate)
    ]


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_comes_and_goes_leaves_no_rows(name: str) -> None:
    random, world = Random(5), World(PROGRAMS[name])
    world.commit(BEGINNING)
    begun, tables = _rows_held(world), world.tables
    for _ in range(12):
        if changes := some_changes(world, random, 6):
            world.commit(changes)
    world.commit(_back(tables, world.tables))
    # Where rounds are not those that are counted, rows may stay in later ones than they came in at first.
    assert _rows_held(world) == begun or not order_of(world.loops["v"]).exact
    world.commit(all_gone(world))
    gone = _rows_held(world)
    assert sum(gone) <= (2 if name in ("count", "above the least") else 0), (
        "those of groups that are there over nothing"
    )
    world.commit(BEGINNING)
    world.check()
    assert _rows_held(world) == begun
    world.commit(all_gone(world))
    assert _rows_held(world) == gone


def _rows_held(world: World) -> list[int]:
    return [state.size().rows for loop in world.iterates for state in loop.states]


def _back(to: Mapping[str, Rows], of: Mapping[str, Rows]) -> Changes:
    """What leads from one state of the tables to another."""
    rows = {name: {row: to[name][row] - of[name][row] for row in {*to[name], *of[name]}} for name in to}
    return {name: [(row, n) for row, n in each.items() if n] for name, each in rows.items() if any(each.values())}
