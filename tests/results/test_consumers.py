"""A result or a view goes to whatever takes Arrow streams, and is read as DB-API users expect."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import duckdb
import nanoarrow
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import ivm
from tests.house.modules import ROOT

ROWS = [
    (1, "Bern", Decimal("2.50"), date(2024, 1, 31), datetime(2024, 1, 31, 12, 30), 0.5, True, [1, None]),
    (2, None, None, None, None, None, None, None),
    (3, "Oslo", Decimal("-4.25"), date(1, 1, 1), datetime(9999, 12, 31), 1e300, False, None),
]


def asked(text: str, **rows: ivm.Result | ivm.View) -> list[tuple[Any, ...]]:
    """DuckDB's own answer over rows that it takes as they are."""
    with duckdb.connect() as duck:
        for name, each in rows.items():
            duck.register(name, each)
        return duck.execute(text).fetchall()


@pytest.fixture(scope="module")
def db():
    db = ivm.connect(compile="off")
    db.sql(
        "CREATE TABLE t (k INTEGER PRIMARY KEY, s VARCHAR, p DECIMAL(9,2), d DATE, ts TIMESTAMP, x DOUBLE, b BOOLEAN)"
    )
    db.sql("CREATE TABLE e (k INTEGER PRIMARY KEY, t INTEGER, n INTEGER)")
    db.sql("INSERT INTO e VALUES (1, 1, 1), (2, 1, NULL)")
    db.apply({"t": [dict(zip(["k", "s", "p", "d", "ts", "x", "b"], row[:7], strict=True)) for row in ROWS]})
    db.sql(
        "CREATE MATERIALIZED VIEW v AS SELECT k, s, p, d, ts, x, b, CASE WHEN k = 1 THEN "
        "(SELECT list(n ORDER BY k) FROM e) END AS l FROM t ORDER BY k"
    )
    db.sql("CREATE MATERIALIZED VIEW total AS SELECT s, sum(k) AS total FROM t GROUP BY s ORDER BY s")
    db.sql("CREATE MATERIALIZED VIEW nothing AS SELECT k, s FROM t WHERE k > 99")
    return db


@pytest.fixture(params=["view", "result"])
def rows(request, db):
    return db.view("v") if request.param == "view" else db.sql("SELECT * FROM v ORDER BY k")


def test_arrow_takes_it(rows):
    assert pa.table(rows).equals(rows.arrow())
    assert pa.RecordBatchReader.from_stream(rows).read_all().num_rows == 3
    assert pa.schema(rows) == rows.schema == rows.arrow().schema


def test_a_schema_may_be_requested(rows):
    narrow = rows.schema.set(0, pa.field("k", pa.int64()))
    assert pa.RecordBatchReader.from_stream(rows, schema=narrow).read_all().column(0).type == pa.int64()


def test_polars_takes_it(rows):
    assert pl.DataFrame(rows).rows() == rows.pl().rows() == pl.DataFrame(rows.arrow()).rows()
    assert rows.pl()["k"].to_list() == [1, 2, 3]


def test_pandas_takes_it(rows):
    frame = pd.DataFrame.from_arrow(rows)
    assert frame["s"].tolist()[0] == "Bern"
    pd.testing.assert_frame_equal(frame, pd.DataFrame.from_arrow(rows.arrow()))
    assert rows.df().shape == (3, 8)


def test_duckdb_takes_it(rows):
    found = duckdb.sql("FROM rows")
    assert found is not None
    assert found.fetchall() == asked("FROM rows", rows=rows) == rows.fetchall()
    assert asked("SELECT sum(k) FROM rows WHERE s IS NOT NULL", rows=rows) == [(4,)]


def test_nanoarrow_takes_it(rows):
    stream = nanoarrow.ArrayStream(rows)
    assert [field.name for field in stream.schema.fields] == rows.columns
    assert stream.read_all().child(0).to_pylist() == [1, 2, 3]
    assert nanoarrow.Schema(rows).n_fields == 8


def test_another_database_takes_it(db, rows):
    other = ivm.connect(compile="off")
    other.sql("CREATE TABLE t (k INTEGER PRIMARY KEY, s VARCHAR)")
    with other.transaction() as tx:
        tx.insert("t", db.sql("SELECT k, s FROM v"))
    assert sorted(other.sql("SELECT * FROM t").fetchall()) == [row[:2] for row in ROWS]


def test_without_rows_it_has_the_same_columns(db):
    view, result = db.view("nothing"), db.sql("SELECT * FROM nothing")
    for empty in (view, result):
        assert pa.table(empty).schema == view.schema
        assert pl.DataFrame(empty).columns == ["k", "s"]
        assert asked("FROM empty", empty=empty) == list(empty) == empty.fetchall() == []
        assert empty.fetchone() is None
        assert len(empty) == 0
        assert empty, "no rows are no reason to be false"


def test_whole_numbers_of_128_bits(db):
    view = db.view("total")
    assert view.fetchall() == [("Bern", 1), ("Oslo", 3), (None, 2)]
    assert view.pl()["total"].dtype == pl.Int128
    assert view.pl()["total"].to_list() == [1, 3, 2]
    assert pa.table(view).schema.equals(view.schema, check_metadata=True)
    assert view.description[1][:2] == ("total", "HUGEINT")


def test_python_rows(rows):
    assert rows.fetchall() == ROWS
    assert list(rows) == list(rows) == ROWS
    assert len(rows) == 3
    assert rows.columns == ["k", "s", "p", "d", "ts", "x", "b", "l"]
    types = ["INTEGER", "VARCHAR", "DECIMAL(9,2)", "DATE", "TIMESTAMP", "DOUBLE", "BOOLEAN", "INTEGER[]"]
    assert [(column[0], column[1]) for column in rows.description] == list(zip(rows.columns, types, strict=True))
    assert all(len(column) == 7 for column in rows.description)


def test_a_result_is_fetched_once_from_the_beginning(db):
    result = db.sql("SELECT k FROM t ORDER BY k")
    assert result.fetchone() == (1,)
    assert list(result) == [(1,), (2,), (3,)]
    assert result.fetchmany() == [(2,)]
    assert result.fetchall() == [(3,)]
    assert result.fetchall() == result.fetchmany(5) == []
    assert result.fetchone() is None
    assert db.sql("SELECT k FROM t ORDER BY k").fetchmany(2) == [(1,), (2,)]
    assert (len(result), result.arrow().num_rows) == (3, 3)


def test_many_rows_are_fetched_in_order(db):
    result = db.sql("SELECT row_number() OVER () AS k FROM t a, t b, t c, t d, t e, t f, t g, t h, t i")
    assert [row[0] for row in result] == list(range(1, 3**9 + 1))
    assert len(result.fetchmany(15_000)) == 15_000
    assert result.fetchone() == (15_001,)


def test_a_view_has_no_position():
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (k INTEGER PRIMARY KEY); CREATE MATERIALIZED VIEW v AS SELECT k FROM t ORDER BY k DESC")
    db.sql("INSERT INTO t VALUES (1), (2), (3)")
    view = db.view("v")
    assert view.fetchone() == view.fetchone() == (3,)
    assert view.fetchmany(2) == [(3,), (2,)]
    reading = iter(view)
    db.sql("INSERT INTO t VALUES (4)")
    assert view.fetchone() == (4,)
    assert list(reading) == [(3,), (2,), (1,)], "iterating reads one moment"
    assert view.fetchmany(0) == []
    assert len(view.fetchmany(99)) == len(view) == 4


@pytest.mark.parametrize("size", [-1, "2", 1.5, None])
def test_a_size_that_is_no_number_of_rows(db, size):
    for rows in (db.view("v"), db.sql("SELECT 1")):
        with pytest.raises(ivm.Error, match="size is"):
            rows.fetchmany(size)


def test_as_of_an_earlier_time():
    db = ivm.connect(compile="off", history=10)
    db.sql("CREATE TABLE t (k INTEGER PRIMARY KEY); CREATE MATERIALIZED VIEW v AS SELECT k FROM t ORDER BY k")
    db.sql("INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)")
    assert db.view("v").pl(as_of=1).rows() == [(1,)]
    assert len(db.view("v")) == 2


def test_what_is_not_installed_is_named():
    """In a process of its own: Arrow keeps pandas once it is loaded."""
    code = """
import sys
sys.modules["pandas"] = sys.modules["polars"] = None
import ivm
result = ivm.connect(compile="off").sql("SELECT 1")
for method in (result.df, result.pl):
    try:
        method()
    except ivm.Error as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    first, second = done.stdout.splitlines()
    assert "pip install pandas" in first
    assert "pip install polars" in second
    assert done.stderr == ""


def test_rows_in_cells_are_tuples_as_in_duckdb():
    text = (
        "SELECT row(1, 'a') AS r, (1, [(2, NULL)]) AS deep, {'a, b': (1, 2), 'element1': {'element1': 1}} AS s, "
        "map {'k': (DATE '2020-02-29', 1.5)} AS m, NULL::STRUCT(element1 INTEGER) AS n, (1, 'x'::ENUM('x', ')', ',')) AS e"
    )
    db = ivm.connect(compile="off")
    db.sql(f"CREATE MATERIALIZED VIEW v AS {text}, ({{'t': TIMESTAMPTZ '2020-01-01 00:00Z'}}, (1, 2)) AS l")
    (row,) = db.view("v").fetchall()
    assert [row[:-1]] == db.sql(text).fetchall() == duckdb.connect().execute(text).fetchall()
    assert row[-1] == ({"t": datetime(2020, 1, 1, tzinfo=UTC)}, (1, 2))
    db.verify()
