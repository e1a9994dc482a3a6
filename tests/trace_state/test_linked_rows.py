"""Rows that come to a collection by one call, its indexes included, against a dict, and undone at any place."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ivm.catalog.errors import ConstraintError
from ivm.catalog.schema import Field, Table
from ivm.catalog.types import BIGINT, INTEGER, Physical
from ivm.kernels.hashing.block import FOLLOWED, LINKED, NONE, OWES, ROWS
from ivm.trace.columns.column import Column
from ivm.trace.delta import delta_of
from ivm.trace.index.arrangement import Arrangement
from ivm.trace.index.index import Index
from ivm.trace.index.keys import KeyLayout
from ivm.trace.rows.rows import DerivedRows
from ivm.trace.rows.table_store import TableStore
from ivm.trace.text.dictionary import TextDictionary
from tests.trace_state.run_invariant import chains_of

KEYS = {
    "one word": ((Physical.INT64, True),),
    "two words": ((Physical.INT64, True), (Physical.INT64, True)),
    "four words": ((Physical.INT64, True),) * 4,
}


def derived(kind: str) -> DerivedRows[Arrangement]:
    layout = KeyLayout(KEYS[kind], nulls="drop")
    types = [BIGINT] * len(KEYS[kind])
    return DerivedRows([*types, INTEGER], TextDictionary(), lambda store: Arrangement(store, range(len(types)), layout))


def delta(keys: Sequence[int | None], width: int, time: int, diff: int = 1):
    """Rows of these keys, the first column of `width` that may be NULL, with what they are as their last column."""
    numbers = np.array([0 if key is None else key for key in keys], np.int64)
    valid = np.array([key is not None for key in keys], np.bool_)
    first = Column(numbers, None if valid.all() else valid)
    columns = [first, *(Column(numbers // 3) for _ in range(width - 1)), Column(numbers.astype(np.int32))]
    return delta_of(columns, time, None if diff == 1 else np.full(len(keys), diff, np.int64))


def check(rows: DerivedRows[Arrangement], there: Sequence[int | None], time: int) -> None:
    """Each key finds the rows that have it, as of a time, and no others."""
    arranged = rows.arranged
    keys = sorted({key for key in there if key is not None} | {-1, 7})
    columns = delta(list(keys), len(arranged.key), time).columns()[:-1]
    words, dropped = arranged.layout.pack(columns, len(keys))
    positions, found = arranged.probe(words, dropped, time, True)
    values = rows.store.columns.column(len(arranged.key)).values[found]
    assert sorted(zip(positions.tolist(), values.tolist(), strict=True)) == sorted(
        (keys.index(key), key) for key in there if key is not None
    )


COMING = st.lists(st.one_of(st.integers(0, 40), st.integers(0, 10**6), st.none()), min_size=1, max_size=30)
STEP = st.tuples(st.sampled_from(["come", "come", "come", "go", "many", "ascend"]), COMING)
COMMIT = st.tuples(st.lists(STEP, min_size=1, max_size=3), st.sampled_from(["seal", "seal", "undo", "half"]))


@pytest.mark.parametrize("kind", KEYS)
@example([([("many", [5])], "undo"), ([("come", [5, 5, 1]), ("many", [3])], "half"), ([("come", [2])], "seal")])
@given(commits=st.lists(COMMIT, min_size=1, max_size=8))
def test_each_key_has_its_rows_whatever_was_undone(kind: str, commits) -> None:
    rows, there, width = derived(kind), list[int | None](), len(KEYS[kind])
    block = rows.arranged.block
    for time, (steps, end) in enumerate(commits, 1):
        first, kept, half, size = rows.mark(), list(there), None, rows.size()
        for what, keys in steps:
            if end == "half":
                half, kept = rows.mark(), list(there)
            if what == "go":
                gone, there = there[: len(keys)], there[len(keys) :]
                if gone:
                    rows.apply(delta(gone, width, time, -1))
                continue
            come = keys
            if what == "many":
                come = [(keys[0] or 0) + 17 * each % 911 for each in range(600)]
            elif what == "ascend":
                come = sorted(key for key in keys if key is not None)
            if come:
                rows.apply(delta(come, width, time))
                there += come
            assert block[ROWS] == rows.store.rows
        if end != "seal":
            rows.rollback(first if half is None else half)
            there = kept
        if end == "undo":
            assert rows.size().rows == size.rows
            assert block[LINKED] == NONE
            assert block[FOLLOWED] <= rows.store.rows
            chains = chains_of(rows.arranged.index)
            assert all(row < rows.store.rows for chain in chains.values() for row in chain)
        check(rows, there, time)
        rows.seal(time + 1, time)
        assert block[LINKED] == NONE
        check(rows, there, time)


def test_rows_without_columns_come_too() -> None:
    rows = DerivedRows([], TextDictionary(), lambda store: Arrangement(store, (), KeyLayout((), nulls="drop")))
    for time in (1, 2):
        rows.apply(delta_of([], time, None, 3))
        rows.seal(time + 1, time)
    words, dropped = rows.arranged.layout.pack([], 1)
    assert sorted(rows.arranged.probe(words, dropped, 2, True)[1].tolist()) == [*range(6)]


def test_few_rows_that_come_owe_nothing_and_are_indexed_in_their_call(monkeypatch) -> None:
    rows, there = derived("one word"), list(range(400, 0, -1))
    rows.apply(delta(there, 1, 1))
    rows.seal(2, 1)
    monkeypatch.setattr(Arrangement, "catch_up", lambda self, most=None: pytest.fail("all was done by one call"))
    for time in range(2, 5):
        rows.apply(delta([8, 4, 2], 1, time))
        assert rows.arranged.block[LINKED] == rows.store.rows - 3
        assert not rows.arranged.block[OWES]
        rows.seal(time + 1, time)
    check(rows, there + 3 * [8, 4, 2], 4)


def test_memory_that_is_refused_leaves_rows_that_can_be_undone(monkeypatch) -> None:
    rows, there = derived("one word"), [5, 3, 8]
    rows.apply(delta(there, 1, 1))
    rows.seal(2, 1)
    mark = rows.mark()
    rows.apply(delta([3, 1], 1, 2))

    def refused(*_):
        raise MemoryError

    monkeypatch.setattr("ivm.trace.index.chains.Chains.ensure", refused)
    with pytest.raises(MemoryError):
        rows.apply(delta(list(range(500, 0, -1)), 1, 2))
    rows.rollback(mark)
    monkeypatch.undo()
    rows.seal(3, 2)
    check(rows, there, 2)
    rows.apply(delta([3, 1], 1, 3))
    check(rows, [*there, 3, 1], 3)


TABLE = Table("t", (Field("a", BIGINT, False), Field("b", INTEGER), Field("c", INTEGER, False)), ("a", "c"))
COMES = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 1)), min_size=1, max_size=6)
STEPS = st.lists(st.tuples(st.sampled_from(["come", "come", "go", "ascend"]), COMES), min_size=1, max_size=3)


def batch(keys: Sequence[tuple[int, int]]) -> pa.RecordBatch:
    """Rows of these keys of a table, with what they are as another column."""
    numbers = [pa.array([each[place] for each in keys], type_) for place, type_ in ((0, pa.int64()), (1, pa.int32()))]
    others = pa.array([None if a % 5 == 4 else a // 2 for a, _ in keys], pa.int32())
    return pa.record_batch([numbers[0], others, numbers[1]], ["a", "b", "c"])


@example([([("come", [(7, 0)]), ("come", [(3, 0)])], "seal"), ([("come", [(9, 0), (3, 0)])], "seal"),
          ([("come", [(9, 0)])], "seal")])  # fmt: skip
@example([([("come", [(7, 0)]), ("come", [(3, 0)])], "seal"), ([("come", [(9, 0), (9, 0)])], "seal"),
          ([("come", [(9, 0)])], "seal")])  # fmt: skip
@given(st.lists(st.tuples(STEPS, st.sampled_from(["seal", "seal", "undo"])), min_size=1, max_size=8))
def test_rows_of_a_table_are_new_or_refused_and_all_of_its_indexes_find_them(commits) -> None:
    store = TableStore(TABLE, TextDictionary())
    others = [store.arrangement((1,)), store.arrangement((2,)), store.arrangement((2, 0))]
    there = dict[tuple[int, int], None]()
    for time, (steps, end) in enumerate(commits, 1):
        mark, kept = store.mark(), dict(there)
        for what, given_keys in steps:
            keys = sorted(set(given_keys)) if what == "ascend" else given_keys
            if what == "go":
                gone = [key for key in dict.fromkeys(keys) if key in there]
                if gone:
                    store.apply(batch(gone), np.full(len(gone), -1, np.int64), time)
                    there = {key: None for key in there if key not in gone}
                continue
            if there.keys() & set(keys) or len(set(keys)) < len(keys):
                with pytest.raises(ConstraintError):
                    store.apply(batch(keys), None, time)
                continue
            store.apply(batch(keys), None, time)
            there |= dict.fromkeys(keys)
            if time % 2:
                for each in others:
                    each.catch_up()
        if end == "undo":
            store.rollback(mark)
            there = kept
        for each in others:
            each.catch_up()
        for each in store.arrangements():
            found = [key for key in there if None not in (wanted := wanted_of(each, key))]
            for key in found:
                wanted = wanted_of(each, key)
                words, dropped = each.layout.pack([Column(np.array([part])) for part in wanted], 1)
                rows = each.probe(words, dropped, time, True)[1]
                twins = sorted(twin for twin in there if wanted_of(each, twin) == wanted)
                assert sorted(zip(*(store.store.gather(c, rows).values.tolist() for c in (0, 2)), strict=True)) == twins
        store.seal(time + 1, time)
        assert all(each.block[LINKED] == NONE for each in store.arrangements())


def wanted_of(arranged: Arrangement, key: tuple[int, int]) -> list[int | None]:
    """What the row of a key has in the columns of an arrangement."""
    a, c = key
    return [(a, None if a % 5 == 4 else a // 2, c)[column] for column in arranged.key]


def test_keys_that_do_not_ascend_are_indexed_in_the_call_that_brings_them(monkeypatch) -> None:
    store = TableStore(TABLE, TextDictionary())
    others = [store.arrangement((2,)), store.arrangement((0,))]
    for time in (1, 2, 3):
        store.apply(batch([(9 - time, 0), (8 - time, 1)]), None, time)
        for each in others:
            each.catch_up()
        store.seal(time + 1, time)
        if time == 2:
            monkeypatch.setattr(Index, "_note", lambda *_: pytest.fail("all was done by one call"))
    assert [each.index.rows for each in store.arrangements()] == [6, 6, 6]


def test_rows_that_take_the_place_of_others_are_indexed_in_the_call_that_brings_them() -> None:
    store = TableStore(TABLE, TextDictionary())
    others = [store.arrangement((2,)), store.arrangement((2, 0))]
    for time in range(1, 5):
        store.apply(batch([(9 - time, 0), (8, 1)]), None, time, mode="upsert")
        if time > 2:
            assert [each.index.rows for each in others] == [store.store.rows] * 2
        for each in others:
            each.catch_up()
        store.seal(time + 1, time)
