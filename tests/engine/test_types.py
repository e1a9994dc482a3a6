"""Every type from end to end: what comes in by any form is kept, computed with and read back as DuckDB would."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import ivm
from tests.more import by_day


@dataclass(frozen=True)
class Case:
    """A type: its Arrow type, distinct values in their order, values that it does not take, SQL literals, expressions."""

    sql: str
    arrow: pa.DataType
    values: list[Any]
    refused: list[Any]
    literal: Callable[[Any], str] = str
    expressions: tuple[str, ...] = ()
    others: tuple[pa.DataType, ...] = ()


NUMBERS = (
    "x + x", "x - x", "x + 1", "x - 1", "x * 2", "x / 2", "x % 3", "abs(x)", "-x", "x + 1.5", "x + 1e0", "sign(x)", "round(x)",
    "floor(x)", "x::VARCHAR", "x::DOUBLE", "x::FLOAT", "x = 1", "x > 2.5", "x IN (1, 2)", "x::BOOLEAN", "greatest(x, 2)",
    "x // 2", "x & 3", "x::DECIMAL(30, 3)", "try_cast(x AS UTINYINT)", "try_cast(x AS INTEGER)", "x BETWEEN 1 AND 300",
)  # fmt: skip


def unsigned(sql: str, arrow: pa.DataType, bits: int) -> Case:
    return Case(
        sql, arrow, [0, 1, 2, 7, 2 ** (bits - 1), 2**bits - 1], [-1, 2**bits, 0.5, "1"], expressions=NUMBERS,
        others=(pa.int64(), pa.decimal128(20, 0)) if bits < 64 else (pa.decimal128(20, 0),),
    )  # fmt: skip


MOMENTS = (
    "x::VARCHAR", "x::DATE", "x::TIMESTAMP", "x::TIME", "x + INTERVAL 1 MONTH", "x - INTERVAL '1 day 2 hours'", "x + INTERVAL (g) HOUR",
    "date_trunc('month', x)", "date_trunc('hour', x)", "extract(year FROM x)", "extract(hour FROM x)", "epoch(x)", "hour(x)",
    "x > TIMESTAMP '2000-01-01'", "x = DATE '1970-01-01'", "x < '2024-03-01 10:00:00+02'", "x BETWEEN DATE '2000-01-01' AND '2030-01-01'",
    "coalesce(x, TIMESTAMP '2000-01-01 01:00')", "greatest(x, DATE '2000-01-01')", "date_diff('day', x, TIMESTAMP '2020-01-01')",
    "date_diff('hour', '2020-01-01', x)", "epoch_ms(x)", "epoch_us(x)", "strftime(x, '%d.%m.%Y %H:%M')", "dayname(x)", "last_day(x)",
    "x AT TIME ZONE 'UTC'", "time_bucket(INTERVAL 5 DAY, x)", "to_timestamp(epoch(x))", "epoch(x - TIMESTAMP '2000-01-01')",
    "extract(minute FROM x)", "x + DATE '2020-01-01'", "DATE '2020-01-01' + x", "x = '12:30'", "try_cast(x::VARCHAR AS TIMESTAMPTZ)",
    "try_cast('2024-10-27 02:30:00 Europe/Berlin' || left(x::VARCHAR, 0) AS TIMESTAMPTZ)", "x || ''", "x::TIMESTAMPTZ",
)  # fmt: skip


UNITS = (
    "x::TIMESTAMP_S", "try_cast(x AS TIMESTAMP_S)", "x::TIMESTAMP_MS", "try_cast(x AS TIMESTAMP_NS)", "x = TIMESTAMP_MS '1969-12-31 23:59:58.501'",
    "try_cast(x::VARCHAR AS TIMESTAMP_S)", "try_cast(x::VARCHAR AS TIMESTAMP_MS)", "try_cast(x::VARCHAR AS TIMESTAMP_NS)", "nanosecond(x)",
    "epoch_ns(x)", "strftime(x, '%S %f %n')", "x < TIMESTAMP_S '2024-01-01'", "coalesce(x, DATE '2024-01-01')", "x - DATE '2020-01-01'",
    "greatest(x, TIMESTAMP_MS '2020-01-01 00:00:00.001')", "x + NULL", "x - NULL", "make_timestamp_ns(epoch_us(x))", "x > now()", "x::JSON",
    "strptime('2024 ' || g || '000001', '%Y %n')", "try_strptime(x::VARCHAR, '%Y-%m-%d %H:%M:%S.%n')", "x IN (DATE '1970-01-01')", "[x, x]",
    "generate_series(x, x + INTERVAL 2 DAY, INTERVAL 1 DAY)", "x + 1", "x::BIGINT", "x AT TIME ZONE 'Europe/Zurich'", "TIMESTAMP(2) '2020-01-01 00:00:00.125'",
    "{'a': x}", "x = 5", "'2020-01-01 00:00:00.1234567891'::TIMESTAMP(9)", "typeof(x)", "nullif(x, TIMESTAMP '1970-01-01')", "age(x, x)",
)  # fmt: skip


def moment(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text)


def instant(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text).replace(tzinfo=ZoneInfo("UTC"))


CASES = [
    unsigned("UTINYINT", pa.uint8(), 8),
    unsigned("USMALLINT", pa.uint16(), 16),
    unsigned("UINTEGER", pa.uint32(), 32),
    unsigned("UBIGINT", pa.uint64(), 64),
    Case(
        "FLOAT", pa.float32(), [-math.inf, -2.5, 0.0, 0.10000000149011612, 1.5, 2.0**127, math.inf, math.nan],
        [1e39, "1", 2**25 + 1], lambda v: f"'{v}'::FLOAT", NUMBERS, (pa.float64(),),
    ),
    Case(
        "TIMESTAMPTZ", pa.timestamp("us", "UTC"),
        [instant(text) for text in ("1900-01-01", "1969-12-31 23:59:59.999999", "1970-01-01", "2024-02-29 12:30", "2500-01-01")],
        [datetime.datetime(2024, 1, 1), "2024-01-01 00:00:00", "x", 5, datetime.date(2024, 1, 1)], lambda v: f"'{v}'", MOMENTS,
        (pa.timestamp("us", "Europe/Berlin"), pa.timestamp("us", "+05:30")),
    ),
    Case(
        "TIMESTAMP_S", pa.timestamp("s"),
        [moment(text) for text in ("1677-01-01", "1969-12-31 23:59:59", "1970-01-01", "2024-02-29 12:30:01", "2500-01-01")],
        [datetime.datetime(2024, 1, 1, 0, 0, 0, 1), instant("2024-01-01"), "x", 5, datetime.time(1)], lambda v: f"'{v}'",
        (*MOMENTS, *UNITS), (pa.timestamp("us"), pa.timestamp("ms")),
    ),
    Case(
        "TIMESTAMP_MS", pa.timestamp("ms"),
        [moment(text) for text in ("1677-01-01", "1969-12-31 23:59:58.501", "1970-01-01", "2024-02-29 12:30:01.5", "2500-01-01")],
        [datetime.datetime(2024, 1, 1, 0, 0, 0, 1), instant("2024-01-01"), "x", 5, datetime.time(1)], lambda v: f"'{v}'",
        (*MOMENTS, *UNITS), (pa.timestamp("us"),),
    ),
    Case(
        "TIMESTAMP_NS", pa.timestamp("ns"),
        [pd.Timestamp(text) for text in ("1677-10-01 00:00:00.000000001", "1969-12-31 23:59:58.5000005", "1970-01-01",
                                         "2024-02-29 23:59:59.9999995", "2024-02-29 23:59:59.999999501", "2262-01-01")],
        [datetime.datetime(2263, 1, 1), datetime.datetime(1677, 1, 1), instant("2024-01-01"), "x", 5], lambda v: f"'{v}'",
        (*MOMENTS, *UNITS), (),
    ),
    Case(
        "BLOB", pa.binary(), [b"", b"\x00", b"a", b"ab'\\", "\u00e9".encode(), b"\xff\xfe"], ["x", 5],
        lambda v: "'" + "".join(f"\\x{byte:02X}" for byte in v) + "'::BLOB",
        ("x::VARCHAR", "x = 'a'", "x < 'b'", "coalesce(x, 'z')", "x::VARCHAR::BLOB", "x IN ('a', 'b')", "concat(x, 'a')",
         "octet_length(x)", "x || 'a'", "try_cast('\u00e9' || left(x::VARCHAR, 0) AS BLOB)", "greatest(x, 'b')"),
        (pa.large_binary(), pa.binary_view()),
    ),
    Case(
        "UUID", pa.string(),
        ["00000000-0000-0000-0000-000000000000", "00112233-4455-6677-8899-aabbccddeeff", "7fffffff-ffff-ffff-ffff-ffffffffffff",
         "80000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"],
        ["x", " 00112233-4455-6677-8899-aabbccddeeff", 5, b"0123"], lambda v: f"'{v.upper()}'::UUID",
        ("x::VARCHAR", "x = '{00112233445566778899AABBCCDDEEFF}'", "x < '80000000-0000-0000-0000-000000000000'", "x || 'a'",
         "try_cast(x::VARCHAR || left('x', g::INTEGER) AS UUID)", "upper(x::VARCHAR)::UUID", "x IN ('00112233-4455-6677-8899-aabbccddeeff')",
         "coalesce(x, '00112233-4455-6677-8899-aabbccddeeff')", "concat(x, 'a')", "greatest(x, '80000000-0000-0000-0000-000000000000')"),
        (pa.large_string(), pa.string_view()),
    ),
    Case(
        "ENUM('happy', '', 'it''s', 'sad', 'ok')", pa.dictionary(pa.uint8(), pa.string()), ["happy", "", "it's", "sad", "ok"],
        ["glad", "Sad", "sad ", 1, b"sad"], lambda v: "'" + v.replace("'", "''") + "'",
        ("x::VARCHAR", "x = 'ok'", "x < 'ok'", "x >= 'glad'", "x = 'glad'", "x <> 'glad'", "x IN ('ok', 'sad')", "x IN ('ok', 'glad')",
         "x BETWEEN 'a' AND 'ok'", "x || 'a'", "upper(x)", "length(x)", "concat(x, 'b')", "x LIKE '%s%'", "coalesce(x, 'ok')",
         "coalesce(x, 'glad')", "greatest(x, 'ok')", "nullif(x, 'ok')", "nullif(x, 'glad')", "CASE WHEN g = 1 THEN x ELSE 'z' END",
         "try_cast(x::VARCHAR || left('x', g::INTEGER) AS ENUM('', 'ok', 'sadx'))", "try_cast(x AS ENUM('ok', 'sad'))",
         "x::VARCHAR::ENUM('happy', '', 'ok', 'it''s', 'sad')", "x::ENUM('happy', '', 'ok', 'it''s', 'sad')", "x = 'ok'::ENUM('ok', 'b')",
         "x < 'sad'::ENUM('happy', '', 'it''s', 'sad', 'ok')", "typeof(x)", "x IS DISTINCT FROM 'ok'", "x = x::VARCHAR", "x::INTEGER",
         "1::ENUM('a')", "try_cast(x AS INTEGER)", "'ok'::ENUM('a')", "try_cast('ok' AS ENUM('a'))", "x + 1", "x = 1", "x::DATE",
         "replace(x, 'a', 'b')", "CASE x WHEN 'ok' THEN 1 WHEN 'sad' THEN 2 END", "least(x, 'ok'::ENUM('ok', 'b'))", "x::BOOLEAN"),
        (pa.large_string(), pa.string(), pa.dictionary(pa.int32(), pa.string())),
    ),
    Case(
        "TIME", pa.time64("us"),
        [datetime.time(0), datetime.time(0, 0, 0, 1), datetime.time(1, 2, 3), datetime.time(12, 30), datetime.time(23, 59, 59, 999999)],
        ["24:00:00", "x", 5, datetime.datetime(2024, 1, 1)], lambda v: f"TIME '{v}'", MOMENTS, (pa.time64("ns"),),
    ),
]  # fmt: skip
BY_NAME = pytest.mark.parametrize("case", CASES, ids=lambda case: case.sql)


def connected(case: Case, compile: Any = "off") -> ivm.Database:
    db = ivm.connect(compile=compile)
    db.sql(f"CREATE TABLE t (id BIGINT PRIMARY KEY, g BIGINT, x {case.sql})")
    db.sql(f"CREATE TABLE u (id BIGINT PRIMARY KEY, y {case.sql} NOT NULL)")
    return db


def rows(case: Case) -> pa.Table:
    """Each value twice, and NULLs."""
    values = [*case.values, None, *case.values, None]
    numbers = list(range(len(values)))
    return pa.table({"id": numbers, "g": [n % 3 for n in numbers], "x": pa.array(values, case.arrow)})


def other(case: Case) -> pa.Table:
    values = case.values[::2]
    return pa.table({"id": list(range(len(values))), "y": pa.array(values, case.arrow)})


def in_python(value: Any) -> Any:
    """A value as it is given to Python, whose moments have microseconds; what is finer is cut off as by DuckDB."""
    is_finer = isinstance(value, pd.Timestamp)
    return pa.scalar(value, pa.timestamp("ns")).cast(pa.timestamp("us"), safe=False).as_py() if is_finer else value


def same(found: Any, expected: Any) -> bool:
    return repr(found) == repr(expected)


VIEWS = (
    "SELECT * FROM t",
    "SELECT x, count(*) AS n FROM t GROUP BY x",
    "SELECT g, min(x) AS a, max(x) AS b, count(DISTINCT x) AS c, count(x) AS d FROM t GROUP BY g",
    "SELECT t.id, y FROM t JOIN u ON x = y",
    "SELECT t.id, u.id AS other FROM t JOIN u ON x < y AND t.g = u.id",
    "SELECT t.id, y FROM t LEFT JOIN u ON x = y",
    "SELECT DISTINCT x FROM t",
    "SELECT x FROM t UNION SELECT y FROM u",
    "SELECT x FROM t WHERE x > (SELECT min(y) FROM u)",
    "SELECT id, x FROM t WHERE x IN (SELECT y FROM u)",
    "SELECT id, x FROM t ORDER BY x DESC NULLS LAST, id LIMIT 5",
    "SELECT id, row_number() OVER (PARTITION BY g ORDER BY x, id) AS n, lag(x) OVER (ORDER BY id) AS b FROM t",
    "SELECT coalesce(x, (SELECT max(y) FROM u)) AS x, CASE WHEN g = 1 THEN x END AS y, nullif(x, x) AS z FROM t",
    "SELECT g, arg_max(id, x) AS a, any_value(x) AS b, mode(x) AS c, list(x ORDER BY x) AS d FROM t WHERE id < 5 GROUP BY g",
    "SELECT id FROM t WHERE x IS NOT DISTINCT FROM (SELECT max(y) FROM u)",
)


@BY_NAME
def test_views_hold_what_duckdb_computes(case: Case) -> None:
    db = connected(case)
    for number, query in enumerate(VIEWS):
        db.sql(f"CREATE MATERIALIZED VIEW v{number} AS {query}")
    db.apply({"t": rows(case), "u": other(case)})
    db.verify()
    with db.transaction() as tx:
        tx.delete("t", rows(case).slice(0, 5))
        tx.upsert("u", [{"id": 0, "y": case.values[-1]}])
    db.verify()
    db.sql(f"UPDATE t SET x = {case.literal(case.values[0])} WHERE id = 7")
    db.sql(f"DELETE FROM t WHERE x = {case.literal(case.values[1])}")
    assert not any(same(x, in_python(case.values[1])) for _, _, x in db.sql("SELECT * FROM t").fetchall())
    db.verify()


@pytest.mark.parametrize("case", by_day(CASES, 2), ids=lambda case: case.sql)
def test_expressions_are_duckdbs(case: Case) -> None:
    """One by one interpreted, and all that have a value for each row together in one compiled loop."""
    db, compiled = connected(case), connected(case, "wait")
    db.apply({"t": rows(case)})
    taken = [expression for expression in case.expressions if is_taken(db, expression)]
    assert len(taken) > len(case.expressions) / 3
    db.verify()
    together = ", ".join(f"{expression} AS y{number}" for number, expression in enumerate(taken))
    compiled.sql(f"CREATE MATERIALIZED VIEW v AS SELECT id, {together} FROM t")
    compiled.apply({"t": rows(case)})
    compiled.verify()
    assert compiled.view("v").schema.types == compiled.sql(f"SELECT id, {together} FROM t").schema.types


def is_taken(db: ivm.Database, expression: str) -> bool:
    """Whether the engine has the expression for all rows; what has no value for one of them has none in DuckDB."""
    name = f"v{len(db.sql('SELECT * FROM ivm_views').fetchall())}"
    query = f"SELECT id, {expression} AS y FROM t WHERE '{name}' IS NOT NULL"
    try:
        db.sql(f"CREATE MATERIALIZED VIEW {name} AS {query}")
    except (ivm.TypeMismatchError, ivm.UnsupportedError, ivm.BindError):
        return False
    except ivm.NumericError:
        with pytest.raises(ivm.Error):
            db.sql(query)
        return False
    return True


@BY_NAME
def test_every_form_is_taken_and_given_back(case: Case) -> None:
    db = connected(case)
    table = rows(case)
    plain = table.column("x").to_pylist()
    forms: list[Any] = [
        table, table.to_batches()[0], table.to_pylist(), table.to_pydict(), pl.from_arrow(table), table.slice(0, 0),
        table.set_column(2, "x", table.column("x").dictionary_encode()),
        pa.table({"id": table["id"], "g": table["g"], "x": pa.chunked_array([table["x"].chunk(0)[:3], table["x"].chunk(0)[3:]])}),
        table.drop_columns("x").append_column("x", pa.nulls(len(table))),
        table.to_pandas(types_mapper=pd.ArrowDtype),
        *(table.set_column(2, "x", table.column("x").cast(arrow)) for arrow in case.others),
    ]  # fmt: skip
    for form in forms:
        db.apply({"t": form})
        found = db.sql("SELECT x FROM t ORDER BY id").arrow()
        assert found.schema.field("x").type == case.arrow
        if len(found) and found.column("x").null_count < len(found):
            assert same(found.column("x").to_pylist(), plain), type(form)
        db.sql("DELETE FROM t")


@BY_NAME
def test_sql_literals_and_parameters(case: Case) -> None:
    db = connected(case)
    for number, value in enumerate(case.values):
        db.sql(f"INSERT INTO t VALUES ({number}, 0, {case.literal(value)})")
        db.sql("INSERT INTO t VALUES (?, 0, ?)", [number + 100, value])
    found = db.sql("SELECT x FROM t ORDER BY id % 100, id").fetchall()
    assert same([x for (x,) in found], [v for value in case.values for v in (in_python(value), in_python(value))])
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT id FROM t WHERE x = " + case.literal(case.values[1]))
    db.sql("CREATE MATERIALIZED VIEW w AS SELECT id FROM t WHERE x >= ?", [case.values[2]])
    assert len(db.view("v").fetchall()) == 2
    assert len(db.view("w").fetchall()) == 2 * (len(case.values) - 2)
    db.verify()


@BY_NAME
def test_what_does_not_fit_is_refused(case: Case) -> None:
    db = connected(case)
    for value in case.refused:
        with pytest.raises(ivm.TypeMismatchError, match="'x'"):
            db.apply({"t": [{"id": 1, "g": 1, "x": value}]})
    with pytest.raises(ivm.ConstraintError, match="'y'"):
        db.apply({"u": [{"id": 1, "y": None}]})
    assert db.sql("SELECT * FROM t").fetchall() == []


@BY_NAME
def test_a_key_of_the_type(case: Case) -> None:
    db = ivm.connect(compile="off")
    db.sql(f"CREATE TABLE k (x {case.sql} PRIMARY KEY, n BIGINT)")
    db.apply({"k": {"x": pa.array(case.values, case.arrow), "n": np.arange(len(case.values))}})
    with pytest.raises(ivm.ConstraintError):
        db.apply({"k": {"x": pa.array(case.values[:1], case.arrow), "n": [0]}})
    with db.transaction() as tx:
        tx.upsert("k", {"x": pa.array(case.values[:2], case.arrow), "n": [8, 9]})
        tx.delete("k", {"x": pa.array(case.values[2:3], case.arrow)})
    found = db.sql("SELECT n FROM k ORDER BY x").fetchall()
    assert [n for (n,) in found] == [8, 9, *range(3, len(case.values))]
