"""Columns read in place against the same values in one array."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ivm.catalog.schema import Field
from ivm.catalog.types import BIGINT, DATE, DOUBLE, HUGEINT, INTEGER, TIMESTAMP, VARCHAR, SqlType, decimal
from ivm.intake.as_it_is import AsItIs
from ivm.trace.columns.arrow import arrow_type, to_arrow, to_column
from ivm.trace.columns.batch import Batch, Reader, Readers
from ivm.trace.columns.column import Ints
from ivm.trace.columns.exported import ArrowRows
from ivm.trace.columns.in_place import Pieces, is_readable
from ivm.trace.rows.row_store import RowStore
from ivm.trace.text.dictionary import TextDictionary

_BIG = 10**37
VALUES: list[tuple[SqlType, list[Any], list[pa.DataType]]] = [
    (INTEGER, [0, -1, 2**15 - 1, 7], [pa.int32(), pa.int64(), pa.int16()]),
    (BIGINT, [0, -1, 2**62, 7], [pa.int64()]),
    (HUGEINT, [Decimal(_BIG), Decimal(-_BIG), Decimal(3)], [pa.decimal128(38, 0)]),
    (decimal(15, 2), [Decimal("-1.25"), Decimal("3.00")], [pa.decimal128(15, 2), pa.decimal128(10, 2)]),
    (decimal(15, 2), [Decimal("-1.25"), Decimal("3.00")], [pa.decimal64(15, 2), pa.decimal32(8, 2)]),
    (decimal(30, 2), [Decimal("-1.25"), Decimal(_BIG) / 10**12], [pa.decimal128(30, 2)]),
    (DOUBLE, [0.5, -0.0, float("inf"), 1e300], [pa.float64(), pa.float32()]),
    (DATE, [datetime.date(1970, 1, 1), datetime.date(2100, 2, 28)], [pa.date32()]),
    (TIMESTAMP, [datetime.datetime(1970, 1, 1), datetime.datetime(2100, 2, 28, 1)], [pa.timestamp("us")]),
]


@pytest.mark.parametrize(("type", "values", "encodings"), VALUES, ids=str)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_rows_read_as_of_one_array(type: SqlType, values: list[Any], encodings: list[pa.DataType], data: Any) -> None:
    assert is_readable(type)
    dictionary = TextDictionary()
    store = RowStore([type], dictionary)
    held: list[Any] = []
    with_null = data.draw(st.booleans())
    for time in range(data.draw(st.integers(1, 12))):
        size = data.draw(st.sampled_from([1, 2, 30, 1100]))
        drawn = data.draw(st.randoms(use_true_random=False)).choices(values + [None] * with_null, k=size)
        kept = drawn if type is not DOUBLE else [None if v is None else min(v, 1e30) for v in drawn]
        encoding = data.draw(st.sampled_from(encodings))
        array = pa.array([None, *kept, None], encoding)
        exact = array.cast(arrow_type(type)).to_pylist()[1:-1]
        mark = store.mark()
        given, addresses = _as_it_comes(array.slice(1, size), type, is_looked_at=data.draw(st.booleans()))
        store.append(Batch(given, Readers([Reader(type, dictionary)]), addresses), size, time + 1)
        if data.draw(st.integers(0, 4)) == 0:
            store.gather(0, np.arange(store.rows))
            store.rollback(mark)
        else:
            held += exact
            store.seal(time + 2, time + 1)
    whole = to_column(pa.array(held, arrow_type(type)), type, dictionary)
    rows = data.draw(st.lists(st.integers(0, max(len(held) - 1, 0)), max_size=50)) if held else []
    for chosen in (np.array(rows, np.int64), np.array(rows, np.int32)):
        _assert_equal(store.gather(0, chosen), whole.take(chosen))
    begin, end = sorted(data.draw(st.tuples(*[st.integers(0, len(held))] * 2)))
    _assert_equal(store.gather(0, slice(begin, end)), whole.take(np.arange(begin, end)))
    _assert_equal(store.columns.column(0), whole)
    assert store.columns.piece(0) is None
    assert store.reader().arrow(["x"]).column(0).to_pylist() == held


def _as_it_comes(array: pa.Array, type: SqlType, *, is_looked_at: bool) -> tuple[ArrowRows, Ints | None]:
    """A batch of one column and, where it needs no cast, where that lies."""
    taken = AsItIs((Field("x", type),)).taken(pa.record_batch([array], names=["x"])) if is_looked_at else None
    return (pa.table([array], names=["x"]), None) if taken is None else (taken[0], taken[3])


@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_a_few_texts_are_read_where_they_lie(data: Any) -> None:
    dictionary, held = TextDictionary(), list[str | None]()
    store, readers = RowStore([VARCHAR], dictionary), Readers([Reader(VARCHAR, dictionary)])
    texts = st.sampled_from(["", "a", "Oslo", "å" * 9, "a text that is longer than a word"])
    for time in range(data.draw(st.integers(1, 40))):
        drawn = data.draw(st.lists(st.none() | texts if data.draw(st.booleans()) else texts, min_size=1, max_size=3))
        encoding = data.draw(st.sampled_from([pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())]))
        array, mark = pa.array([None, *drawn, None], encoding).slice(1, len(drawn)), store.mark()
        given, addresses = _as_it_comes(array, VARCHAR, is_looked_at=data.draw(st.booleans()))
        store.append(Batch(given, readers, addresses), len(drawn), time + 1)
        if data.draw(st.integers(0, 4)) == 0:
            store.rollback(mark)
        else:
            held += drawn
            store.seal(time + 2, time + 1)
        if held:
            rows = data.draw(st.lists(st.integers(0, len(held) - 1), max_size=5))
            found = to_arrow(store.gather(0, np.array(rows, np.int64)), VARCHAR, dictionary.now())
            assert found.to_pylist() == [held[row] for row in rows]
    assert store.columns.piece(0) is None


@given(st.lists(st.sampled_from([1, 2, 500, 1023, 1024, 1025, 5000]), max_size=20), st.integers(0, 20))
def test_the_piece_of_each_row_is_found(sizes: list[int], taken: int) -> None:
    pieces = Pieces()
    for size in [*sizes, 3000, 1]:
        pieces.push(size)
    assert pieces.first(len(sizes)).starts.tolist() == pieces.starts[: len(sizes) + 1].tolist()
    pieces.truncate(len(sizes))
    for size in sizes[:taken]:
        pieces.push(size)
    several = [*sizes, *sizes[:taken]]
    _assert_found(pieces, several)
    first, count = len(several) // 3, max(len(several) // 2, 1)
    if several:
        joined = [*several[:first], sum(several[first : first + count]), *several[first + count :]]
        _assert_found(pieces.joined(first, count), joined)


def _assert_found(pieces: Pieces, sizes: list[int]) -> None:
    owners = np.repeat(np.arange(len(sizes)), sizes)
    assert (pieces.rows, len(pieces)) == (len(owners), len(sizes))
    for row in [*range(0, pieces.rows, 97), *(np.cumsum(sizes, dtype=np.int64) - 1).tolist()]:
        assert pieces.piece_of(row) == owners[row]


def _assert_equal(found: Any, wanted: Any) -> None:
    valid = np.ones(len(wanted), np.bool_) if wanted.valid is None else wanted.valid
    assert (np.ones(len(found), np.bool_) if found.valid is None else found.valid).tolist() == valid.tolist()
    assert found.values.dtype == wanted.values.dtype
    assert np.ascontiguousarray(found.values).tobytes() == np.ascontiguousarray(wanted.values).tobytes()
