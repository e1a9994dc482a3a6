"""Base tables against a dictionary and a Counter: contents, deltas, errors and undo, with many times in a batch."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.errors import ConstraintError
from catalog.schema import Field, Table
from catalog.types import BIGINT, INTEGER, VARCHAR, decimal
from ivm.trace.arrow import to_arrow
from ivm.trace.dictionary import TextDictionary
from ivm.trace.row_store import Batch, RowStore
from ivm.trace.table_store import TableStore

FIELDS = (
    Field("a", BIGINT, False),
    Field("b", INTEGER, False),
    Field("name", VARCHAR),
    Field("price", decimal(15, 2)),
)
KEYED = Table("t", FIELDS, ("a", "b"))
MULTISET = Table("m", FIELDS)


def arrow_of(rows):
    columns = list(zip(*rows, strict=True)) if rows else [[]] * 4
    types = [pa.int64(), pa.int32(), pa.string(), pa.decimal128(15, 2)]
    arrays = [
        pa.array(list(c), pa.int64() if i == 3 else t) for i, (c, t) in enumerate(zip(columns, types, strict=True))
    ]
    arrays[3] = arrays[3].cast(pa.decimal128(19, 0)).cast(pa.decimal128(21, 2)).cast(types[3])
    return pa.table(arrays, names=[f.name for f in FIELDS])


def rows_of(table):
    """The rows as tuples, prices as whole numbers."""
    columns = [table.column(i).to_pylist() for i in range(3)]
    prices = [None if p is None else int(p) for p in table.column(3).to_pylist()]
    return list(zip(*columns, prices, strict=True))


def updates_of(delta, dictionary):
    if delta is None:
        return []
    assert list(delta.time_array()) == sorted(delta.time_array())
    columns = [to_arrow(delta.column(i), f.type, dictionary) for i, f in enumerate(FIELDS)]
    rows = rows_of(pa.table(columns, names=[f.name for f in FIELDS]))
    return list(zip(rows, delta.time_array().tolist(), delta.diff_array().tolist(), strict=True))


class Refused(Exception):
    pass


def apply_keyed(contents, changes, mode):
    """The dictionary after `changes` (row, time, diff), and the net updates; Refused if one cannot be."""
    contents = dict(contents)
    updates = Counter()
    singles = [(time, diff > 0, i, row) for i, (row, time, diff) in enumerate(changes) for _ in range(abs(diff))]
    for time, insert, _, row in sorted(singles, key=lambda s: s[:3]):
        key = row[:2]
        old = contents.pop(key, None)
        if insert == (old is not None) and not (insert and mode == "upsert"):
            raise Refused
        if old is not None:
            updates[old, time] -= 1
        if insert:
            contents[key] = row
            updates[row, time] += 1
    return contents, {u: d for u, d in updates.items() if d}


def apply_multiset(contents, changes):
    contents = Counter(contents)
    updates = Counter()
    for row, time, diff in sorted(changes, key=lambda c: (c[1], c[2] > 0)):
        contents[row] += diff
        updates[row, time] += diff
        if contents[row] < 0:
            raise Refused
    return +contents, {u: d for u, d in updates.items() if d}


def net(updates):
    total = Counter()
    for row, time, diff in updates:
        total[row, time] += diff
    return {u: d for u, d in total.items() if d}


ROW = st.tuples(
    st.integers(0, 5), st.integers(0, 2), st.sampled_from([None, "", "x", "a longer text"]), st.integers(0, 1)
)
CHANGE = st.tuples(ROW, st.integers(0, 3), st.sampled_from([1, 1, 1, 1, -1, -1, 0, 2]))
BATCH = st.tuples(
    st.lists(CHANGE, min_size=1, max_size=8), st.sampled_from(["diff", "upsert"]), st.booleans(), st.booleans()
)


def run(store, batch, time, one_time):
    rows, times, diffs = zip(*batch, strict=True)
    moments = time if one_time else np.array(times, np.int64) + time
    changes = [(r, time if one_time else time + t, d) for r, t, d in batch]
    return changes, lambda mode: store.apply(arrow_of(rows), np.array(diffs, np.int64), moments, mode)


@given(batches=st.lists(BATCH, max_size=12), hot=st.booleans())
def test_a_keyed_table_is_a_dictionary(batches, hot):
    dictionary = TextDictionary()
    store = TableStore(KEYED, dictionary)
    if hot:
        store.arrangement((2,))
    contents = {}
    time = 0
    history = {0: {}}
    for batch, mode, one_time, keep in batches:
        time += 10
        changes, go = run(store, batch, time, one_time)
        try:
            expected, updates = apply_keyed(contents, changes, mode)
        except Refused:
            with pytest.raises(ConstraintError):
                go(mode)
        else:
            delta = go(mode)
            assert net(updates_of(delta, dictionary)) == updates
            if keep:
                contents = expected
        if keep:
            store.commit(0)
        else:
            store.abort()
        history[time + 9] = contents
        assert sorted(rows_of(store.arrow()), key=repr) == sorted(contents.values(), key=repr)
        assert store.rows == len(contents)
    for moment, then in history.items():
        assert sorted(rows_of(store.arrow(moment)), key=repr) == sorted(then.values(), key=repr)
    assert_arrangements_agree(store, time + 9)


@given(batches=st.lists(BATCH, max_size=12))
def test_a_table_without_a_key_is_a_multiset(batches):
    dictionary = TextDictionary()
    store = TableStore(MULTISET, dictionary)
    contents = Counter()
    time = 0
    for batch, _, one_time, keep in batches:
        time += 10
        changes, go = run(store, batch, time, one_time)
        try:
            expected, updates = apply_multiset(contents, changes)
        except Refused:
            with pytest.raises(ConstraintError):
                go("diff")
        else:
            assert net(updates_of(go("diff"), dictionary)) == updates
            if keep:
                contents = expected
        if keep:
            store.commit(time + 9)
        else:
            store.abort()
        assert Counter(rows_of(store.arrow())) == contents


@given(batches=st.lists(BATCH, min_size=1, max_size=6))
def test_several_batches_of_one_commit_are_undone_together(batches):
    dictionary = TextDictionary()
    store = TableStore(KEYED, dictionary)
    store.arrangement((0,))
    store.apply(arrow_of([(a, 0, "first", a) for a in range(4)]), None, 1)
    store.commit(1)
    before = rows_of(store.arrow())
    for batch, mode, _, _ in batches:
        _, go = run(store, batch, 5, True)
        try:
            go(mode)
        except ConstraintError:
            continue
        store.arrangement((0,)).catch_up()
    store.abort()
    assert rows_of(store.arrow()) == before
    assert_arrangements_agree(store, 99)
    store.apply(arrow_of([(9, 9, "after", 1)]), None, 5)
    store.commit(5)
    assert rows_of(store.arrow()) == [*before, (9, 9, "after", 1)]
    assert_arrangements_agree(store, 99)


def assert_arrangements_agree(store, time):
    """Each arrangement finds, for each living row, the rows of its key and no others."""
    died = store.store.died
    live = [r for r in range(store.store.rows) if len(died) == 0 or died[r] > time]
    for arrangement in store.arrangements():
        columns = [store.store.column(c).take(np.array(live, np.int64)) for c in arrangement.key]
        words, dropped = arrangement.layout.pack(columns, len(live))
        positions, rows = arrangement.probe(words, dropped, time, True)
        found = sorted(zip(positions.tolist(), rows.tolist(), strict=True))
        keys = [tuple(w) for w in words.reshape(-1, arrangement.layout.words).tolist()]
        usable = [dropped is None or not dropped[i] for i in range(len(live))]
        expected = sorted(
            (i, live[j])
            for i in range(len(live))
            for j in range(len(live))
            if usable[i] and usable[j] and keys[i] == keys[j]
        )
        assert found == expected


def test_ascending_batches_and_then_anything():
    dictionary = TextDictionary()
    store = TableStore(KEYED, dictionary)
    for batch in range(20):
        store.apply(arrow_of([(batch * 100 + i, 0, "x", 0) for i in range(100)]), None, batch + 1)
        store.commit(batch + 1)
    assert store.arrangements()[0].index.backlog == 2000
    delta = store.apply(
        arrow_of([(5, 0, "x", 0), (5, 0, "new", 1), (1999, 0, "x", 0)]), np.array([-1, 1, -1]), np.array([30, 31, 32])
    )
    assert updates_of(delta, dictionary) == [
        ((5, 0, "x", 0), 30, -1),
        ((5, 0, "new", 1), 31, 1),
        ((1999, 0, "x", 0), 32, -1),
    ]
    with pytest.raises(ConstraintError, match=r"insert into table t.*PRIMARY KEY \(a, b\) = \(700, 0\), \(5, 0\)"):
        store.apply(arrow_of([(5000, 0, "", 0), (700, 0, "x", 0), (5, 0, "x", 0)]), None, 33)
    with pytest.raises(ConstraintError, match=r"delete from table t: it has no row with .* = \(1999, 0\)"):
        store.apply(arrow_of([(1999, 0, "x", 0)]), np.array([-1]), 33)
    store.commit(33)
    assert store.rows == 1999
    assert_arrangements_agree(store, 33)


def test_a_delete_names_its_row_by_the_key_alone():
    dictionary = TextDictionary()
    store = TableStore(KEYED, dictionary)
    store.apply(arrow_of([(1, 1, "x", 1), (2, 2, "y", 2)]), None, 1)
    keys = pa.table({"b": pa.array([2], pa.int32()), "a": pa.array([2], pa.int64())})
    assert updates_of(store.apply(keys, np.array([-1]), 2), dictionary) == [((2, 2, "y", 2), 2, -1)]
    with pytest.raises(ConstraintError, match=r"has no row with PRIMARY KEY \(a, b\) = \(2, 2\)"):
        store.apply(keys, np.array([-1]), 3)


def test_a_row_that_comes_and_goes_within_a_batch_shows_at_both_times():
    dictionary = TextDictionary()
    store = TableStore(KEYED, dictionary)
    row = (1, 1, "x", 1)
    delta = store.apply(arrow_of([row, row]), np.array([-1, 1]), np.array([8, 7]))
    assert updates_of(delta, dictionary) == [(row, 7, 1), (row, 8, -1)]
    store.commit(0)
    assert rows_of(store.arrow(7)) == [row]
    assert rows_of(store.arrow(6)) == rows_of(store.arrow(8)) == []


def test_time_does_not_run_backwards():
    store = TableStore(KEYED, TextDictionary())
    store.apply(arrow_of([(1, 1, "x", 1)]), None, 5)
    with pytest.raises(ValueError, match="order of time"):
        store.apply(arrow_of([(2, 1, "x", 1)]), None, 4)
    store.abort()
    store.apply(arrow_of([(2, 1, "x", 1)]), None, 4)


def test_reading_a_delta_leaves_cold_columns_cold():
    dictionary = TextDictionary()
    store = TableStore(KEYED, dictionary)
    store.apply(arrow_of([(1, 1, "x", 1), (2, 2, "y", 2)]), None, 1).columns()
    store.apply(arrow_of([(1, 1, "z", 1)]), None, 2, "upsert").columns()
    for delta in store.contents(2):
        delta.columns()
    assert [store.store.is_hot(i) for i in range(4)] == [True, True, False, False]


def test_contents_come_in_chunks():
    store = TableStore(MULTISET, TextDictionary())
    rows = [(i, 0, None, 0) for i in range(70_000)]
    store.apply(arrow_of(rows), None, 1)
    store.commit(1)
    assert [len(delta) for delta in store.contents(5)] == [65_536, 4_464]
    store.apply(arrow_of(rows[:10]), np.full(10, -1), 2)
    store.commit(2)
    chunks = list(store.contents(5))
    assert [len(delta) for delta in chunks] == [65_536, 4_454]
    assert np.concatenate([d.column(0).values for d in chunks]).tolist() == list(range(10, 70_000))


def test_compaction_drops_the_dead_and_loses_nothing():
    dictionary = TextDictionary()
    store = TableStore(KEYED, dictionary)
    by_name = store.arrangement((2,))
    rows = 160_000
    store.apply(arrow_of([(i, 0, f"n{i % 1000}", i % 7) for i in range(rows)]), None, 1)
    store.commit(1)
    gone = np.flatnonzero(np.arange(rows) % 4 != 0)
    doomed = pa.table({"a": pa.array(gone), "b": pa.array(np.zeros(len(gone), np.int32))})
    delta = store.apply(doomed, np.full(len(gone), -1), 2)
    by_name.catch_up()
    store.commit(2)
    assert delta.column(0).values.tolist() == gone.tolist()
    delta = store.apply(arrow_of([(4, 0, "changed", 1)]), None, 3, "upsert")
    assert updates_of(delta, dictionary) == [((4, 0, "n4", 4), 3, -1), ((4, 0, "changed", 1), 3, 1)]
    assert store.store.rows == rows // 4 + 1
    store.abort()
    left = rows_of(store.arrow())
    assert left == [(i, 0, f"n{i % 1000}", i % 7) for i in range(0, rows, 4)]
    words, dropped = by_name.layout.pack([store.store.column(2).take(np.arange(3))])
    positions, found = by_name.probe(words, dropped, 3, True)
    assert np.bincount(positions).tolist() == [rows // 1000] * 3
    assert set(store.store.column(2).take(found[positions == 1]).values) == {store.store.column(2).values[1]}
    with pytest.raises(ConstraintError):
        store.apply(arrow_of([(8, 0, "again", 1)]), None, 4)
    store.apply(arrow_of([(9, 0, "again", 1)]), None, 4)


def test_many_small_batches_are_put_together():
    store = TableStore(MULTISET, TextDictionary())
    for i in range(600):
        store.apply(arrow_of([(i, 0, f"text {i}", i)]), None, i + 1)
        store.commit(i + 1)
    assert len(list(store.store._columns[2].parts())) < 60
    assert [row[2] for row in rows_of(store.arrow())] == [f"text {i}" for i in range(600)]


def test_text_may_come_in_any_encoding():
    store = RowStore([VARCHAR], TextDictionary())
    plain = pa.array(["a", None, "b"])
    for time, text in enumerate([plain, plain.dictionary_encode(), plain.cast(pa.large_string())]):
        store.append(Batch(pa.table([text], names=["x"]), [VARCHAR], TextDictionary()), 3, time)
    assert store.arrow(["x"]).column(0).to_pylist() == ["a", None, "b"] * 3
    store.column(0)
    assert store.arrow(["x"]).column(0).to_pylist() == ["a", None, "b"] * 3


def test_arrangements_are_shared_and_go_with_their_last_user():
    store = TableStore(KEYED, TextDictionary())
    first = store.arrangement((2,))
    assert store.arrangement((2,)) is first
    assert [a.key for a in store.arrangements()] == [(0, 1), (2,)]
    store.release((2,))
    store.release((2,))
    assert [a.key for a in store.arrangements()] == [(0, 1)]
    store.arrangement((0, 1))
    store.release((0, 1))
    assert [a.key for a in store.arrangements()] == [(0, 1)]


def test_sizes_follow_the_contents():
    store = TableStore(KEYED, TextDictionary())
    store.apply(arrow_of([(i, 0, "x", 0) for i in range(1000)]), None, 1)
    store.commit(1)
    assert store.size().rows == store.size().entries == 1000
    before = store.size().bytes
    store.apply(arrow_of([(i + 1000, 0, "x", 0) for i in range(1000)]), None, 2)
    assert store.size().bytes > before
    store.abort()
    assert store.size().rows == 1000
    assert store.size().bytes == before
