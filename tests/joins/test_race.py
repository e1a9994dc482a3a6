"""Races against a twin that counts what each look-up would meet, and against every way by itself."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from ivm.operators.half_join import HalfJoin
from ivm.operators.race import Race
from ivm.operators.walk import Walk
from ivm.trace.columns.column import NOBODY, Ints
from ivm.trace.index.arrangement import Arrangement
from tests.engine.chunks import chunks_of
from tests.joins.test_walk import Case, bag, by_python


def _race(case: Case, inclusive: bool) -> Race:
    """The rows of both stores that have a row's keys, whichever is looked up first."""
    first = HalfJoin(case.arranged[0], (1,), 2, 2, inclusive, (), (), False)
    second = HalfJoin(case.arranged[1], (0,), 4, 2, True, (), (), False)
    return Race(((first, second), (second, first)))


def _entries(arrangement: Arrangement, keys: Ints) -> list[int]:
    """How many rows are linked to each key, dead or alive."""
    arrangement.settle()
    limit, ever = np.array([1 << 40]), np.array([0])
    positions, _ = arrangement.index.probe(keys, None, limit, NOBODY, ever)
    return np.bincount(positions, minlength=len(keys)).tolist()


@pytest.mark.parametrize("seed", range(60))
def test_each_row_goes_where_fewest_are(seed: int) -> None:
    case = Case(seed)
    for _ in range(case.random.integers(1, 8)):
        case.commit()
        delta = case.delta()
        race = _race(case, bool(seed % 2))
        winners, winner = race.decided(delta)
        one, other = (
            _entries(a, delta.column(c).values.astype(np.int64)) for a, c in zip(case.arranged, (1, 0), strict=True)
        )
        assert winners.tolist() == [int(m < n) for n, m in zip(one, other, strict=True)]
        assert winner == (winners[0] if len(set(winners.tolist())) == 1 else 2)


@pytest.mark.parametrize("seed", range(40))
def test_whichever_way_the_same_comes(seed: int) -> None:
    case = Case(seed)
    race = _race(case, bool(seed % 2))
    groups = HalfJoin(case.reduce.lookup, (1,), 6, 3, True, (0, 1, 2), (), True)
    walk, ways = Walk([race, groups]), [[*way, groups] for way in race.ways]
    with chunks_of(5):
        for _ in range(6):
            case.commit(partial(case.read, [walk]))
            delta = case.delta()
            expected = bag(by_python(ways[0], [delta]))
            assert bag(by_python(ways[1], [delta])) == expected
            assert bag(walk.all(delta)) == bag(list(walk.parts(delta))) == expected
