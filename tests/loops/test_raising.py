"""Programs that may raise, within loops: a commit is refused if and only if the meaning of its tables raises."""

from __future__ import annotations

from random import Random

import pytest

from ivm.catalog.errors import NumericError
from tests.loops.programs import Program
from tests.loops.world import Changes, World, some_changes
from tests.model.relation import EndlessError, evaluate
from tests.more import with_more


def _one(query: str, limit: int | None = None) -> Program:
    return Program((("w", "v BIGINT, n BIGINT", query),), limit=limit)


_GROWS = "SELECT e.d, w.n * 1048576 AS n FROM w JOIN e ON w.v = e.s WHERE e.s < e.d"
PROGRAMS = {
    "of all ways": _one(f"SELECT v, 1 AS n FROM roots UNION ALL {_GROWS}"),
    "of different rows": _one(f"SELECT v, 1 AS n FROM roots UNION {_GROWS}"),
    "to a limit": _one(f"SELECT v, 1 AS n FROM roots UNION ALL {_GROWS}", limit=6),
    "a quotient": _one("SELECT v, 60 // (v - 3) AS n FROM roots UNION SELECT e.d, 60 // (w.v - 3) FROM w JOIN e ON w.v = e.s"),
    "of sums": _one(f"SELECT v, CAST(sum(n) AS BIGINT) AS n FROM (SELECT v, 1 AS n FROM roots UNION ALL {_GROWS}) GROUP BY v"),
    "in a filter": _one(
        "SELECT v, 1 AS n FROM roots UNION SELECT e.d, 1 FROM w JOIN e ON w.v = e.s WHERE 60 // (e.s - e.d + 2) > -100"
    ),
    "denied": Program(
        (
            ("hi", "a BIGINT, n BIGINT", "SELECT DISTINCT s AS a, 60 // (s - 2) AS n FROM e WHERE d NOT IN (SELECT a FROM lo)"),
            ("lo", "a BIGINT", "SELECT DISTINCT s AS a FROM e WHERE d NOT IN (SELECT a FROM hi)"),
        )
    ),
    "of one row": _one(
        """SELECT v, 0 AS n FROM roots UNION SELECT v, n FROM (
            SELECT e.d AS v, (SELECT b.d FROM e b WHERE b.s = e.d AND b.d > e.d) AS n FROM w JOIN e ON w.v = e.s)"""
    ),
}  # fmt: skip


def _meant(world: World, *changes: Changes) -> object:
    """What the view is to hold after changes; None if it cannot."""
    try:
        return evaluate(world.loops["v"], world.after(*changes))
    except (NumericError, EndlessError):
        return None


@pytest.mark.parametrize("seed", with_more([0], [1, 2]))
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_commit_is_refused_where_its_meaning_raises(name: str, seed: int) -> None:
    random, world, refused, taken = Random(seed), World(PROGRAMS[name]), 0, 0
    for _ in range(40):
        changes = some_changes(world, random, 7)
        meant = _meant(world, changes)
        if meant is None:
            refused += 1
            before = world.rows()
            with pytest.raises(NumericError):
                world.commit(changes)
            assert world.held() == world.tables
            assert world.rows() == before
        elif changes:
            taken += 1
            world.commit(changes)
            assert world.rows() == meant
    assert taken > 5
    assert all(not each._held for loop in world.iterates for each in loop._scope.holding)


@pytest.mark.parametrize("name", ["of all ways", "of different rows", "to a limit", "of sums"])
def test_what_goes_in_the_round_in_which_it_would_overflow_does_not(name: str) -> None:
    world = World(PROGRAMS[name])
    world.commit({"roots": [((0,), 1)], "e": [((number, number + 1), 1) for number in range(3)]})
    changes: Changes = {"e": [((0, 1), -1), ((3, 4), 1)]}
    world.commit(changes)
    world.check()
    world.commit({"e": [((3, 4), -1), ((0, 1), 1)]}, {"e": [((1, 2), -1), ((3, 4), 1)]})
    world.check()
