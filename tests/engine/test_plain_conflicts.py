"""INSERTs that meet rows leave what they leave in DuckDB, by literals and by parameters, and need no second engine."""

from __future__ import annotations

import random
from datetime import datetime
from functools import partial
from typing import Any
from unittest import mock

import duckdb
import pytest

import ivm
from ivm.session import statements

TABLES = (
    "a INTEGER PRIMARY KEY, b INTEGER, c VARCHAR DEFAULT 'none'",
    "a INTEGER PRIMARY KEY, b INTEGER UNIQUE, c VARCHAR NOT NULL",
    "a INTEGER, b INTEGER, c VARCHAR, PRIMARY KEY (a, c)",
    "a INTEGER PRIMARY KEY, b INTEGER CHECK (b < 5), c VARCHAR",
    "a INTEGER UNIQUE NOT NULL, b INTEGER, c VARCHAR",
)
HEADS = ("INSERT INTO", "INSERT INTO", "INSERT INTO", "INSERT OR REPLACE INTO", "INSERT OR IGNORE INTO")
ENDS = (
    "", "ON CONFLICT DO NOTHING", "ON CONFLICT (a) DO NOTHING", "on conflict(a) do update set b = excluded.b",
    "ON CONFLICT DO UPDATE SET c = EXCLUDED.c, b = excluded . b", "ON CONFLICT (a) DO UPDATE SET b = excluded.a",
    "ON CONFLICT (A, c) DO UPDATE SET b = excluded.b", "ON CONFLICT (b) DO UPDATE SET c = excluded.c",
    "ON CONFLICT (b) DO UPDATE SET a = excluded.a", "ON CONFLICT (x) DO NOTHING", "ON CONFLICT (a) DO UPDATE SET x = excluded.b",
    "ON CONFLICT (a) DO UPDATE SET b = excluded.b, b = excluded.a", "ON CONFLICT (a) DO UPDATE SET b = excluded.b + 1",
    "ON CONFLICT (a) DO UPDATE SET c = excluded.b", "ON CONFLICT (a) DO UPDATE SET b = excluded.b WHERE excluded.b > 2",
    "ON CONFLICT (a) DO UPDATE SET b = t.b + excluded.b", "RETURNING *", "returning c, b * 2 AS \"d;\"",
    "ON CONFLICT (a) DO UPDATE SET b = b + 1, c = excluded.c || c WHERE t.b IS NOT NULL RETURNING a, b, c || ';' AS d",
    "ON CONFLICT (a) DO UPDATE SET b = b * 1000000000, c = 'far'", "ON CONFLICT (a) DO UPDATE SET c = NULL, b = 2",
    "ON CONFLICT (a, c) DO UPDATE SET b = coalesce(t.b, 0) - excluded.a RETURNING b // (b - 2) AS \"returning\", t.a AS x",
    "ON CONFLICT DO NOTHING RETURNING *", "ON CONFLICT (a) DO UPDATE SET b = DEFAULT, c = DEFAULT RETURNING c",
    "ON CONFLICT (b) DO UPDATE SET a = t.a + 1, b = t.b RETURNING a",
)  # fmt: skip


def outcome(run: Any, *statement: Any) -> Any:
    try:
        found = run(*statement)
        return sorted(found.fetchall(), key=repr), "RETURNING" in statement[0] and [
            each[0] for each in found.description
        ]
    except (ivm.Error, duckdb.Error):
        return "refused"


def written(value: Any) -> str:
    return "NULL" if value is None else repr(value)


def as_expression(chance: random.Random, value: Any) -> str:
    """The value as a text, now and then as one that has to be computed."""
    if chance.random() < 0.9:
        return written(value)
    if isinstance(value, int):
        return chance.choice(
            ("DEFAULT", f"{value + 1} - 1", f"(abs({-value}))", f"CAST('{value}' AS BIGINT)", "1 // 0")
        )
    return chance.choice(
        ("DEFAULT", "lower('X')", "'x' || NULL", "coalesce(NULL, 'y')", "concat('a,', ')')", "'x' || [1]")
    )


@pytest.mark.parametrize("columns", TABLES)
def test_rows_that_meet_others(columns: str) -> None:
    chance, done = random.Random(columns), 0
    db = ivm.connect(compile="off")
    with duckdb.connect() as duck:
        for run in (db.sql, duck.execute):
            run(f"CREATE TABLE t ({columns})")
        db.sql("CREATE MATERIALIZED VIEW v AS SELECT c, sum(b) AS s, count(*) AS n FROM t GROUP BY c")
        for step in range(100):
            head = chance.choice(HEADS)
            names = chance.choice(((), (), ("a", "b"), ("c", "a"), ("b", "c", "a")))
            width, count = len(names) or 3, chance.choice((1, 1, 1, 2, 3))
            if "b INTEGER UNIQUE" in columns:
                count = 1  # since DuckDB leaves out rows that agree with another one of the statement, also by NULL
            kinds = [name == "c" for name in names or "abc"]
            rows = [
                [chance.choice(("x", "y", None) if text else (1, 2, 3, 4, 9, None)) for text in kinds]
                for _ in range(count)
            ]
            listed = f"({', '.join(names)})" if names else ""
            end = "" if " OR " in head and chance.random() < 0.9 else chance.choice(ENDS)
            by_marks = chance.random() < 0.5
            write = written if by_marks else partial(as_expression, chance)
            values = ", ".join(f"({', '.join(map(write, row))})" for row in rows)
            text = f"{head} t {listed} VALUES {values} {end}"
            expected = outcome(duck.execute, text)
            if by_marks:
                marks = ", ".join([f"({', '.join('?' * width)})"] * count)
                found = outcome(
                    db.sql, f"{head} t {listed} VALUES {marks} {end};", [each for row in rows for each in row]
                )
            else:
                found = outcome(db.sql, text)
            assert found == expected, text
            query = "SELECT * FROM t ORDER BY ALL"
            assert db.sql(query).fetchall() == duck.execute(query).fetchall(), text
            done += found != "refused"
            if step % 25 == 24:
                db.verify()
                for run in (db.sql, duck.execute):
                    run("DELETE FROM t WHERE a < 3")
    assert done > 8


def test_what_is_wrong_is_told_whether_rows_meet_or_not() -> None:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER)")
    for wrong in ("x = excluded.b", "b = excluded.x", "b = x + 1"):
        with pytest.raises(ivm.BindError, match="x"):
            db.sql(f"INSERT INTO t VALUES (1, 1) ON CONFLICT (a) DO UPDATE SET {wrong}")
    assert db.sql("SELECT count(*) FROM t").fetchall() == [(0,)]


def test_they_need_no_second_engine() -> None:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER); INSERT INTO t VALUES (1, 1)")
    with mock.patch.object(statements, "parse", side_effect=AssertionError):
        assert db.sql(
            "INSERT INTO t VALUES (1, 2), (2, 5) ON CONFLICT (a) DO UPDATE SET b = excluded.b"
        ).fetchall() == [(2,)]
        assert db.sql("INSERT OR REPLACE INTO t VALUES (?, ?)", [2, 6]).fetchall() == [(1,)]
        assert db.sql("INSERT OR IGNORE INTO t VALUES (2, 7)").fetchall() == [(0,)]
        added = (
            "INSERT INTO t VALUES (?, ?) ON CONFLICT (a) DO UPDATE SET b = t.b + excluded.b WHERE t.b < 8 RETURNING b"
        )
        assert db.sql(added, [2, 3]).fetchall() == [(9,)]
        assert db.sql(added, [2, 4]).fetchall() == []
        assert db.sql("INSERT INTO t VALUES (2 + 1, DEFAULT), (length('four'), 4) RETURNING *").fetchall() == [
            (3, None),
            (4, 4),
        ]
        assert db.sql("UPDATE t SET b = length('x' || upper('y')) WHERE a = 3 RETURNING b").fetchall() == [(2,)]
    assert db.sql("SELECT * FROM t ORDER BY a").fetchall() == [(1, 2), (2, 9), (3, 2), (4, 4)]


def test_what_time_it_is() -> None:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (a INTEGER PRIMARY KEY, seen TIMESTAMPTZ, local TIMESTAMP, day DATE)")
    db.tick(datetime(2024, 2, 29, 12))
    with mock.patch.object(statements, "parse", side_effect=AssertionError):
        db.sql(
            "INSERT INTO t VALUES (1, now(), current_timestamp, current_date), (2, now() - INTERVAL 1 DAY, now(), NULL)"
        )
        db.sql("UPDATE t SET day = current_date WHERE a = 2")
        db.sql("INSERT INTO t (a) VALUES (3) ON CONFLICT DO NOTHING")
    seen = "SELECT epoch(seen)::BIGINT, local, day FROM t ORDER BY a"
    day = datetime(2024, 2, 29)
    there = [(1709208000, day.replace(hour=12), day.date()), (1709121600, day.replace(hour=12), day.date())]
    assert db.sql(seen).fetchall() == [*there, (None, None, None)]
    db.sql("SET TimeZone = 'America/New_York'")
    db.sql("UPDATE t SET local = now() WHERE a = 3")
    db.sql("INSERT INTO t VALUES (4, now(), now(), current_date) RETURNING a")
    assert db.sql("SELECT local FROM t WHERE a > 2").fetchall() == [(day.replace(hour=7),)] * 2


@pytest.mark.parametrize("shards", [None, 2])
def test_within_a_transaction_and_over_shards(shards: int | None) -> None:
    db = ivm.connect(compile="off", shards=shards)
    db.sql("CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER); INSERT INTO t VALUES (1, 1), (2, 2)")
    db.sql("BEGIN")
    db.sql("INSERT INTO t VALUES (?, ?) ON CONFLICT (a) DO UPDATE SET b = excluded.b", [1, 10])
    db.sql("INSERT INTO t VALUES (?, ?) ON CONFLICT (a) DO UPDATE SET b = excluded.b", [1, 11])
    db.sql("INSERT OR IGNORE INTO t VALUES (1, 12), (3, 3)")
    more = "INSERT INTO t VALUES (?, ?), (?, ?) ON CONFLICT (a) DO UPDATE SET b = t.b + excluded.b RETURNING a, b"
    assert db.sql(more, [3, 1, 4, 1]).fetchall() == [(3, 4), (4, 1)]
    assert db.sql("SELECT * FROM t ORDER BY a").fetchall() == [(1, 11), (2, 2), (3, 4), (4, 1)]
    db.sql("ROLLBACK")
    assert db.sql(more, [2, 1, 4, 1]).fetchall() == [(2, 3), (4, 1)]
    db.sql("INSERT OR REPLACE INTO t VALUES (2, 20), (4, 40)")
    assert db.sql("SELECT * FROM t ORDER BY a").fetchall() == [(1, 1), (2, 20), (4, 40)]


ZONES = ("Europe/Zurich", "UTC", "Asia/Tokyo")
BEFORE_EACH = (
    *(f"SET TimeZone = '{zone}'" for zone in ZONES), "CREATE UNIQUE INDEX b_once ON t (b)", "DROP INDEX b_once",
    "ALTER TABLE t ADD COLUMN d INTEGER DEFAULT 7", "ALTER TABLE t DROP COLUMN d", "ALTER TABLE t RENAME b TO e",
    "ALTER TABLE t RENAME e TO b", "BEGIN; ALTER TABLE t RENAME b TO e", "ROLLBACK",
    "DROP TABLE t; CREATE TABLE t (a INTEGER, b VARCHAR PRIMARY KEY, seen TIMESTAMPTZ)",
    "DROP TABLE t; CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER, seen TIMESTAMP)",
    *(f"SET TimeZone = '{zone}'" for zone in ZONES),
)  # fmt: skip
TEXTS = (
    "INSERT INTO t (a, b) VALUES (1, 2) ON CONFLICT DO NOTHING",
    "INSERT INTO t (a, b) VALUES (1, 3) ON CONFLICT (a) DO UPDATE SET b = t.b + excluded.b",
    "INSERT INTO t (a, b) VALUES (2, 3) ON CONFLICT (b) DO UPDATE SET a = excluded.a + 10 RETURNING a",
    "INSERT INTO t (a, seen) VALUES (1, NULL) ON CONFLICT (a) DO UPDATE SET seen = CAST('2024-07-01 12:00' AS TIMESTAMPTZ)",
    "INSERT INTO t (a, b, seen) VALUES (abs(-3), 4, '2024-07-01 12:00'::TIMESTAMPTZ + INTERVAL 1 DAY)"
    " ON CONFLICT DO NOTHING",
)


def test_a_text_means_what_it_means_now() -> None:
    """What is remembered of a text holds for the table, the zone and the database in which it came."""
    whole = [ivm.connect(compile="off") for _ in range(2)]
    create = "CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER, seen TIMESTAMPTZ)"
    with duckdb.connect() as duck:
        whole[1].sql("CREATE TABLE t (a INTEGER, b VARCHAR PRIMARY KEY, seen DATE)")
        for run in (whole[0].sql, duck.execute):
            run(f"SET TimeZone = 'UTC'; {create}")
        for change in ("SELECT 1", *BEFORE_EACH):
            for run in (whole[0].sql, duck.execute):
                run(change)
            for text in TEXTS:
                for db in whole[1:]:
                    outcome(db.sql, text)
                if "BEGIN" in change:  # an error ends it
                    break
                assert outcome(whole[0].sql, text) == outcome(duck.execute, text), (change, text)
            rows = "SELECT * REPLACE (epoch(seen) AS seen) FROM t ORDER BY ALL"
            assert whole[0].sql(rows).fetchall() == duck.execute(rows).fetchall(), change
            if "BEGIN" not in change:
                for run in (whole[0].sql, duck.execute):
                    run("DELETE FROM t WHERE a > 1")
