"""Top-k against a model that sorts everything at every time."""

from __future__ import annotations

from collections import Counter
from functools import cmp_to_key
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ivm.catalog.types import BIGINT, DOUBLE, HUGEINT, INTEGER, VARCHAR, decimal
from ivm.operators.top_k import TopK
from ivm.trace.text.dictionary import TextDictionary
from tests.reduce.model import Bag, Row, apply, from_delta, plain, sort_key, to_delta
from tests.reduce.test_reduce import by_time, real, same, values_of
from tests.states import rollback, seal, step

KINDS = (BIGINT, VARCHAR, DOUBLE, INTEGER, decimal(30, 4), HUGEINT)


def comparison(order, width):
    terms = [*order, *((c, False, False) for c in range(width))]

    def compare(a, b):
        for column, descending, nulls_first in terms:
            x, y = real(a[column]), real(b[column])
            if x is None or y is None:
                if (x is None) != (y is None):
                    return -1 if (x is None) == nulls_first else 1
                continue
            kx, ky = sort_key(x), sort_key(y)
            if kx != ky:
                return -1 if (kx < ky) != descending else 1
        return 0

    return cmp_to_key(compare)


def windows(bag, group, order, limit, offset, ties, width):
    """The model: sort each group's rows and cut, with ties behind all that are equal to the last in the order."""
    groups: dict[Row, list[Row]] = {}
    for row, m in bag.items():
        groups.setdefault(tuple(row[c] for c in group), []).extend([row] * m)
    result: Bag = Counter()
    for rows in groups.values():
        rows.sort(key=comparison(order, width))
        result.update(rows[offset : None if limit is None else offset + limit])
        if ties and limit and len(rows) > limit:
            same = comparison(order, 0)
            result.update(row for row in rows[limit:] if same(row) == same(rows[limit - 1]))
    return result


@st.composite
def worlds(draw):
    types = tuple(draw(st.lists(st.tuples(st.sampled_from(KINDS), st.booleans()), min_size=1, max_size=3)))
    columns = st.integers(0, len(types) - 1)
    group = tuple(draw(st.lists(columns, max_size=1)))
    order = tuple(draw(st.lists(st.tuples(columns, st.booleans(), st.booleans()), max_size=2)))
    limit, offset = draw(st.one_of(st.none(), st.integers(0, 4))), draw(st.integers(0, 3))
    ties = limit is not None and draw(st.booleans())
    offset = 0 if ties else offset
    rows = st.tuples(*(st.one_of(values_of(t, False), st.none()) if n else values_of(t, False) for t, n in types))
    pool = draw(st.lists(rows, min_size=1, max_size=8))
    held: Bag = Counter()
    updates = []
    time = 0
    for _ in range(draw(st.integers(1, 25))):
        time += draw(st.sampled_from([0, 0, 1]))
        row = pool[draw(st.integers(0, len(pool) - 1))]
        diff = draw(st.integers(-held[tuple(map(plain, row))], 3))
        if diff:
            held[tuple(map(plain, row))] += diff
            updates.append((row, time, diff))
    return types, group, order, limit, offset, ties, updates


class Driver:
    def __init__(self, types, group, order, limit, offset, ties=False):
        self.types, self.model = types, (group, order, limit, offset, ties, len(types))
        self.dictionary = TextDictionary()
        self.top = TopK(types, group, order, limit, offset, self.dictionary, ties)

    def step(self, updates):
        delta = step(self.top, [to_delta(updates, self.types, self.dictionary)])
        return from_delta(delta, [t for t, _ in self.types], self.dictionary)

    def contents(self):
        out = []
        for delta in self.top.contents([], 3):
            out += from_delta(delta, [t for t, _ in self.types], self.dictionary)
        return apply(Counter(), out)


def settled(updates):
    """The updates with equal rows at equal times added up."""
    total: Counter[Any] = Counter()
    for row, time, diff in updates:
        total[tuple(map(plain, row)), time] += diff
    return {key: diff for key, diff in total.items() if diff}


def assert_the_laws(drivers, updates, random):
    """Step by step, undone in between, the first driver's windows are the model's; the second does the same at once,
    the third in any order. What is held at the end.
    """
    small, big, shuffled = drivers
    held: Bag = Counter()
    out: Bag = Counter()
    apart = []
    for time, batch in by_time(updates).items():
        small.step([(row, time, 2) for row, _, _ in batch])
        rollback(small.top)
        assert small.contents() == out
        step = small.step(batch)
        seal(small.top)
        apart += step
        held, out = apply(held, batch), apply(out, step)
        assert out == windows(held, *small.model)
        assert small.contents() == out
    together = big.step(updates)
    assert [u[1] for u in together] == sorted(u[1] for u in together)
    assert settled(together) == settled(apart)
    rollback(big.top)
    assert big.top.size().rows == 0
    assert same(big.step(updates), together)
    mixed = list(updates)
    random.shuffle(mixed)
    assert settled(shuffled.step(mixed)) == settled(apart)
    for driver in (big, shuffled):
        seal(driver.top)
        assert driver.contents() == out
    return held


@settings(deadline=None, max_examples=150)
@given(worlds(), st.randoms())
def test_the_laws(world, random):
    *shape, updates = world
    if not updates:
        return
    drivers = [Driver(*shape) for _ in range(3)]
    held = assert_the_laws(drivers, updates, random)
    back = [(tuple(map(real, row)), updates[-1][1] + 1, -m) for row, m in held.items()]
    for driver in drivers:
        if back:
            driver.step(back)
            seal(driver.top)
        assert (driver.top.size().rows, driver.top.size().entries) == (0, 0)
        assert not driver.contents()


def test_changes_behind_a_full_window_do_not_walk_it():
    driver = Driver(((BIGINT, False),), (), ((0, True, False),), 100, 0)
    driver.step([((v,), 1, 1) for v in range(20_000)])
    seal(driver.top)
    visited = driver.top.visited
    for v in range(200):
        assert driver.step([((v,), 2 + v, -1)]) == []
        seal(driver.top)
    assert driver.top.visited - visited < 200 * 120
    assert driver.step([((19_999,), 999, -1)]) == [((19_999,), 999, -1), ((19_899,), 999, 1)]


def test_who_reads_sees_no_changes_that_cancel_out():
    """Of a batch only what is left of it is told to readers, and what is taken back not at all."""
    driver = Driver(((BIGINT, False),), (), ((0, True, False),), 3, 0)
    driver.step([((v,), 1, 1) for v in range(10)])
    seal(driver.top)
    reading = driver.top.contents([], 1)
    batches = [
        [((5,), 2, -1), ((5,), 2, 1), ((5,), 2, 1), ((7,), 2, 1), ((7,), 2, -1)],
        [((9,), 3, -1), ((9,), 3, 1), ((3,), 3, 1), ((3,), 3, -1)],
        [((9,), 4, -1), ((20,), 4, 1), ((20,), 5, 2), ((9,), 5, 1), ((9,), 5, -1)],
    ]
    for batch in batches:
        driver.step(batch)
        rollback(driver.top)
        driver.step(batch)
        seal(driver.top)
    shown = from_delta(next(reading), [BIGINT], driver.dictionary)
    assert apply(Counter(), shown) == Counter({(9,): 1, (8,): 1, (7,): 1})
    assert driver.contents() == Counter({(20,): 3})


def test_windows_know_their_last_row_after_an_abort():
    """Taking a batch back may put rows in each other's nodes."""
    driver = Driver(((BIGINT, False),), (), ((0, False, False),), 2, 0)
    driver.step([((v,), 1, 1) for v in (10, 20, 30, 40)])
    seal(driver.top)
    driver.step([((10,), 2, -1), ((20,), 2, -1)])
    rollback(driver.top)
    assert sorted(driver.step([((15,), 2, 1)])) == [((15,), 2, 1), ((20,), 2, -1)]


def test_many_groups_at_many_times_at_once():
    random = np.random.default_rng(5)
    types = ((BIGINT, False), (BIGINT, False))
    driver, alone = (Driver(types, (0,), ((1, True, False),), 3, 1) for _ in range(2))
    updates = [
        ((int(g), int(v)), int(t), 1)
        for g, v, t in zip(
            random.integers(0, 50, 3000),
            random.integers(0, 99, 3000),
            np.sort(random.integers(0, 300, 3000)),
            strict=True,
        )
    ]
    together = driver.step(updates)
    apart = []
    for batch in by_time(updates).values():
        apart += alone.step(batch)
        seal(alone.top)
    assert settled(together) == settled(apart)


@pytest.mark.parametrize("ties", [False, True])
def test_large_groups_under_changes(ties):
    """Windows over trees of several levels, with copies and ties, moved from both ends and from within."""
    random = np.random.default_rng(8)
    types = ((INTEGER, False), (BIGINT, False), (BIGINT, False))
    offset, limit = (0, 900) if ties else (300, 700)
    driver = Driver(types, (0,), ((1, False, False),), limit, offset, ties)
    held: Bag = Counter()
    out: Bag = Counter()
    for time in range(1, 22):
        batch = []
        grow = time % 3
        for _ in range(600 if grow else 30):
            row = (int(random.integers(0, 2)), int(random.integers(0, 400)), int(random.integers(0, 9)))
            batch.append((row, time, 1 + int(random.integers(0, 2))))
        if not grow:
            ordered = sorted(held)
            gone = ordered[:500] if time % 2 else ordered[random.integers(0, len(ordered)) :][:500]
            batch += [(row, time, -held[row]) for row in gone]
        step = driver.step(batch)
        seal(driver.top)
        held, out = apply(held, batch), apply(out, step)
        assert len({row for row, _, _ in step}) == len(step), "each row changes once"
        assert out == windows(held, *driver.model)
        assert driver.contents() == out


def test_a_change_in_a_large_window_costs_logarithms():
    for offset, limit in ((0, 10_000), (10_000, 5_000), (10_000, None)):
        driver = Driver(((BIGINT, False),), (), ((0, False, False),), limit, offset)
        driver.step([((v,), 1, 1) for v in range(30_000)])
        seal(driver.top)
        visited = driver.top.visited
        for v in range(100):
            assert len(driver.step([((v,), 2 + v, -1)])) <= 2
            seal(driver.top)
        assert driver.top.visited - visited < 100 * 40


def test_equal_rows_enter_and_leave_together():
    driver = Driver(((BIGINT, False), (BIGINT, False)), (), ((0, True, False),), 1, 0, ties=True)
    driver.step([((7, v), 1, 1) for v in range(1000)] + [((8, 1), 1, 1), ((8, 2), 1, 2)])
    seal(driver.top)
    assert driver.contents() == Counter({(8, 1): 1, (8, 2): 2})
    visited = driver.top.visited
    assert driver.step([((8, 1), 2, -1)]) == [((8, 1), 2, -1)]
    seal(driver.top)
    assert driver.top.visited - visited < 40
    assert len(driver.step([((8, 2), 3, -2)])) == 1001
    seal(driver.top)
    assert driver.contents() == Counter({(7, v): 1 for v in range(1000)})
