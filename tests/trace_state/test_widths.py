"""BIGINT and decimals stay in the 4 bytes in which they came until one comes that does not fit."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ivm
from ivm.catalog.types import BIGINT, SqlType, decimal
from ivm.session.core import engine_of
from ivm.session.database import core_of
from ivm.trace.columns.arrow import arrow_type, to_column
from ivm.trace.columns.batch import Batch, Reader, Readers
from ivm.trace.columns.in_place import narrow
from ivm.trace.rows.row_store import RowStore
from ivm.trace.text.dictionary import TextDictionary

SHORT, LONG = [0, -1, 7, 2**31 - 1, -(2**31)], [2**31, -(2**31) - 1, 2**62]
FEW, MANY = [Decimal(v).scaleb(-2) for v in (0, -1, 10**9 - 1, 1 - 10**9)], [Decimal(10**7), Decimal(-(10**12))]
CASES: list[tuple[SqlType, list[Any], list[Any], pa.DataType, list[pa.DataType]]] = [
    (BIGINT, SHORT, LONG, pa.int32(), [pa.int64()]),
    (decimal(15, 2), FEW, MANY, pa.decimal32(9, 2), [pa.decimal64(15, 2), pa.decimal128(15, 2)]),
]


def values(batch: list[Any], encoding: pa.DataType) -> pa.Array:
    """The values in a type that `pa.array` may not know how to make."""
    wide = pa.decimal128(15, 2) if pa.types.is_decimal(encoding) else encoding
    return pa.array([None, *batch, None], wide).cast(encoding).slice(1, len(batch))


@pytest.mark.parametrize(("type", "short", "long", "narrow_type", "others"), CASES, ids=["bigint", "decimal"])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_any_widths_read_as_one_array(
    type: SqlType, short: list[Any], long: list[Any], narrow_type: pa.DataType, others: list[pa.DataType], data: Any
) -> None:
    dictionary = TextDictionary()
    store = RowStore([type], dictionary)
    held: list[Any] = []
    readers: list[tuple[Any, list[Any]]] = []
    with_null, most_long = data.draw(st.booleans()), data.draw(st.integers(0, 3))
    for time in range(data.draw(st.integers(1, 12))):
        size = data.draw(st.sampled_from([1, 2, 30, 600, 1100]))
        fits = data.draw(st.integers(0, 3)) >= most_long
        encoding = data.draw(st.sampled_from([narrow_type, *others] if fits else others))
        some = short if fits else short + long
        drawn = data.draw(st.randoms(use_true_random=False)).choices(some + [None] * with_null, k=size)
        mark = store.mark()
        batch = pa.table([values(drawn, encoding)], names=["x"])
        store.append(Batch(batch, Readers([Reader(type, dictionary)])), size, time + 1)
        if data.draw(st.booleans()):
            _assert_held(store, [*held, *drawn], type, data)
        if data.draw(st.integers(0, 3)) == 0:
            store.rollback(mark)
        else:
            held += drawn
            store.seal(time + 2, time + 1)
            readers.append((store.reader(), list(held)))
    _assert_held(store, held, type, data)
    for reader, expected in readers:
        assert reader.arrow(["x"]).column(0).to_pylist() == expected
        found = [v for rows, _ in reader.chunks() for v in rows.column(0).values.tolist()]
        assert found == to_column(pa.array(expected, arrow_type(type)), type, dictionary).values.tolist()


def _assert_held(store: RowStore, held: list[Any], type: SqlType, data: Any) -> None:
    whole = to_column(pa.array(held, arrow_type(type)), type, TextDictionary())
    rows = np.array(data.draw(st.lists(st.integers(0, len(held) - 1), max_size=30)) if held else [], np.int64)
    for chosen in (rows, slice(0, len(held)), slice(len(held) // 3, len(held) // 2)):
        found = store.gather(0, chosen)
        wanted = whole.take(np.arange(len(held))[chosen])
        assert found.values.dtype == wanted.values.dtype
        assert found.values.tolist() == wanted.values.tolist()
        valid = [np.ones(len(wanted), np.bool_) if each.valid is None else each.valid for each in (found, wanted)]
        assert valid[0].tolist() == valid[1].tolist()


def table(first: int, count: int, *, short: bool, most: int = 1000) -> pa.Table:
    numbers = [(first + i) * 7919**3 % (2 * most) - most for i in range(count)]
    amounts = pa.array([Decimal(n).scaleb(-2) for n in numbers], pa.decimal128(15, 2))
    given = {"id": pa.array(range(first, first + count), pa.int64()), "g": pa.array([n % 5 for n in numbers], pa.int64()),
             "n": pa.array(numbers, pa.int64()), "x": amounts}  # fmt: skip
    return pa.table({name: narrow(column, short=short) for name, column in given.items()})


@pytest.mark.parametrize("compiling", ["off", "wait"])
def test_views_read_what_is_short(compiling: Any) -> None:
    db = ivm.connect(compile=compiling)
    db.sql("""
        CREATE TABLE t (id BIGINT PRIMARY KEY, g BIGINT NOT NULL, n BIGINT NOT NULL, x DECIMAL(15,2) NOT NULL);
        CREATE TABLE u (k BIGINT PRIMARY KEY, n BIGINT NOT NULL);
        CREATE MATERIALIZED VIEW s AS SELECT g, sum(x * (1 + n)) AS x, max(n) AS most FROM t
            WHERE n BETWEEN -900 AND 1000000 GROUP BY g;
        CREATE MATERIALIZED VIEW j AS SELECT id, t.n + u.n AS n, x FROM t JOIN u ON g = k AND t.n > u.n;
        CREATE MATERIALIZED VIEW i AS SELECT id, CAST(n AS INTEGER) AS n FROM t WHERE x > 0
    """)

    def column(index: int) -> int:
        return int(engine_of(core_of(db)).tables["t"].store.columns._cold._readable(index).stride)

    at = 0
    for short in (True, True, False, True):
        db.apply({"t": table(at, 2000, short=short), "u": pa.table({"k": [at % 5], "n": [at % 7]})})
        at += 2001
        db.sql(f"DELETE FROM t WHERE id = {at - 30}; UPDATE t SET n = -n, x = x + 1 WHERE id = {at - 40}")
    db.verify()
    assert [column(index) for index in range(4)] == [4, 4, 4, 4]
    with pytest.raises(ivm.NumericError):
        db.apply({"t": table(at, 2000, short=False, most=2**40), "u": pa.table({"k": [4], "n": [0]})})
    db.verify()
    db.sql("DROP VIEW i")
    db.apply({"t": table(at, 2000, short=False, most=2**40), "u": pa.table({"k": [4], "n": [0]})})
    db.verify()
    assert [column(index) for index in range(4)] == [4, 4, 8, 8]
    db.apply({"t": table(at + 2000, 2000, short=True)})
    db.sql(f"DELETE FROM t WHERE n < 0; INSERT INTO t VALUES ({2**40}, 4, 1, 2)")
    db.verify()
    assert [column(index) for index in range(4)] == [8, 4, 8, 8]
