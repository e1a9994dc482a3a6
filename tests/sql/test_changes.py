"""The SELECTs of INSERT, DELETE and UPDATE must run in DuckDB and yield what DuckDB itself would change."""

from __future__ import annotations

import duckdb
import pytest

from ivm.catalog.errors import BindError
from ivm.sql.changes import columns_to_insert, rows_to_delete, rows_to_insert, rows_to_update
from ivm.sql.parse import parse
from ivm.sql.statements import CreateTable, Delete, Insert, Update

TABLE = 'CREATE TABLE t (a BIGINT, b DECIMAL(5, 2), "select" VARCHAR, d DATE)'
ROWS = "INSERT INTO t VALUES (1, 1.5, 'x', DATE '2020-02-03'), (2, NULL, 'y', NULL), (2, 7, NULL, NULL)"


def table():
    (statement,) = parse(TABLE)
    assert isinstance(statement, CreateTable)
    return statement.table


@pytest.fixture
def database():
    with duckdb.connect() as connection:
        connection.execute(TABLE)
        connection.execute(ROWS)
        yield connection


def rows(database, text: str = "SELECT * FROM t"):
    return sorted(database.execute(text).fetchall(), key=repr)


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO t VALUES (3, 2, 'z', '2021-01-01'), (4, 1.25, '5', NULL)",
        "INSERT INTO t (\"SELECT\", a) VALUES ('u', 7)",
        "INSERT INTO t (a) WITH c AS (SELECT a + 10 AS n FROM t) SELECT n FROM c",
    ],
)
def test_insert(database, text: str):
    (insert,) = parse(text)
    assert isinstance(insert, Insert)
    text_of_rows = rows_to_insert(insert, table(), columns_to_insert(insert, table()))
    before, added = rows(database), rows(database, text_of_rows)
    database.execute(text)
    assert sorted(before + added, key=repr) == rows(database)


@pytest.mark.parametrize(
    "text", ["DELETE FROM t", "DELETE FROM t WHERE a = 2 AND b IS NULL", "DELETE FROM t AS x WHERE x.a < 2"]
)
def test_delete(database, text: str):
    (delete,) = parse(text)
    assert isinstance(delete, Delete)
    before, removed = rows(database), rows(database, rows_to_delete(delete, table()))
    database.execute(text)
    assert removed
    assert sorted(rows(database) + removed, key=repr) == before


@pytest.mark.parametrize(
    "text",
    [
        "UPDATE t SET a = a + 1, b = 3 WHERE d IS NULL",
        "UPDATE t SET \"select\" = a, d = '1999-12-31'",
        "UPDATE t AS x SET a = (SELECT max(a) FROM t) WHERE x.b > 1",
    ],
)
def test_update(database, text: str):
    (update,) = parse(text)
    assert isinstance(update, Update)
    before, both = rows(database), rows(database, rows_to_update(update, table()))
    width = len(table().fields)
    removed, added = [row[:width] for row in both], [row[width:] for row in both]
    database.execute(text)
    for row in removed:
        before.remove(row)
    assert sorted(before + added, key=repr) == rows(database)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("INSERT INTO t (aa) VALUES (1)", "no column 'aa'"),
        ("INSERT INTO t (a, a) VALUES (1, 2)", "names column 'a' twice"),
        ("UPDATE t SET bb = 1", "no column 'bb'"),
    ],
)
def test_columns_are_checked(text: str, message: str):
    (change,) = parse(text)
    rows_of = columns_to_insert if isinstance(change, Insert) else rows_to_update
    with pytest.raises(BindError, match=message):
        rows_of(change, table())  # type: ignore[arg-type]
