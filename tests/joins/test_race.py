"""Races against a twin that counts what each look-up would meet, and against every way by itself."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from ivm.catalog.types import BIGINT
from ivm.operators.half_join import HalfJoin
from ivm.operators.race import Race
from ivm.operators.walk import Walk
from ivm.plan.mfp import Mfp
from ivm.render.scalars.program import MfpProgram
from ivm.sql.ir.scalar import Literal
from ivm.trace.columns.column import NOBODY, Ints
from ivm.trace.index.arrangement import Arrangement
from tests.engine.chunks import chunks_of
from tests.joins.test_walk import COMPILER, WIDTH, Case, bag, by_python


def _race(case: Case, inclusive: bool, few: int = 2) -> Race:
    """The rows of both stores that have a row's keys, whichever is looked up first; the first column says which.

    It is the first one if that meets few.
    """
    first = HalfJoin(case.arranged[0], (1,), 2, 2, inclusive, (), (), False)
    second = HalfJoin(case.arranged[1], (0,), 4, 2, True, (), (), False)
    says = [Mfp(WIDTH, (Literal(way, BIGINT),), (), (WIDTH, *range(1, WIDTH))) for way in range(2)]
    one, other = (MfpProgram(each, case.dictionary, COMPILER) for each in says)
    groups = HalfJoin(case.reduce.lookup, (1,), 6, 3, True, (0, 1, 2), (), True)
    return Race(((first, second, groups, one), (second, first, groups, other)), few)


def _entries(arrangement: Arrangement, keys: Ints) -> list[int]:
    """How many rows are linked to each key, dead or alive."""
    arrangement.settle()
    limit, ever = np.array([1 << 40]), np.array([0])
    positions, _ = arrangement.index.probe(keys, None, limit, NOBODY, ever)
    return np.bincount(positions, minlength=len(keys)).tolist()


@pytest.mark.parametrize("few", [0, 3])
@pytest.mark.parametrize("seed", range(40))
def test_each_row_goes_where_fewest_are(seed: int, few: int) -> None:
    case = Case(seed)
    race = _race(case, bool(seed % 2), few)
    for _ in range(case.random.integers(2, 8)):
        case.commit(lambda: race.all(case.delta()))
        delta = case.delta()
        one, other = (
            _entries(a, delta.column(c).values.astype(np.int64)) for a, c in zip(case.arranged, (1, 0), strict=True)
        )
        expected = [int(m > few and n < m) for m, n in zip(one, other, strict=True)]
        rows = [np.flatnonzero(np.array(expected) == way) for way in range(2)]
        going = [by_python([*race.ways[way]], [delta.take(rows[way])]) for way in range(2) if len(rows[way])]
        for _ in range(3):  # along lines that are known by and by
            assert (
                bag(race.all(delta)) == bag(list(race.passed(delta))) == bag([part for each in going for part in each])
            )


@pytest.mark.parametrize("seed", range(40))
def test_whichever_way_the_same_comes(seed: int) -> None:
    case = Case(seed)
    whole = _race(case, bool(seed % 2))
    race, groups = Race(tuple(way[:2] for way in whole.ways)), whole.ways[0][2]
    walk, ways = Walk([race, groups]), [[*way, groups] for way in race.ways]
    with chunks_of(5):
        for _ in range(6):
            case.commit(partial(case.read, [walk]))
            delta = case.delta()
            expected = bag(by_python(ways[0], [delta]))
            assert bag(by_python(ways[1], [delta])) == expected
            assert bag(walk.all(delta)) == bag(list(walk.parts(delta))) == expected
