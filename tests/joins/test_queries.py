"""Queries with joins, set operations and DISTINCT mean what DuckDB says, with its names and types."""

from __future__ import annotations

from collections import Counter
from functools import cache

import duckdb
import pytest

from ivm.catalog.catalog import Catalog
from ivm.sql.bind import bind
from ivm.sql.ir.scalar import Value
from ivm.sql.parse import parse
from ivm.sql.statements import CreateTable
from ivm.transform.pipeline import optimize
from tests.joins.queries import DISTINCTS, JOINS, SETS, TABLES
from tests.model.relation import evaluate
from tests.model.values import to_engine

ROWS = """
INSERT INTO a VALUES (1, 1, 'x'), (1, 1, 'x'), (1, 2, NULL), (2, 3, 'y'), (NULL, 1, 'x'), (NULL, NULL, NULL), (3, 0, 'y'), (0, 2, 'xz');
INSERT INTO b VALUES (1, 1, 'x'), (1, 1, 'x'), (1, 4, NULL), (2, 0, 'y'), (NULL, 2, 'x'), (NULL, NULL, NULL), (5, 2, 'y'), (0, 3, 'xz');
INSERT INTO d VALUES (0, 1, 1.5), (1, 1, NULL), (2, NULL, 0), (3, 5, 2.25);
"""
QUERIES = JOINS | SETS | DISTINCTS


@cache
def catalog() -> Catalog:
    made = Catalog()
    for statement in parse(";".join(TABLES.values())):
        assert isinstance(statement, CreateTable)
        made.add_table(statement.table)
    return made


@cache
def database() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    for text in TABLES.values():
        connection.execute(text)
    connection.execute(ROWS)
    return connection


@cache
def tables() -> dict[str, Counter[tuple[Value, ...]]]:
    return {t.name: rows(f"SELECT * FROM {t.name}", t.fields) for t in catalog().tables}


def rows(text: str, schema) -> Counter[tuple[Value, ...]]:
    types = [field.type for field in schema]
    return Counter(tuple(map(to_engine, row, types)) for row in database().execute(text).fetchall())


@pytest.mark.parametrize("name", QUERIES)
def test_means_what_duckdb_says(name):
    bound = bind(QUERIES[name], catalog())
    expected = rows(bound.oracle_sql, bound.schema)
    assert evaluate(bound.relation, tables()) == expected
    assert evaluate(optimize(bound.relation), tables()) == expected


@pytest.mark.parametrize("name", QUERIES)
def test_names_and_types_are_duckdbs(name):
    bound = bind(QUERIES[name], catalog())
    # A view numbers columns of one name as a subquery does.
    described = database().execute(f"DESCRIBE SELECT * FROM ({QUERIES[name]})").fetchall()
    assert [(f.name, str(f.type)) for f in bound.schema] == [(row[0], row[1]) for row in described]


@pytest.mark.parametrize("name", QUERIES)
def test_columns_that_cannot_be_null_hold_no_null(name):
    bound = bind(QUERIES[name], catalog())
    for row in evaluate(bound.relation, tables()):
        assert all(f.nullable or value is not None for value, f in zip(row, bound.schema, strict=True))


def test_queries_have_rows():
    assert [name for name in QUERIES if not database().execute(QUERIES[name]).fetchall()] == []
