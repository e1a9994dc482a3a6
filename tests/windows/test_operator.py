"""Window functions against a model that sorts every partition and reads every frame at every time."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

from hypothesis import given, settings

from ivm.sql.ir.relation import Window
from tests.reduce.model import Update
from tests.states import rollback
from tests.windows.worlds import Bag, Driver, applied, close, normal, worlds


def by_time(updates: list[Update]) -> list[list[Update]]:
    times = sorted({time for _, time, _ in updates})
    return [[u for u in updates if u[1] == time] for time in times]


def settled(updates: list[Update]) -> dict[Any, int]:
    """The updates with equal rows at equal times added up."""
    total: Counter[Any] = Counter()
    for row, time, diff in updates:
        total[normal(row), time] += diff
    return {key: diff for key, diff in total.items() if diff}


@settings(deadline=None, max_examples=120)
@given(worlds())
def test_values_are_right_at_every_time_and_after_every_undo(world: tuple[Window, list[Update]]) -> None:
    window, updates = world
    driver = Driver(window)
    held: Bag = Counter()
    out: Bag = Counter()
    for batch in by_time(updates):
        driver.step([(row, time, 2) for row, time, _ in batch])
        rollback(driver.operator)
        assert driver.contents() == out
        step = driver.commit(batch)
        held, out = applied(held, batch), applied(out, step)
        assert all(n > 0 for n in out.values())
        assert close(out, driver.expected(held))
        assert driver.contents() == out
    if held:
        time = updates[-1][1] + 1
        driver.commit([(row, time, -n) for row, n in held.items()])
    assert (driver.operator.size().rows, driver.operator.size().entries) == (0, 0)
    assert not driver.contents()


@settings(deadline=None, max_examples=60)
@given(worlds())
def test_one_big_step_equals_many_small_ones(world: tuple[Window, list[Update]]) -> None:
    window, updates = world
    if not updates:
        return
    small, big, shuffled = (Driver(window) for _ in range(3))
    apart = [update for batch in by_time(updates) for update in small.commit(batch)]
    together = big.step(updates)
    assert [u[1] for u in together] == sorted(u[1] for u in together)
    assert settled(together) == settled(apart)
    rollback(big.operator)
    assert big.operator.size().rows == 0
    assert settled(big.commit(updates)) == settled(apart)
    mixed = list(updates)
    Random(len(updates)).shuffle(mixed)
    assert settled(shuffled.commit(mixed)) == settled(apart)
    assert big.contents() == small.contents() == shuffled.contents()
