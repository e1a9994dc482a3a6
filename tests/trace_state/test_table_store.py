"""Base tables: what they refuse, what they show of one batch, cold columns, compaction, sizes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from ivm.catalog.errors import ConstraintError, Error
from ivm.catalog.schema import Field, Table
from ivm.catalog.types import BIGINT, BOOLEAN, VARCHAR
from ivm.trace.columns.arrow import arrow_type
from ivm.trace.columns.batch import Batch, Reader, Readers
from ivm.trace.delta import Delta
from ivm.trace.rows import compaction, row_store
from ivm.trace.rows.row_store import RowStore
from ivm.trace.rows.table_store import TableStore
from ivm.trace.text.dictionary import TextDictionary
from tests.trace_state.tables import KEYED, MULTISET, arrow_of, assert_arrangements_agree, rows_of, updates_of


def changed(delta: Delta | None) -> Delta:
    assert delta is not None
    return delta


def test_ascending_batches_and_then_anything():
    dictionary = TextDictionary()
    store = TableStore(KEYED, dictionary)
    for batch in range(20):
        store.apply(arrow_of([(batch * 100 + i, 0, "x", 0) for i in range(100)]), None, batch + 1)
        store.seal(batch + 2, batch + 1)
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
    store.seal(34, 33)
    assert store.count == 1999
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
    store.seal(8, -1)
    assert rows_of(store.arrow(7)) == [row]
    assert rows_of(store.arrow(6)) == rows_of(store.arrow(8)) == []


def test_time_does_not_run_backwards():
    store = TableStore(KEYED, TextDictionary())
    mark = store.mark()
    store.apply(arrow_of([(1, 1, "x", 1)]), None, 5)
    with pytest.raises(ValueError, match="order of time"):
        store.apply(arrow_of([(2, 1, "x", 1)]), None, 4)
    store.rollback(mark)
    store.apply(arrow_of([(2, 1, "x", 1)]), None, 4)


def test_reading_a_delta_leaves_cold_columns_cold():
    dictionary = TextDictionary()
    store = TableStore(KEYED, dictionary)
    changed(store.apply(arrow_of([(1, 1, "x", 1), (2, 2, "y", 2)]), None, 1)).columns()
    changed(store.apply(arrow_of([(1, 1, "z", 1)]), None, 2, "upsert")).columns()
    store.seal(3, 2)
    for delta in store.contents(2):
        delta.columns()
    assert [(store.store.columns.piece(i) is not None) for i in range(4)] == [False, False, False, False]


def test_contents_come_in_chunks():
    store = TableStore(MULTISET, TextDictionary())
    rows = [(i, 0, None, 0) for i in range(70_000)]
    store.apply(arrow_of(rows), None, 1)
    store.seal(2, 1)
    assert [len(delta) for delta in store.contents(5)] == [16_384] * 4 + [4_464]
    store.apply(arrow_of(rows[:10]), np.full(10, -1), 2)
    store.seal(3, 2)
    chunks = list(store.contents(5))
    assert [len(delta) for delta in chunks] == [16_374, 16_384, 16_384, 16_384, 4_464]
    assert np.concatenate([d.column(0).values for d in chunks]).tolist() == list(range(10, 70_000))


def test_compaction_drops_the_dead_and_loses_nothing():
    dictionary = TextDictionary()
    store = TableStore(KEYED, dictionary)
    by_name = store.arrangement((2,))
    rows = 160_000
    store.apply(arrow_of([(i, 0, f"n{i % 1000}", i % 7) for i in range(rows)]), None, 1)
    store.seal(2, 1)
    gone = np.flatnonzero(np.arange(rows) % 4 != 0)
    doomed = pa.table({"a": pa.array(gone), "b": pa.array(np.zeros(len(gone), np.int32))})
    died = changed(store.apply(doomed, np.full(len(gone), -1), 2))
    by_name.catch_up()
    store.seal(3, 2)
    assert died.column(0).values.tolist() == gone.tolist()
    mark = store.mark()
    delta = store.apply(arrow_of([(4, 0, "changed", 1)]), None, 3, "upsert")
    assert updates_of(delta, dictionary) == [((4, 0, "n4", 4), 3, -1), ((4, 0, "changed", 1), 3, 1)]
    assert store.store.rows == rows // 4 + 1
    store.rollback(mark)
    left = rows_of(store.arrow())
    assert left == [(i, 0, f"n{i % 1000}", i % 7) for i in range(0, rows, 4)]
    words, dropped = by_name.layout.pack([store.store.columns.column(2).take(np.arange(3))])
    positions, found = by_name.probe(words, dropped, 3, True)
    assert np.bincount(positions).tolist() == [rows // 1000] * 3
    assert set(store.store.columns.column(2).take(found[positions == 1]).values) == {
        store.store.columns.column(2).values[1]
    }
    with pytest.raises(ConstraintError):
        store.apply(arrow_of([(8, 0, "again", 1)]), None, 4)
    store.apply(arrow_of([(9, 0, "again", 1)]), None, 4)


def test_many_small_batches_are_put_together():
    store = TableStore(MULTISET, TextDictionary())
    for i in range(600):
        store.apply(arrow_of([(i, 0, f"text {i}", i)]), None, i + 1)
        store.seal(i + 2, i + 1)
    assert store.store.columns.piece(2) is None
    assert len(store.arrow().column(2).chunks) < 60
    assert [row[2] for row in rows_of(store.arrow())] == [f"text {i}" for i in range(600)]


def test_text_and_truth_values_may_leave_the_batches_one_after_the_other():
    types = [VARCHAR, BOOLEAN, BIGINT, VARCHAR]
    dictionary = TextDictionary()
    names = list("abcd")

    def batch_of(rows: list[tuple[str | None, bool, int, str]]) -> Batch:
        arrays = [pa.array(list(c), arrow_type(t)) for c, t in zip(zip(*rows, strict=True), types, strict=True)]
        return Batch(pa.table(arrays, names=names), Readers([Reader(t, dictionary) for t in types]))

    def stored(store: RowStore) -> list[tuple[object, ...]]:
        return list(zip(*(c.to_pylist() for c in store.reader().arrow(names).columns), strict=True))

    store = RowStore(types, dictionary)
    rows = [(None if i % 3 else f"text {i}", i % 2 == 0, i, f"other {i % 7}") for i in range(200)]
    for i in range(0, 200, 10):
        store.append(batch_of(rows[i : i + 10]), 10, i + 1)
        store.seal(i + 2, i + 1)
    for hot in (1, 3, 2, 0):
        assert sum(store.columns.heat(hot)) in (0, 200)
        mark = store.mark()
        store.append(batch_of([("nine", False, 9, "nine")]), 1, 300)
        assert [store.columns.arrow(i, np.array([200])).to_pylist() for i in range(4)] == [
            ["nine"],
            [False],
            [9],
            ["nine"],
        ]
        store.rollback(mark)
        assert stored(store) == rows
    assert [(store.columns.piece(i) is not None) for i in range(4)] == [True, True, False, True]


def test_text_may_come_in_any_encoding():
    store = RowStore([VARCHAR], TextDictionary())
    plain = pa.array(["a", None, "b"])
    for time, text in enumerate([plain, plain.dictionary_encode(), plain.cast(pa.large_string())]):
        store.append(Batch(pa.table([text], names=["x"]), Readers([Reader(VARCHAR, TextDictionary())])), 3, time)
    store.seal(3, 2)
    assert store.reader().arrow(["x"]).column(0).to_pylist() == ["a", None, "b"] * 3
    assert list(store.columns.heat(0)) == [9]
    assert store.reader().arrow(["x"]).column(0).to_pylist() == ["a", None, "b"] * 3


def test_arrangements_are_shared_and_go_with_their_last_user():
    store = TableStore(KEYED, TextDictionary())
    first = store.arrangement((2,))
    assert store.arrangement((2,)) is first
    apart = store.arrangement((2,), shared=False)
    assert apart is not first
    assert [a.key for a in store.arrangements()] == [(0, 1), (2,), (2,)]
    del first, apart
    assert [a.key for a in store.arrangements()] == [(0, 1)]
    assert store.arrangement((0, 1)) is store.primary
    assert [a.key for a in store.arrangements()] == [(0, 1)]


def test_sizes_follow_the_contents():
    store = TableStore(KEYED, TextDictionary())
    store.apply(arrow_of([(i, 0, "x", 0) for i in range(1000)]), None, 1)
    store.seal(2, 1)
    assert store.size().rows == 1000
    assert store.size().entries == 0, "keys that came in order need no references"
    store.apply(arrow_of([(7, 0, "x", 0)]), np.array([-1]), 2)
    store.seal(3, 2)
    assert store.size().rows == 999
    assert 0 < store.size().entries <= 1000
    before, mark = store.size().bytes, store.mark()
    store.apply(arrow_of([(i + 1000, 0, "x", 0) for i in range(1000)]), None, 3)
    assert store.size().bytes > before
    store.rollback(mark)
    assert store.size().rows == 999
    assert store.size().bytes <= before


def test_row_numbers_that_run_out_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_store, "MOST_ROWS", 3)
    store = TableStore(Table("t", (Field("a", BIGINT, nullable=False),), ("a",)), TextDictionary())
    store.apply(pa.table({"a": pa.array([1, 2], pa.int64())}), None, 1)
    store.seal(2, 1)
    mark = store.mark()
    with pytest.raises(Error, match="at most 3 rows"):
        store.apply(pa.table({"a": pa.array([3, 4], pa.int64())}), None, 2)
    store.rollback(mark)
    assert store.arrow().to_pydict() == {"a": [1, 2]}


def test_the_first_rows_are_shown_though_nobody_has_read_their_texts():
    dictionary = TextDictionary()
    table = Table("t", (Field("a", VARCHAR, False), Field("b", VARCHAR, True)))
    store = TableStore(table, dictionary)
    rows = pa.table({"a": [f"a {i}" for i in range(1000)], "b": [f"a longer text, number {i}" for i in range(1000)]})
    store.apply(rows, None, 1, "diff", "error")
    store.seal(2, 0)
    assert store.first(500).to_pylist() == rows.slice(0, 500).to_pylist()


def test_a_reader_sees_texts_of_a_column_that_got_codes_after_it_came():
    texts = [f"text {i}" for i in range(3000)]
    store = TableStore(Table("t", (Field("s", VARCHAR, nullable=False),)), TextDictionary())
    store.apply(pa.table({"s": texts}), None, 1)
    store.seal(2, 1)
    reader, later = store.reader(), store.reader()
    for _ in store.store.columns.prepare([0]):
        pass
    store.apply(pa.table({"s": texts[:1]}), np.array([-1]), 2)
    store.seal(3, 2)
    assert reader.arrow(["s"])["s"].to_pylist() == texts
    assert [text for (kept,) in later.kept(0, later.rows) for text in kept.to_pylist()] == texts
    assert reader.numbering is store.reader().numbering


def test_what_history_once_held_back_puts_no_later_compaction_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "FROM_ROWS", 8)
    store = TableStore(Table("t", (Field("k", BIGINT, nullable=False),), ("k",)), TextDictionary())
    store.apply(pa.table({"k": range(1000)}), None, 1)
    store.seal(2, 1)
    for time in range(2, 1600):  # a row goes, another one comes; of the first 900 commits somebody reads all
        store.apply(pa.table({"k": [time - 2, time + 998]}), np.array([-1, 1]), time)
        store.seal(time + 1, time if time > 900 else 1)
    gone = np.arange(1598, 2590)
    store.apply(pa.table({"k": gone}), np.full(len(gone), -1), 1600)
    store.seal(1601, 1600)
    for time in range(1601, 1800):
        store.apply(pa.table({"k": [time + 2000]}), None, time)
        store.apply(pa.table({"k": [time + 2000]}), np.array([-1]), time)
        store.seal(time + 1, time)
    assert store.count == 8
    assert store.store.dead < 100, "beside eight rows that live"
