"""A small world of tables with NULLs, duplicates and ties, in a catalog, in the model and in DuckDB alike."""

from __future__ import annotations

from collections import Counter
from functools import cache

import duckdb

from ivm.catalog.catalog import Catalog
from ivm.catalog.types import INTERVAL, TIMESTAMPTZ, SqlType
from ivm.sql.bind import BoundQuery, bind
from ivm.sql.ir.scalar import Value
from ivm.sql.parse import parse
from ivm.sql.statements import CreateTable
from tests.model.relation import evaluate
from tests.model.values import to_engine

SCHEMA = """
CREATE TABLE t (b BOOLEAN, ti TINYINT, si SMALLINT, i INTEGER, bi BIGINT, hi HUGEINT, d52 DECIMAL(5, 2),
    d152 DECIMAL(15, 2), d184 DECIMAL(18, 4), d386 DECIMAL(38, 6), f DOUBLE, dt DATE, ts TIMESTAMP, v VARCHAR,
    u8 UTINYINT, u16 USMALLINT, u32 UINTEGER, u64 UBIGINT, r FLOAT,
    tz TIMESTAMPTZ, tm TIME);
CREATE TABLE dept (id INTEGER PRIMARY KEY, name VARCHAR NOT NULL, city VARCHAR);
CREATE TABLE emp (id BIGINT PRIMARY KEY, dept INTEGER REFERENCES dept, name VARCHAR, pay DECIMAL(9, 2), born DATE);
CREATE TABLE bonus (id BIGINT NOT NULL, amount DECIMAL(9, 2));
"""
ROWS = """
INSERT INTO t VALUES
    (true, 1, 2, 3, 4, 5, 1.25, 10.50, 7.1234, 0.5, 0.25, '2020-01-31', '2020-01-31 12:30:00', 'apple',
     1, 2, 3, 4, 0.1, '2020-01-31 12:30:00+02', '12:30:00.5'),
    (false, -1, 0, 30, 40, 50, -1.25, 10.50, -7.1, 12.345678, -0.5, '2020-02-29', '2020-02-29 00:00:00', 'Banana',
     255, 65535, 4294967295, 18446744073709551615, -2.5, '2020-02-29 00:00:00Z', '00:00'),
    (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (true, 5, NULL, 3, 9000000000, 5, 99.99, 0.01, 7.1234, 3, 2, '1999-12-31', '1999-12-31 23:59:59.5', ' pear ',
     5, NULL, 3, 5, 2, '1999-12-31 23:59:59.5+00', '23:59:59.999999'),
    (true, 5, NULL, 3, 9000000000, 5, 99.99, 0.01, 7.1234, 3, 2, '1999-12-31', '1999-12-31 23:59:59.5', ' pear ',
     5, NULL, 3, 5, 2, '1999-12-31 23:59:59.5+00', '23:59:59.999999');
INSERT INTO dept VALUES (1, 'tools', 'Bonn'), (2, 'toys', NULL), (3, 'books', 'Ulm');
INSERT INTO emp VALUES (1, 1, 'ann', 100, '1990-05-06'), (2, 1, 'bob', 80.5, '1985-01-01'),
    (3, 2, 'cid', 80.5, NULL), (4, NULL, 'dan', NULL, '2000-02-29'), (5, 2, 'eve', 120, '1990-05-06');
INSERT INTO bonus VALUES (1, 10), (1, 10), (2, NULL), (5, 3.5), (9, 1);
"""


@cache
def catalog() -> Catalog:
    """The catalog of the world; views may be put into a copy."""
    made = Catalog()
    for statement in parse(SCHEMA):
        assert isinstance(statement, CreateTable)
        made.add_table(statement.table)
    return made


@cache
def database() -> duckdb.DuckDBPyConnection:
    """DuckDB with the tables of the world."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute(SCHEMA)
    connection.execute(ROWS)
    return connection


@cache
def tables() -> dict[str, Counter[tuple[Value, ...]]]:
    """The tables as bags in engine form."""
    bags = {}
    for table in catalog().tables:
        types = [field.type for field in table.fields]
        rows = fetched(f"SELECT * FROM {table.name}", types)
        bags[table.name] = Counter(tuple(map(to_engine, row, types)) for row in rows)
    return bags


def fetched(query: str, types: list[SqlType]) -> list[tuple[object, ...]]:
    """DuckDB's rows; moments with a time zone, which it makes no Python objects of by itself, without one in UTC, and
    intervals, of which it makes others, as texts.
    """
    made = {TIMESTAMPTZ: "TIMESTAMP", INTERVAL: "VARCHAR"}
    if not made.keys().isdisjoint(types):
        columns = (f"c{i}::{made[type_]}" if type_ in made else f"c{i}" for i, type_ in enumerate(types))
        query = f"SELECT {', '.join(columns)} FROM ({query}) AS q({', '.join(f'c{i}' for i in range(len(types)))})"
    return database().execute(query).fetchall()


def modelled(
    bound: BoundQuery, bags: dict[str, Counter[tuple[Value, ...]]] | None = None
) -> Counter[tuple[Value, ...]]:
    """What the relation denotes."""
    return evaluate(bound.relation, bags or tables())


def expected(bound: BoundQuery) -> Counter[tuple[Value, ...]]:
    """What DuckDB answers."""
    types = [field.type for field in bound.schema]
    rows = fetched(bound.oracle_sql, types)
    return Counter(tuple(map(to_engine, row, types)) for row in rows)


def bound(text: str) -> BoundQuery:
    """The query over the world."""
    return bind(text, catalog())


def described(text: str) -> list[tuple[str, str]]:
    """Names and types of the columns of a query as DuckDB gives them; a column of nothing but NULL is an INTEGER."""
    rows = database().execute(f"DESCRIBE {text}").fetchall()
    return [(row[0], "INTEGER" if row[1] == '"NULL"' else row[1]) for row in rows]
