"""The official texts bind to DuckDB's names and types."""

from __future__ import annotations

import duckdb
import pytest

from ivm.catalog.catalog import Catalog
from ivm.sql.bind import bind
from ivm.sql.parse import parse
from ivm.sql.statements import CreateTable
from ivm.tpch import queries, schema


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    made = Catalog()
    for statement in parse(schema.ddl()):
        assert isinstance(statement, CreateTable)
        made.add_table(statement.table)
    return made


@pytest.fixture(scope="module")
def database():
    with duckdb.connect() as connection:
        connection.execute(schema.ddl())
        yield connection


@pytest.mark.parametrize("name", queries.NAMES)
def test_a_query_has_duckdbs_schema(catalog, database, name: str):
    query = bind(queries.text(name), catalog)
    described = database.execute(f"DESCRIBE {query.oracle_sql}").fetchall()
    assert [(f.name, str(f.type)) for f in query.schema] == [(row[0].lower(), row[1]) for row in described]
    assert set(query.uses) == set(queries.reads(name))
