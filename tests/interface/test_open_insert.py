"""An INSERT of nothing but ? takes values as their literals would be taken, or refuses them alike."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import numpy as np
import pytest

import ivm
from ivm.catalog.errors import Error
from ivm.sql.parameters import filled
from ivm.sql.plain_insert import OpenInsert, open_insert

TYPES = (
    "BOOLEAN", "TINYINT", "INTEGER", "UBIGINT", "BIGINT NOT NULL", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL(9, 2)",
    "DECIMAL(30, 3)", "VARCHAR", "VARCHAR NOT NULL DEFAULT 'x'", "BLOB", "DATE", "TIMESTAMP", "TIMESTAMPTZ", "TIME", "UUID",
    "ENUM('a', '1')",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 127, 128, 2**31, -(2**63), 2**63, 2**64, 10**38, 0.0, -0.0, 0.5, 1e300,
    float("nan"), float("inf"), Decimal("1.25"), Decimal("1.255"), Decimal("-0.01"), Decimal("1E+20"), Decimal("NaN"),
    "", "a", "it's ?", "1", "1.5", "true", "2024-02-29", "null", "\0", "a\0b", "\ud800", "é😀", b"", b"\x00\xff",
    dt.date(2024, 2, 29), dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.datetime(2024, 2, 29, 1, 2, 3, 456789),
    dt.datetime(1969, 12, 31, 23, 59, 59, 999999), dt.datetime(2024, 1, 1, tzinfo=dt.UTC), dt.time(1, 2, 3), UUID(int=5),
    5.0, 1e15, 2.0**53, 2.0**60, 0.1, 1234567.89, 2.005, 3.4028235e38, 3.5e38, 16777217, 2**53, 2**53 + 1, dt.time(1, tzinfo=dt.UTC),
    dt.datetime(2024, 7, 1, 2, 30, tzinfo=ZoneInfo("Europe/Zurich")), dt.datetime(1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1))),
    dt.datetime(2024, 10, 27, 2, 30, tzinfo=ZoneInfo("Europe/Zurich"), fold=1), dt.datetime.max, "-1.50", "1.505", "1e2",
    "2024-02-29 01:02:03", "2024-02-29T01:02:03.5Z", "2024-02-29 01:02:03+05:30", "01:02:03.25", "24:00:00", str(UUID(int=5)),
    UUID(int=5).hex, "{00000000-0000-0000-0000-000000000005}", np.int64(7), np.float64(0.25), np.bool_(True), [1], {"a": 1},
)  # fmt: skip


def put(db: ivm.Database, *text: Any) -> str:
    """What becomes of an INSERT."""
    try:
        db.sql(*text)
    except Error as error:
        return type(error).__name__
    return "inserted"


@pytest.mark.parametrize("type_", TYPES)
def test_values_are_taken_as_their_literals(type_: str) -> None:
    one, two = ivm.connect(), ivm.connect()
    for db in (one, two):
        db.sql(f"CREATE TABLE t (n BIGINT PRIMARY KEY, v {type_})")
    for number, value in enumerate(VALUES):
        text, params = "INSERT INTO t VALUES (?, ?)", [number, value]
        found = put(one, text, params)
        try:
            literal = filled(text, params)
        except Error as error:
            refused = type(error).__name__
        else:
            refused = put(two, literal)
        assert found == refused, value
    assert list(map(repr, one.sql("SELECT * FROM t ORDER BY n").fetchall())) == list(
        map(repr, two.sql("SELECT * FROM t ORDER BY n").fetchall())
    )


def test_texts_that_are_open() -> None:
    found = open_insert('insert into "a ""b" (x, "Y") values (?, ?),\n ( ?,?) ; ')
    assert found == OpenInsert('a "b', ("x", "Y"), 2, 2)
    assert open_insert("INSERT INTO t VALUES(?)") == OpenInsert("t", (), 1, 1)
    met = "on conflict (a, \"B\") Do Update Set c = excluded.c || ';', d=EXCLUDED . a - 1 RETURNING *"
    assert open_insert(f"INSERT INTO t VALUES (?) {met} ; ") == OpenInsert("t", (), 1, 1, "", met)
    assert open_insert("INSERT OR Replace INTO t VALUES (?)") == OpenInsert("t", (), 1, 1, "REPLACE")
    for text in (
        "INSERT INTO t VALUES (?, 1)",
        "INSERT INTO t VALUES (?), (?, ?)",
        "INSERT INTO t VALUES (?) ON CONFLICT (a) DO UPDATE SET b = ?",
        "INSERT INTO t VALUES (?) ON CONFLICT (a) DO UPDATE SET b = 1 -- one",
        "INSERT INTO t VALUES (?) ON CONFLICT (a) DO UPDATE SET b = 1 /* one */",
        "INSERT INTO t VALUES (?) ON CONFLICT (a) DO UPDATE SET b = E'\\''",
        "INSERT INTO t VALUES (?) ON CONFLICT (a) DO UPDATE SET b = $$;$$",
        "INSERT OR ABORT INTO t VALUES (?)",
        "INSERT INTO t VALUES (?); INSERT INTO t VALUES (?)",
        'INSERT INTO "s".t VALUES (?)',
        "INSERT INTO t VALUES ($1)",
        "INSERT INTO t SELECT ?",
        "INSERT INTO t VALUES (?) -- one",
    ):
        assert open_insert(text) is None, text


def test_columns_that_are_left_out_have_their_defaults() -> None:
    db = ivm.connect()
    db.sql("CREATE TABLE t (a BIGINT, b VARCHAR DEFAULT 'x', c DOUBLE)")
    db.sql("INSERT INTO t (c, a) VALUES (?, ?), (?, ?)", (0.5, 1, None, 2))
    assert sorted(db.sql("SELECT * FROM t").fetchall()) == [(1, "x", 0.5), (2, "x", None)]


@pytest.mark.parametrize("params", [[1], [1, 2, 3], {"a": 1, "b": 2}, "ab", None])
def test_wrong_parameters_change_nothing(params: Any) -> None:
    db = ivm.connect()
    db.sql("CREATE TABLE t (a BIGINT, b BIGINT)")
    with pytest.raises(ivm.BindError, match="param"):
        db.sql("INSERT INTO t VALUES (?, ?)", params)
    assert db.sql("SELECT * FROM t").fetchall() == []
    with pytest.raises(ivm.BindError, match="has 2 columns"):
        db.sql("INSERT INTO t VALUES (?)", [1])
    with pytest.raises(ivm.BindError, match="no table"):
        db.sql("INSERT INTO u VALUES (?)", [1])


def test_a_row_of_a_key_that_is_there_is_refused() -> None:
    db = ivm.connect()
    db.sql("CREATE TABLE t (a BIGINT PRIMARY KEY)")
    db.sql("INSERT INTO t VALUES (?)", [1])
    with pytest.raises(ivm.ConstraintError):
        db.sql("INSERT INTO t VALUES (?), (?)", [2, 1])
    assert db.sql("SELECT * FROM t").fetchall() == [(1,)]
