"""Rows that are changed by their key, one after the other, against DuckDB, which is told the same."""

from __future__ import annotations

import random
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
