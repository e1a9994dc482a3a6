"""Groups against a dictionary: steps that are sealed or rolled back, keys that ascend, fall and come again, readers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ivm.catalog.types import BIGINT, VARCHAR
from ivm.kernels.groups.block import FREE, LAST_FREE, LIVE, PARTITIONS, USED
from ivm.kernels.groups.slots import ENTRIES
from ivm.trace.keyed.group_reader import GroupReader
from ivm.trace.keyed.group_search import Seen
from ivm.trace.keyed.group_table import Fields
from ivm.trace.keyed.groups import Groups
from ivm.trace.text.dictionary import TextDictionary
from tests.found_groups import found_groups

Key = tuple[int, ...]


def empty_groups(width: int) -> Groups[Fields]:
    """Groups with integer keys and one field."""
    return Groups([(BIGINT, False)] * width, Fields((None,)), TextDictionary())


class Model:
    """Groups of one field, the sum of what was added to their key, beside the same in a dictionary."""

    def __init__(self, width: int) -> None:
        self.groups = empty_groups(width)
        self.width = width
        self.sums: dict[Key, int] = {}
        self.marked: list[tuple[int, dict[Key, int]]] = [(0, {})]
        self.readers: list[tuple[GroupReader[Fields], dict[Key, int]]] = []
        self.time = 0

    def add(
        self, keys: list[Key], amounts: list[int], *, keep: bool = True, one_time: bool = True, look: bool = False
    ) -> None:
        """A step and a seal or a rollback."""
        self.step(keys, amounts, one_time=one_time, look=look)
        if keep:
            self.seal()
        else:
            self.rollback(0)

    def step(self, keys: list[Key], amounts: list[int], *, one_time: bool = True, look: bool = False) -> None:
        """An amount for each key, in a time of their own each unless `one_time`."""
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
        self.groups.put(after)
        if look:
            self.check_found(list(self.sums)[:5], before_all)
        self.sums = dict(self.sums)
        for key, amount in zip(keys, amounts, strict=True):
            self.sums[key] = self.sums.get(key, 0) + amount
        self.marked.append((self.groups.mark(), {key: total for key, total in self.sums.items() if total}))
        self.sums = self.marked[-1][1]

    def seal(self) -> None:
        self.groups.seal(0, 0)
        self.marked = [(0, self.sums)]

    def rollback(self, to: int) -> None:
        """Back to what there was after so many steps."""
        del self.marked[to + 1 :]
        mark, self.sums = self.marked[-1]
        self.groups.rollback(mark)
        self.groups.rollback(mark)

    def hold(self) -> None:
        self.readers.append((self.groups.reader(self.time), self.sums))

    def check_found(self, keys: list[Key], as_of: int | None = None) -> None:
        """What these keys have as of a time, None: now."""
        if not keys:
            return
        words = np.array(keys, np.int64).reshape(len(keys), self.width)
        before = self.groups.version
        found = found_groups(self.groups, words, as_of=self.time if as_of is None else as_of)
        assert self.groups.version == before
        assert found == {i: (self.sums[key],) for i, key in enumerate(keys) if key in self.sums}

    def check_readers(self) -> None:
        """Each shows what there was when it was made, by key and all in all."""
        for reader, sums in self.readers:
            keys = list(dict.fromkeys([*sums, *self.sums, (-1,) * self.width]))
            dropped = np.zeros(len(keys), np.bool_)
            dropped[::7] = True
            words = np.array(keys, np.int64).reshape(len(keys), self.width)
            wanted = {i: (sums[key],) for i, key in enumerate(keys) if key in sums and not dropped[i]}
            assert found_groups(reader, words, dropped) == wanted
            parts = [reader.rows(start, start + 10) for start in range(0, reader.used, 10)]
            rows = [row for part in parts for row in part.tolist() if row[-1]]
            assert {tuple(row[: self.width]): row[-1] for row in rows} == sums

    def check(self) -> None:
        """All there is, where nothing is left to be sealed."""
        groups = self.groups
        state = groups.state[: groups.used]
        held = {tuple(row[: self.width].tolist()): int(row[-1]) for row in state if row[-1]}
        assert held == self.sums
        if not self.readers:
            assert len(groups) == len(self.sums)
        assert not (state[:, self.width] > 0).any(), "no cell is open when all is sealed"
        self.check_slots()
        self.check_found([*self.sums, (10**6,) * self.width, (-1,) * self.width])

    def check_slots(self) -> None:
        """A slot has a group, which the index knows once, by a key of its own; or else it is free, once."""
        groups, block = self.groups, self.groups.block()
        marks = groups.state[: groups.used, self.width]
        size, _, parts, entries = groups.index
        used = int(block[PARTITIONS])
        named = entries[: used * size]
        named = (named[named != 0] & 0xFFFFFFFF) - 1
        assert sorted(named.tolist()) == np.flatnonzero(marks >= 0).tolist()
        assert len(named) == parts[:used, ENTRIES].sum() == len(groups)
        keys = [tuple(key) for key in groups.state[named, : self.width].tolist()]
        assert len(set(keys)) == len(keys)
        free, slot = [], int(block[FREE]) - 1
        while slot >= 0:
            free.append(slot)
            slot = LAST_FREE - int(marks[slot]) - 1
        assert sorted(free) == np.flatnonzero(marks < 0).tolist()

    def restore(self) -> None:
        """Go on with groups that were restored from the segments of these."""
        fresh = empty_groups(self.width)
        segments = list(self.groups.segments())
        fresh.restore(segments)
        slots = self.groups.state[: self.groups.used]
        there = slots[:, -1] != 0
        assert (fresh.state[: fresh.used][there] == slots[there]).all(), "each group keeps its slot"
        self.groups, self.readers = fresh, []
        self.check()


def count_of(model: Model, which: int) -> int:
    return int(model.groups.block()[which])


@st.composite
def batches(draw: Any, width: int) -> list[tuple[list[Key], list[int]]]:
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
        found.append((keys, amounts))
    return found


@pytest.mark.parametrize("width", [1, 2])
@settings(deadline=None)
@given(data=st.data())
def test_groups_are_those_of_a_dictionary(width: int, data: Any) -> None:
    model = Model(width)
    for keys, amounts in data.draw(batches(width)):
        model.step(keys, amounts, one_time=data.draw(st.booleans()), look=data.draw(st.booleans()))
        model.check_readers()
        match data.draw(st.sampled_from(["go on", "seal", "seal", "roll back", "hold", "let go", "restore"])):
            case "seal":
                model.seal()
                model.check()
            case "roll back":
                model.rollback(data.draw(st.integers(0, len(model.marked) - 1)))
            case "hold":
                model.seal()
                model.hold()
            case "let go" if model.readers:
                del model.readers[data.draw(st.integers(0, len(model.readers) - 1))]
            case "restore":
                model.seal()
                model.restore()
        model.check_found(list(model.sums))
        model.check_readers()
    model.seal()
    model.readers.clear()
    model.seal()
    model.check()


def test_what_is_rolled_back_leaves_the_slots_as_they_were() -> None:
    model = Model(1)
    model.add([(k,) for k in range(100)], [1] * 100)
    model.add([(k,) for k in range(0, 100, 3)], [-1] * 34)
    before = [count_of(model, i) for i in (USED, FREE, LIVE)]
    model.add([(k,) for k in range(90, 400)], [1] * 310, keep=False)
    assert [count_of(model, i) for i in (USED, FREE, LIVE)] == before
    model.check()


def test_a_group_that_empties_and_returns_is_there_once() -> None:
    model = Model(1)
    model.add([(k,) for k in range(1, 9)], [1] * 8)
    model.add([(8,)], [-1])
    model.add([(7,)], [-1])
    model.add([(8,)], [1])
    model.add([(7,), (8,)], [1, 1])
    model.check()


def test_groups_that_come_and_go_in_order_take_no_more_slots() -> None:
    model = Model(1)
    for start in range(0, 100_000, 2_000):
        model.add([(k,) for k in range(start, start + 2_000)], [1] * 2_000)
        if start >= 10_000:
            model.add([(k,) for k in range(start - 10_000, start - 8_000)], [-1] * 2_000)
    assert len(model.groups) == 10_000
    assert model.groups.used < 40_000
    model.check()


def test_the_index_grows_by_a_few_partitions_at_a_time() -> None:
    model = Model(1)
    numbers = np.random.default_rng(3).permutation(200_000).tolist()
    most = 0
    for start in range(0, 200_000, 1_000):
        before = count_of(model, PARTITIONS)
        model.add([(k,) for k in numbers[start : start + 1_000]], [1] * 1_000)
        most = max(most, count_of(model, PARTITIONS) - before)
    assert count_of(model, PARTITIONS) > 64
    assert most < 32
    model.check()


def test_readers_are_right_while_groups_grow_go_and_come_back() -> None:
    model = Model(1)
    model.add([(k * 3 % 1_000,) for k in range(900)], [1] * 900)
    model.hold()
    model.add([(k,) for k in range(500)], [5] * 500)
    model.hold()
    model.step([(k * 7,) for k in range(5_000)], [2] * 5_000)
    model.step([(k * 7,) for k in range(5_000)], [-2] * 5_000)
    model.check_readers()
    model.rollback(1)
    model.check_readers()
    model.seal()
    model.check_readers()
    model.add(list(model.sums), [-total for total in model.sums.values()])
    assert not model.sums
    model.check_readers()
    assert model.groups.size().rows > 0, "what readers see is still there"
    model.readers.clear()
    for _ in range(5):
        model.seal()
    assert len(model.groups) == 0


def test_keys_are_saved_as_texts() -> None:
    groups, other = (
        Groups([(VARCHAR, True), (BIGINT, False)], Fields((None, VARCHAR)), dictionary)
        for dictionary in (TextDictionary(), TextDictionary())
    )
    for dictionary_of, texts in ((groups, ["b", "a", "c"]), (other, ["x", "c", "b"])):
        dictionary_of._keys.dictionary.codes(texts)
    codes = groups._keys.dictionary.codes(["b", "a", "c"])
    words = np.array([[code, number] for number, code in enumerate(codes.tolist())], np.int64)
    groups.open(words, 1)
    groups.put(np.stack([[1, 2, 3], codes[[2, 1, 0]]], axis=1).astype(np.int64))
    groups.seal(0, 0)
    other.restore(list(groups.segments()))
    codes = other._keys.dictionary.codes(["b", "a", "c"])
    words[:, 0] = codes
    assert found_groups(other, words, as_of=1) == {0: (1, codes[2]), 1: (2, codes[1]), 2: (3, codes[0])}


def test_who_reads_while_somebody_writes_reads_again() -> None:
    model = Model(1)
    model.add([(k,) for k in range(100)], [1] * 100)
    model.hold()
    (reader, _), seen = model.readers[0], list[int]()

    def find(_: Seen) -> dict[int, tuple[int, ...]]:
        found = found_groups(reader, np.arange(300).reshape(-1, 1)) if seen else {}
        seen.append(len(found))
        if len(seen) < 3:  # the table grows, and what is read is gone
            model.add([(k,) for k in range(100 * len(seen), 5000 * len(seen))], [7] * (4900 * len(seen)))
            model.add([(k,) for k in range(100)], [-1] * 100)
        return found

    assert reader.read(find) == dict.fromkeys(range(100), (1,))
    assert seen == [0, 100, 100]
    model.check_readers()


@pytest.mark.parametrize("width", [1, 2, 3])
@pytest.mark.parametrize("few", [1, 5, 40])
@pytest.mark.parametrize("one_time", [True, False])
def test_many_rows_of_few_groups(width: int, few: int, one_time: bool) -> None:
    """Rows are told by rows before them, in one table with such as are each a group of its own, in stretches or mixed."""
    model, random = Model(width), np.random.default_rng(few + width)
    for step in range(8):
        keys = random.integers(0, few, 700)
        if step % 4 == 1:
            keys[200:500] = random.integers(0, 10**6, 300)
        elif step % 4 == 2:
            keys[::3] = np.repeat(random.integers(0, 10**6, 60), 4)[:234]
        amounts = [1 if random.random() < 0.6 else -1 for _ in keys]
        wide = [tuple(int(key) * (w + 1) - w for w in range(width)) for key in keys]
        model.add(wide, amounts, keep=step % 3 != 2, one_time=one_time)
        model.check()


@pytest.mark.parametrize("width", [1, 2])
def test_each_group_has_a_cell_for_each_time(width: int) -> None:
    random = np.random.default_rng(width)
    for few, apart in [(3, 50), (30, 7), (2, 500), (10**6, 100)]:
        words = np.stack([random.integers(0, few, 500)] * width, axis=1)
        times = np.repeat(np.arange(10), 500 // 10) if apart == 50 else np.sort(random.integers(0, apart, 500))
        cells = empty_groups(width).open(words, times)
        pairs = list(zip(words[:, 0].tolist(), times.tolist(), strict=True))
        found = set(zip(pairs, cells.row_cell.tolist(), strict=True))
        assert len(found) == len(set(pairs)) == len(cells)
