"""Rows that are changed by their key, one after the other, against DuckDB, which is told the same."""

from __future__ import annotations

import random
from pathlib import Path
from unittest.mock import Mock

import duckdb
import pytest

import ivm
from ivm.results.result import tuples_of
from ivm.session import row_statements
from tests.more import with_more

_COLUMNS = {
    "k": "BIGINT PRIMARY KEY",
    "tiny": "TINYINT",
    "small": "INTEGER",
    "whole": "BIGINT NOT NULL",
    "positive": "UBIGINT",
    "huge": "HUGEINT",
    "price": "DECIMAL(9,2)",
    "long": "DECIMAL(30,4)",
    "rough": "FLOAT",
    "real": "DOUBLE",
    "yes": "BOOLEAN",
    "day": "DATE",
    "moment": "TIMESTAMP",
    "text": "VARCHAR",
    "city": "VARCHAR NOT NULL",
    "bytes": "BLOB",
}
_VALUES = {
    "tiny": ["-128", "127", "NULL"],
    "small": ["-7", "2147483647", "NULL"],
    "whole": ["-9223372036854775808", "0", "12"],
    "positive": ["18446744073709551615", "0", "NULL"],
    "huge": ["-99999999999999999999999999999999999999", "1", "NULL"],
    "price": ["-0.01", "9999999.99", "NULL"],
    "long": ["-12345678901234567890123456.7891", "0.0001", "NULL"],
    "rough": ["0.5", "-1.25", "NULL"],
    "real": ["0.1", "-2.5e300", "NULL"],
    "yes": ["TRUE", "FALSE", "NULL"],
    "day": ["DATE '1969-12-31'", "DATE '2024-02-29'", "NULL"],
    "moment": ["TIMESTAMP '1969-12-31 23:59:59.999999'", "TIMESTAMP '2024-02-29 12:00:00'", "NULL"],
    "text": ["''", "'it''s'", "'a text that is longer than a word, åßç'", "NULL"],
    "city": ["'Bern'", "'Oslo'", "''"],
    "bytes": ["'abc'", "NULL"],
}
_TABLE = f"CREATE TABLE t ({', '.join(f'{name} {type_}' for name, type_ in _COLUMNS.items())})"
_VIEWS = {
    "by_city": "SELECT city, count(*) AS rows, sum(whole) AS whole, sum(price) AS price FROM t GROUP BY city",
    "by_text": "SELECT text, max(day) AS day, sum(small) AS small FROM t GROUP BY text",
}


def _inserted(numbers: random.Random, key: int) -> str:
    return f"INSERT INTO t VALUES ({key}, {', '.join(numbers.choice(each) for each in _VALUES.values())})"


def _statement(numbers: random.Random, key: int) -> str:
    kind = numbers.random()
    if kind < 0.1:
        return f"DELETE FROM t WHERE k = {key}"
    names = numbers.sample(list(_VALUES), numbers.choice([1, 1, 2]))
    return f"UPDATE t SET {', '.join(f'{name} = {numbers.choice(_VALUES[name])}' for name in names)} WHERE k = {key}"


@pytest.mark.parametrize("seed", with_more([0], [1, 2]))
def test_columns_that_no_statement_names_stay_as_they_are(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers, counted = random.Random(seed), Mock(wraps=row_statements._change_by_key)
    monkeypatch.setattr(row_statements, "_change_by_key", counted)
    with ivm.connect() as db, duckdb.connect() as twin:
        for each in (db.sql, twin.execute):
            each(_TABLE)
        for name, text in _VIEWS.items():
            db.sql(f"CREATE MATERIALIZED VIEW {name} AS {text}")
        for number in range(260):
            key = numbers.randrange(30)
            is_there = twin.execute(f"SELECT count(*) FROM t WHERE k = {key}").fetchall() == [(1,)]
            statement = _statement(numbers, key) if is_there else _inserted(numbers, key)
            db.sql(statement)
            twin.execute(statement)
            if number % 20 == 19:
                expected = twin.execute("SELECT * FROM t ORDER BY k").fetchall()
                assert sorted(tuples_of(db.sql("SELECT * FROM t").arrow())) == expected
                db.verify()
    assert counted.call_count > 100


def test_what_fails_leaves_the_row_of_a_key_alone() -> None:
    with ivm.connect() as db:
        db.sql("CREATE TABLE t (k BIGINT PRIMARY KEY, v BIGINT NOT NULL, city VARCHAR NOT NULL, CHECK (v < 100))")
        db.sql("CREATE MATERIALIZED VIEW s AS SELECT city, sum(v) AS v FROM t GROUP BY city")
        for number in range(40):
            db.sql(f"INSERT INTO t VALUES ({number}, {number}, 'c{number % 3}')")
        before = db.sql("SELECT * FROM t ORDER BY k").fetchall()
        for number in range(40):
            with pytest.raises(ivm.ConstraintError):
                db.sql(f"UPDATE t SET v = 100 WHERE k = {number}")
        assert db.sql("SELECT * FROM t ORDER BY k").fetchall() == before
        for number in range(40):
            db.sql(f"UPDATE t SET v = {99 - number} WHERE k = {number}")
        assert db.sql("SELECT k, v FROM t ORDER BY k").fetchall() == [(k, 99 - k) for k in range(40)]
        db.verify()


def test_a_text_that_came_before_with_other_literals_means_what_it_means_by_now() -> None:
    with ivm.connect() as db:
        db.sql("CREATE TABLE t (k BIGINT PRIMARY KEY, v VARCHAR NOT NULL)")
        db.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")

        def put(key: int, value: str) -> None:
            assert db.sql(f"UPDATE t SET v = '{value}' WHERE k = {key}").fetchall() == [(1,)]

        def rows(table: str) -> list[tuple[object, ...]]:
            return db.sql(f"SELECT * FROM {table} ORDER BY k").fetchall()

        put(1, "first")
        put(2, "main.t AS OF 3; it''s -- /* $1 ? */")
        assert rows("t") == [(1, "first"), (2, "main.t AS OF 3; it's -- /* $1 ? */"), (3, "c")]
        db.sql("UPDATE t SET v = ? WHERE k = ?", ["by value", 3])
        db.sql("UPDATE t SET v = ? WHERE k = ?", ["it's", 2])
        assert rows("t") == [(1, "first"), (2, "it's"), (3, "by value")]

        db.sql("BEGIN")
        put(1, "within")
        assert rows("t")[0] == (1, "within")
        with pytest.raises(ivm.Error):
            db.sql("UPDATE t SET v = NULL WHERE k = 1")
        with pytest.raises(ivm.TransactionError, match="aborted"):
            put(1, "later")
        db.sql("ROLLBACK")
        assert rows("t")[0] == (1, "first")

        db.sql("CREATE SCHEMA s")
        db.sql("CREATE TABLE s.t (k BIGINT PRIMARY KEY, v VARCHAR NOT NULL)")
        db.sql("INSERT INTO s.t VALUES (1, 's')")
        db.sql("USE s")
        put(1, "of the path")
        assert (rows("s.t"), rows("main.t")[0]) == ([(1, "of the path")], (1, "first"))
        db.sql("USE main")
        db.sql("CREATE TEMP TABLE t (k BIGINT PRIMARY KEY, v VARCHAR NOT NULL)")
        db.sql("INSERT INTO temp.t VALUES (1, 'temporary')")
        put(1, "that ends")
        assert (rows("temp.t"), rows("main.t")[0]) == ([(1, "that ends")], (1, "first"))
        db.sql("DROP TABLE temp.t")

        db.sql("DROP TABLE t")
        with pytest.raises(ivm.BindError):
            put(1, "nowhere")
        db.sql("CREATE TABLE t (v VARCHAR, k BIGINT)")
        db.sql("INSERT INTO t VALUES ('x', 1), ('y', 1)")
        assert db.sql("UPDATE t SET v = 'both' WHERE k = 1").fetchall() == [(2,)]


def test_no_row_is_changed_by_its_key_where_nothing_may_be(tmp_path: Path) -> None:
    with ivm.connect(tmp_path / "db") as db:
        db.sql("CREATE TABLE t (k BIGINT PRIMARY KEY, v BIGINT)")
        db.sql("INSERT INTO t VALUES (1, 1)")
        for value in range(3):
            db.sql(f"UPDATE t SET v = {value} WHERE k = 1")
    with ivm.connect(tmp_path / "db", read_only=True) as db:
        with pytest.raises(ivm.AccessError):
            db.sql("UPDATE t SET v = 9 WHERE k = 1")
        with pytest.raises(ivm.AccessError):
            db.sql("DELETE FROM t WHERE k = 1")
        assert db.sql("SELECT v FROM t").fetchall() == [(2,)]
