"""Groups against a dictionary: batches that are kept or undone, keys that ascend, fall and come again, lookups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ivm.kernels.groups.table import INDEXED, LIVE, MELTED, OPEN, RUN, USED
from ivm.operators.groups import Groups

Key = tuple[int, ...]


class Model:
    """Groups of one field, the sum of what was added to their key, beside the same in a dictionary."""

    def __init__(self, width: int) -> None:
        self.groups = Groups(width, 1)
        self.width = width
        self.sums: dict[Key, int] = {}
        self.time = 0

    def add(
        self, keys: list[Key], amounts: list[int], *, keep: bool, one_time: bool = True, look: bool = False
    ) -> None:
        """A batch: an amount for each key, in a time of their own each unless `one_time`."""
        n = len(keys)
        words = np.array(keys, np.int64).reshape(n, self.width)
        before_all = self.time
        times: Any = self.time + 1 if one_time or n == 1 else np.arange(self.time + 1, self.time + 1 + n)
        self.time += 1 if one_time else n
        cells = self.groups.open(words, times)
        after = np.zeros((len(cells), 1), np.int64)
        slots = self.groups.state[cells.slot, self.width + 1 :]
        for row, amount in enumerate(amounts):
            after[cells.row_cell[row]] += amount
        for cell in range(len(cells)):
            before = cells.previous[cell]
            after[cell] += after[before] if before >= 0 else slots[cell]
        if look:
            self.check_found(list(self.sums)[:5], before_all, after)
        self.groups.close(after if keep else None)
        if keep:
            for key, amount in zip(keys, amounts, strict=True):
                self.sums[key] = self.sums.get(key, 0) + amount
            self.sums = {key: total for key, total in self.sums.items() if total}

    def check_found(self, keys: list[Key], as_of: int | None = None, after: Any = None) -> None:
        """What these keys have as of a time, None: now; `after` are the fields of an open batch, which is later."""
        if not keys:
            return
        words = np.array(keys, np.int64).reshape(len(keys), self.width)
        positions, fields = self.groups.look_up(words, None, self.time if as_of is None else as_of, after, False)
        wanted = {i: self.sums[key] for i, key in enumerate(keys) if key in self.sums}
        assert dict(zip(positions.tolist(), fields[:, 0].tolist(), strict=True)) == wanted

    def check(self) -> None:
        groups = self.groups
        assert len(groups) == len(self.sums)
        state = groups.state[: groups.used]
        held = {tuple(row[: self.width].tolist()): int(row[-1]) for row in state if row[-1]}
        assert held == self.sums
        assert not state[:, self.width].any(), "no cell is open between batches"
        assert np.count_nonzero(groups._index) == groups._counts[INDEXED]
        run = [tuple(row) for row in state[groups._counts[MELTED] : groups._counts[RUN], : self.width].tolist()]
        assert run == sorted(set(run))
        self.check_found([*self.sums, (10**6,) * self.width, (-1,) * self.width])


@st.composite
def batches(draw: Any, width: int) -> list[tuple[list[Key], list[int], bool, bool]]:
    found, last = [], 0
    for _ in range(draw(st.integers(1, 8))):
        size = draw(st.integers(1, 30))
        if draw(st.integers(0, 2)):
            steps = draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))
            firsts = (last + np.cumsum(steps)).tolist()
            last = firsts[-1]
        else:
            firsts = draw(st.lists(st.integers(0, last + 3), min_size=size, max_size=size))
        keys = [(first, *(0,) * (width - 1)) for first in firsts]
        amounts = draw(st.lists(st.sampled_from([1, 1, 2, -1]), min_size=size, max_size=size))
        found.append((keys, amounts, draw(st.integers(0, 3)) > 0, draw(st.booleans())))
    return found


@pytest.mark.parametrize("width", [1, 2])
@settings(deadline=None)
@given(data=st.data())
def test_groups_are_those_of_a_dictionary(width: int, data: Any) -> None:
    model = Model(width)
    for keys, amounts, keep, one_time in data.draw(batches(width)):
        model.add(keys, amounts, keep=keep, one_time=one_time, look=data.draw(st.booleans()))
        if data.draw(st.booleans()):
            model.check()
    model.check()


def test_keys_that_ascend_need_no_index() -> None:
    model = Model(1)
    for start in range(0, 40_000, 5_000):
        model.add([(k // 2,) for k in range(start, start + 5_000)], [1] * 5_000, keep=True)
    assert len(model.groups) == 20_000
    assert model.groups._counts[INDEXED] == 0
    assert model.groups._counts[OPEN]


def test_a_small_batch_moves_a_small_part_of_the_run() -> None:
    model = Model(1)
    model.add([(k,) for k in range(50_000)], [1] * 50_000, keep=True)
    model.add([(7,), (49_000,), (10_000,)], [1, -1, 5], keep=True)
    assert model.groups._counts[INDEXED] == 2
    model.check_found([(20_000,), (-5,), (10_000,), (49_000,)])
    assert 1_000 <= model.groups._counts[INDEXED] < 2_000
    for k in range(0, 50_000, 100):
        model.add([(k,)], [1], keep=True)
    assert model.groups._counts[MELTED] == model.groups._counts[RUN] == 50_000
    model.check()


def test_an_undone_batch_leaves_the_run_as_it_was() -> None:
    model = Model(1)
    model.add([(k,) for k in range(100)], [1] * 100, keep=True)
    before = model.groups._counts.copy()
    model.add([(k,) for k in range(90, 400)], [1] * 310, keep=False)
    assert [model.groups._counts[i] for i in (USED, LIVE, RUN, OPEN)] == [before[i] for i in (USED, LIVE, RUN, OPEN)]
    model.add([(k,) for k in range(100, 400)], [1] * 300, keep=True)
    assert model.groups._counts[INDEXED] <= 100, "new keys need no index"
    model.check()


def test_groups_that_come_and_go_in_order_take_no_more_slots() -> None:
    model = Model(1)
    for start in range(0, 400_000, 2_000):
        model.add([(k,) for k in range(start, start + 2_000)], [1] * 2_000, keep=True)
        if start >= 10_000:
            model.add([(k,) for k in range(start - 10_000, start - 8_000)], [-1] * 2_000, keep=True)
    assert len(model.groups) == 10_000
    assert model.groups.used < 40_000
    model.check()
