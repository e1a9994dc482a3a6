"""Decimals stay in the 8 bytes in which they came, whatever comes after them, and read as all others do."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

import ivm
from ivm.session.core import engine_of
from ivm.session.database import core_of
from ivm.trace.columns.in_place import narrow

WIDE, NARROW, SHORT = pa.decimal128(12, 2), pa.decimal64(12, 2), pa.decimal64(9, 2)


def rows(first: int, count: int, type: pa.DataType, *, nulls: bool = False) -> pa.Table:
    values = [None if nulls and i % 7 == 0 else Decimal(i % 1000 - 500).scaleb(-2) for i in range(first, first + count)]
    given = pa.array(values, pa.decimal128(type.precision, type.scale)).cast(type)
    return pa.table({"id": range(first, first + count), "g": [i % 5 for i in range(count)], "x": given})


@pytest.mark.parametrize("types", [(NARROW, WIDE, SHORT), (WIDE, NARROW, WIDE), (SHORT, SHORT, NARROW)])
@pytest.mark.parametrize("nulls", [False, True])
def test_batches_of_both_widths_are_one_column(types: tuple[pa.DataType, ...], nulls: bool) -> None:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, g BIGINT, x DECIMAL(12,2)); CREATE TABLE u (k BIGINT PRIMARY KEY)")
    db.sql("CREATE MATERIALIZED VIEW s AS SELECT g, sum(x) AS x, max(x) AS most FROM t JOIN u ON g = k GROUP BY g")
    at = 0
    for count, given in zip((600, 900, 700), types, strict=True):
        db.apply({"t": rows(at, count, given, nulls=nulls)})
        at += count
        db.sql(f"INSERT INTO u VALUES ({at % 5}) ON CONFLICT DO NOTHING; DELETE FROM t WHERE id = {at - 3}")
        db.verify()
    for number in range(40):
        db.apply({"t": rows(at + 3 * number, 3, types[number % 3], nulls=nulls)})
        db.sql(f"UPDATE t SET x = x + 1 WHERE id = {50 * number}; DELETE FROM t WHERE id = {50 * number + 1}")
    db.sql("INSERT INTO u VALUES (1), (2), (3) ON CONFLICT DO NOTHING")
    db.verify()
    assert engine_of(core_of(db)).tables["t"].arrow().schema.field("x").type == WIDE


def test_the_first_batch_says_how_wide() -> None:
    for given, width in ((NARROW, 8), (WIDE, 16)):
        db = ivm.connect(compile="off")
        db.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, g BIGINT, x DECIMAL(12,2))")
        db.apply({"t": rows(0, 1000, given)})
        cold = engine_of(core_of(db)).tables["t"].store.columns._cold
        assert cold._readable(2).stride == width
        db.apply({"t": rows(1000, 1000, WIDE)})
        assert cold._readable(2).stride == width
        assert cold.batches.batches[1].column(2).nbytes == width * 1000


def test_narrow_keeps_what_there_is() -> None:
    decimals = pa.array([Decimal("1.50"), None, Decimal("-2.25"), Decimal(0)], WIDE)
    texts = pa.array(["a", None, "b", "a"]).dictionary_encode()
    for array in (decimals, decimals.slice(2), decimals.slice(1, 0), texts, texts.slice(1), pa.array([1, 2])):
        found = narrow(array)
        assert found.to_pylist() == array.to_pylist()
        assert narrow(found).type == found.type
    assert narrow(decimals).type == NARROW
    assert narrow(texts).type.index_type == pa.int8()
    many = pa.array([str(i) for i in range(129)]).dictionary_encode()
    assert narrow(many).type.index_type == pa.int16()
    assert narrow(pa.array([Decimal(1)], pa.decimal128(30, 2))).type == pa.decimal128(30, 2)
