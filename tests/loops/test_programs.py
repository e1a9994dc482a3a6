"""Loops hold what their meaning says, after each commit of random histories, however they are installed."""

from __future__ import annotations

from random import Random

import pytest

from tests.loops.programs import PROGRAMS
from tests.loops.world import Changes, World, all_gone, some_changes

BEGINNING: Changes = {"roots": [((0,), 1)], "e": [((0, 1), 1), ((1, 2), 1), ((2, 0), 1), ((2, 3), 1)]}


def history(name: str, seed: int, world: World, late: int = 0, commits: int = 10) -> None:
    """Commits, the view there from the first or from a later one on; at last all goes."""
    random = Random(seed)
    nodes = random.choice((4, 6, 9))
    for number in range(commits):
        if number == late:
            world.install(PROGRAMS[name])
            world.check()
        changes = some_changes(world, random, nodes) if number else BEGINNING
        if changes:
            world.commit(changes)
        world.check()
    world.commit(all_gone(world))
    world.check()


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_loop_is_kept_up_to_date(name: str, seed: int) -> None:
    history(name, seed, World(), late=3 * seed)


@pytest.mark.parametrize("name", PROGRAMS)
def test_so_it_is_where_nothing_is_shared(name: str) -> None:
    history(name, 2, World(sharing=False), late=2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3, 40))
@pytest.mark.parametrize("name", PROGRAMS)
def test_many_histories(name: str, seed: int) -> None:
    history(name, seed, World(sharing=seed % 3 > 0), late=seed % 5, commits=20)
