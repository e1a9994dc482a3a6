"""Whatever is raised in whatever round, a commit is done or undone as a whole, and so is what brings a loop in."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ivm.catalog.errors import NumericError
from ivm.dataflow import drive as driving
from ivm.kernels.step import drive as kernel
from ivm.session.core import engine_of
from ivm.session.database import core_of
from tests.loops.programs import ENDLESS, OVERFLOWING, PROGRAMS, Program
from tests.loops.world import Changes, World
from tests.more import TODAY

ROOT = Path(__file__).parents[2]


def _path(length: int, begins_at: int = 0) -> Changes:
    return {"e": [((number, number + 1), 1) for number in range(begins_at, begins_at + length)]}


def _refuses(world: World, changes: Changes, error: type[BaseException], said: str) -> None:
    """A commit raises, and leaves all as it was."""
    before = {name: world.rows(name) for name in world.loops}
    with pytest.raises(error, match=said):
        world.commit(changes)
    assert world.held() == world.tables
    assert {name: world.rows(name) for name in world.loops} == before
    for each in world.iterates:
        assert all(group.due is None for group, _ in each._scope.groups)


@pytest.mark.parametrize("beside", ["closure", "first two", "count"])
def test_an_overflow_in_a_late_round_undoes_the_commit(beside: str) -> None:
    world = World(OVERFLOWING)
    world.install(PROGRAMS[beside], "beside")
    world.commit({"roots": [((0,), 1)]})
    for _ in range(2):
        world.commit(_path(5))
        world.check()
        _refuses(world, _path(1, 5), NumericError, "does not fit BIGINT")
        world.commit({"e": [((5, 7), 0), ((0, 3), 1)]})
        world.check()
        world.commit({"e": [*[(row, -n) for row, n in world.tables["e"].items()]]})
        world.check()


def test_a_loop_that_does_not_end_undoes_the_commit() -> None:
    world = World(ENDLESS, recursion_limit=50)
    world.install(PROGRAMS["reach"], "beside")
    world.commit({"roots": [((0,), 1)], **_path(3)})
    world.check()
    for _ in range(2):
        _refuses(world, {"e": [((3, 1), 1)]}, NumericError, "has not ended after 50 rounds")
        world.commit({"e": [((3, 4), 1), ((4, 9), 1)]})
        world.check()
        world.commit({"e": [((3, 4), -1), ((4, 9), -1)]})
        world.check()


@pytest.mark.parametrize("name", ["shortest paths", "components"])
def test_rounds_by_value_count_as_often_as_they_are_run(name: str) -> None:
    world = World(PROGRAMS[name], recursion_limit=50)
    world.commit({"roots": [((0,), 1)], "e": [((0, 1), 1), ((1, 10**9), 1), ((10**9, 7), 1)]})
    world.check()
    _refuses(world, _path(60, 7), NumericError, "has not ended after 50 rounds")
    world.commit({"e": [((1, 10**9), -1), ((7, 8), 1)]})
    world.check()


@pytest.mark.parametrize("limit", [1, 2, 3, 6])
def test_a_limit_is_the_number_of_rounds(limit: int) -> None:
    for name in ("reach", "closure of itself", "sums", "won positions", "first two"):
        world = World(replace(PROGRAMS[name], limit=limit))
        world.commit({"roots": [((0,), 1)], "e": [*_path(4)["e"], ((2, 0), 1)]})
        world.check()
        world.commit({"e": [((1, 2), -1), ((1, 4), 1)]})
        world.check()


def test_a_loop_may_fail_at_its_limit() -> None:
    world = World(replace(PROGRAMS["reach"], limit=4, fails_at_limit=True))
    world.commit({"roots": [((0,), 1)], **_path(2)})
    world.check()
    _refuses(world, _path(4, 2), NumericError, "has not ended after 4 rounds")
    world.commit({"e": [((0, 2), 1)]})
    world.check()


@pytest.mark.parametrize("program", [OVERFLOWING, ENDLESS])
def test_a_loop_that_cannot_come_in_leaves_nothing(program: Program) -> None:
    world = World(recursion_limit=50)
    world.install(PROGRAMS["reach"], "beside")
    world.commit({"roots": [((0,), 1)], **_path(7), "e": [*_path(7)["e"], ((7, 1), 1)]})
    graph = engine_of(core_of(world.db)).renderer.graph
    nodes = list(graph.nodes)
    for _ in range(2):
        with pytest.raises(NumericError, match="cannot create view v"):
            world.install(program)
        assert list(graph.nodes) == nodes
        world.check()
    world.commit({"e": [((7, 1), -1), ((2, 3), -1)]})
    world.install(program)
    world.check()
    world.commit({"e": [((0, 2), 1)]})
    world.check()


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interruption_in_the_middle_of_a_long_chain(
    error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    length, world, drive = 2000, World(), kernel.drive
    world.commit({"roots": [((0,), 1)], **_path(length)})
    world.install(PROGRAMS["reach"])
    all_of_them, few = Counter((node,) for node in range(length + 1)), Counter((node,) for node in range(11))
    assert world.rows() == all_of_them

    def interrupted(frame: Any, *given: Any) -> int:
        said = drive(frame, *given)
        if frame[kernel.NUMBER] > length // 2:
            raise error("in the middle")
        return said

    for change, then in ((-1, few), (1, all_of_them)):
        with monkeypatch.context() as patch:
            patch.setattr(driving, "drive", interrupted)
            _refuses(world, {"e": [((10, 11), change)]}, error, "in the middle")
        world.commit({"e": [((10, 11), change)]})
        assert world.rows() == then
    (iterate,) = world.iterates
    assert all(group.due is None for group, _ in iterate._scope.groups)


def test_an_interruption_while_a_long_chain_comes_in(monkeypatch: pytest.MonkeyPatch) -> None:
    world, rounds = World(), 0
    monkeypatch.setattr(driving, "_MOST_ROUNDS", 1)
    world.commit({"roots": [((0,), 1)], **_path(300)})
    nodes = len(list(engine_of(core_of(world.db)).renderer.graph.nodes))

    def pause() -> None:
        nonlocal rounds
        rounds += 1
        if rounds == 150:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        world.install(PROGRAMS["reach"], pause=pause)
    assert len(list(engine_of(core_of(world.db)).renderer.graph.nodes)) == nodes
    world.install(PROGRAMS["reach"])
    assert world.rows() == Counter((node,) for node in range(301))


def _run(*given: Any) -> None:
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.loops.faults", *map(str, given)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]


def test_whatever_is_raised_in_a_commit_it_is_done_or_undone() -> None:
    _run("commit", 120, TODAY)


def test_whatever_is_raised_while_a_loop_comes_in_it_is_there_or_not() -> None:
    _run("install", 600, TODAY)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["commit", "install"])
def test_every_line(kind: str) -> None:
    _run(kind)
