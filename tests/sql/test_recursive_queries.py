"""Random WITH RECURSIVE over small random tables: DuckDB, what is bound and what it is optimized to agree."""

from __future__ import annotations

from collections import Counter
from functools import cache
from threading import Timer

import duckdb
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ivm.catalog.catalog import Catalog
from ivm.sql.bind import bind
from ivm.sql.parse import parse
from ivm.sql.statements import CreateTable
from ivm.transform.check import check_relation
from ivm.transform.pipeline import optimize
from tests.model.relation import EndlessError, evaluate
from tests.model.values import to_engine

SCHEMA = "CREATE TABLE e (s BIGINT, d BIGINT); CREATE TABLE f (a INTEGER NOT NULL, b BIGINT)"
RELAXED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])

# Queries of two columns. Those of `STEPS` go along an edge of e for each row of q, so that they end on levels.
STEPS = (
    "SELECT q.a, e.d FROM q JOIN e ON q.b = e.s",
    "SELECT e.s, e.d FROM q JOIN e ON q.b = e.s WHERE q.a <> 2",
    "SELECT e.d, e.d FROM e, q WHERE q.b = e.s",
    "SELECT q.a, e.d FROM q JOIN e ON q.b = e.s WHERE EXISTS (SELECT 1 FROM f WHERE f.a = q.a)",
    "SELECT q.a, e.d FROM q JOIN e ON q.b = e.s WHERE NOT EXISTS (SELECT 1 FROM f WHERE f.b = e.d)",
    "SELECT q.a, x.d FROM q, LATERAL (SELECT d FROM e WHERE e.s = q.b) AS x",
    "SELECT x.a, y.d FROM e AS y, LATERAL (SELECT a FROM q WHERE q.b = y.s) AS x",
    "SELECT x.a, e.d FROM q x JOIN q y ON x.b = y.a JOIN e ON y.b = e.s",
    "SELECT q.a, max(e.d) FROM q JOIN e ON q.b = e.s GROUP BY q.a",
    "SELECT count(*), e.d FROM q JOIN e ON q.b = e.s GROUP BY e.d",
    "SELECT DISTINCT q.a, e.d FROM q JOIN e ON q.b = e.s",
    "SELECT e.s, e.d FROM e WHERE e.s IN (SELECT b FROM q)",
    "SELECT q.a, e.d FROM q JOIN e ON q.b = e.s AND e.d NOT IN (SELECT b FROM q WHERE b IS NOT NULL)",
    "(SELECT q.a, e.d FROM q JOIN e ON q.b = e.s ORDER BY e.d DESC LIMIT 2)",
    "SELECT q.a, (SELECT max(d) FROM e WHERE s = q.b) FROM q WHERE q.b IN (SELECT s FROM e)",
    "WITH z AS (SELECT a, b FROM q WHERE a IS NOT NULL) SELECT z.a, e.d FROM z JOIN e ON z.b = e.s",
    "SELECT q.a, e.d FROM q JOIN e ON q.b = e.s WHERE q.a = 1",
)
# These end where each row counts once, since they have few values.
OTHERS = (
    "SELECT x.a, y.b FROM q x JOIN q y ON x.b = y.a",
    "SELECT q.a, e.d FROM q LEFT JOIN e ON q.b = e.s",
    "SELECT q.b, e.d FROM e LEFT JOIN q ON q.b = e.s",
    "SELECT q.b, e.d FROM e FULL JOIN q ON q.b = e.s",
    "SELECT b, a FROM q",
    "SELECT a, CASE WHEN b > 1 THEN b - 1 END FROM q",
    "SELECT min(a), max(b) FROM q",
    "SELECT count(*) % 3, (SELECT count(*) FROM q WHERE a = 1) % 4 FROM q",
    "SELECT a, (SELECT count(*) FROM e WHERE s = q.b) FROM q",
    "SELECT f.a, f.b FROM f WHERE f.b NOT IN (SELECT b FROM q WHERE b IS NOT NULL)",
    "SELECT a, rank() OVER (PARTITION BY a ORDER BY b) FROM q",
    "SELECT a, b FROM f",
    "SELECT a, b FROM f EXCEPT SELECT a, b FROM q",
    "SELECT a, b FROM q INTERSECT SELECT s, d FROM e",
    "SELECT a, b FROM (SELECT DISTINCT ON (a) b AS a, a AS b FROM q ORDER BY b)",
    "SELECT a + 0.4, b FROM q WHERE a < 3",
)
BASES = (
    "SELECT s, d FROM e",
    "SELECT a, b FROM f",
    "SELECT s, s FROM e WHERE s = 1",
    "SELECT 1, 2::BIGINT",
    "SELECT a, a FROM f UNION SELECT s, d FROM e WHERE s > 1",
    "SELECT s, d FROM e WHERE false",
)
READERS = (
    "SELECT * FROM q",
    "SELECT * FROM q WHERE a = 1",
    "SELECT b, count(*) FROM q GROUP BY b",
    "SELECT x.a, y.b FROM q x JOIN q y ON x.a = y.b WHERE x.a > 0",
    "SELECT a, b FROM q WHERE a = 2 UNION ALL SELECT b, a FROM q",
)


@cache
def catalog():
    made = Catalog()
    for statement in parse(SCHEMA):
        assert isinstance(statement, CreateTable)
        made.add_table(statement.table)
    return made


@cache
def connection():
    made = duckdb.connect()
    made.execute("SET python_enable_replacements = false")
    made.execute(SCHEMA)
    return made


def answered(sql, schema):
    """DuckDB's rows, or None if it does not come to an end, or raises on them."""
    timer = Timer(5, connection().interrupt)
    timer.start()
    try:
        rows = connection().execute(sql).fetchall()
    except (duckdb.InterruptException, duckdb.ConversionException):
        return None
    finally:
        timer.cancel()
    return Counter(tuple(to_engine(v, f.type) for v, f in zip(row, schema, strict=True)) for row in rows)


def filled(edges, others):
    connection().execute("DELETE FROM e; DELETE FROM f")
    for table, rows in (("e", edges), ("f", others)):
        if rows:
            connection().executemany(f"INSERT INTO {table} VALUES (?, ?)", rows)
    return {"e": Counter(edges), "f": Counter(others)}


values = st.one_of(st.integers(0, 3), st.none())
edge_lists = st.lists(st.tuples(values, values), max_size=6)
other_lists = st.lists(st.tuples(st.integers(0, 3), values), max_size=4)


def on_levels(edges):
    return [(s, d) for s, d in edges if s is None or d is None or s < d]


def agree(sql, edges, others):
    """Whether there is an answer, which is then the same for all."""
    bound = bind(sql, catalog())
    tables = filled(edges, others)
    try:
        meant = evaluate(bound.relation, tables)
    except EndlessError:
        return False
    expected = answered(bound.oracle_sql, bound.schema)
    if expected is None:
        return False
    check_relation(bound.relation)
    assert meant == expected
    assert evaluate(optimize(bound.relation), tables) == expected
    return True


@given(
    base=st.sampled_from(BASES),
    branch=st.lists(st.sampled_from((*STEPS, *OTHERS)), min_size=1, max_size=2),
    reader=st.sampled_from(READERS),
    edges=edge_lists,
    others=other_lists,
)
@settings(RELAXED, max_examples=60)
def test_union(base, branch, reader, edges, others):
    union = " UNION ALL ".join(f"({each})" for each in branch)
    assume(agree(f"WITH RECURSIVE q(a, b) AS ({base} UNION ({union})) {reader}", edges, others))


@given(
    base=st.sampled_from(BASES),
    branch=st.lists(st.sampled_from(STEPS), min_size=1, max_size=2),
    reader=st.sampled_from(READERS),
    edges=edge_lists,
    others=other_lists,
)
@settings(RELAXED, max_examples=60)
def test_union_all(base, branch, reader, edges, others):
    union = " UNION ALL ".join(f"({each})" for each in branch)
    assume(agree(f"WITH RECURSIVE q(a, b) AS ({base} UNION ALL ({union})) {reader}", on_levels(edges), others))


STEP = "SELECT q.a, e.d FROM q JOIN e ON q.b = e.s"
PLACES = (
    f"SELECT a FROM f WHERE a IN (WITH RECURSIVE q(a, b) AS (FROM e UNION {STEP}) SELECT b FROM q)",
    f"SELECT a FROM f WHERE EXISTS (WITH RECURSIVE q(a, b) AS (FROM e UNION {STEP}) SELECT 1 FROM q WHERE q.a = f.b)",
    f"SELECT a, (WITH RECURSIVE q(a, b) AS (FROM e UNION {STEP}) SELECT count(*) FROM q WHERE q.a = f.b) FROM f",
    f"SELECT * FROM f LEFT JOIN (WITH RECURSIVE q(a, b) AS (FROM e UNION {STEP}) FROM q) AS x ON x.a = f.a",
    f"(WITH RECURSIVE q(a, b) AS (FROM e UNION {STEP}) FROM q) UNION ALL (WITH RECURSIVE q(a, b) AS (FROM f UNION {STEP}) FROM q)",
    f"WITH RECURSIVE q(a, b) AS (FROM e UNION {STEP}) SELECT x.a, y.b FROM q x LEFT JOIN q y ON x.b = y.a",
    f"WITH RECURSIVE z AS (FROM e WHERE s > 0), q(a, b) AS (FROM z UNION {STEP}), y AS (SELECT b AS v FROM q),"
    " p(v) AS (FROM y UNION SELECT p.v - 1 FROM p, y WHERE p.v = y.v AND p.v > 0) FROM p",
    f"WITH RECURSIVE q(a, b) AS (FROM e UNION {STEP}), p AS (FROM q UNION SELECT p.a, q.b FROM p JOIN q ON p.b = q.a) FROM p",
    "WITH RECURSIVE q(a, b) AS (FROM f UNION SELECT q.a, x.d FROM q JOIN (WITH RECURSIVE t AS (FROM e UNION SELECT t.s, e.d"
    " FROM t JOIN e ON t.d = e.s) FROM t) AS x ON q.b = x.s) FROM q",
    f"WITH RECURSIVE q(a, b) AS (WITH z AS (FROM e WHERE s < 3) SELECT * FROM z UNION {STEP}) SELECT * FROM q ORDER BY b, a LIMIT 3",
    f"WITH RECURSIVE q(a, b) AS (FROM e UNION {STEP}) SELECT a, sum(b) FROM q WHERE a = 1 GROUP BY a",
    f"WITH RECURSIVE q(a, b) AS (FROM e UNION {STEP}) SELECT q.b, f.b FROM q, f WHERE q.a = f.a AND f.a = 1",
)  # fmt: skip


@pytest.mark.parametrize("sql", PLACES)
def test_recursion_stands_anywhere(sql):
    edges = [(0, 1), (1, 2), (2, 3), (0, 2), (3, 1), (None, 1), (1, None)]
    assert agree(sql, edges, [(1, 2), (2, 2), (3, None), (0, 1)])


@pytest.mark.parametrize("branch", [*STEPS, *OTHERS])
def test_each_branch(branch):
    edges = [(0, 1), (1, 2), (2, 3), (0, 2), (3, 1), (None, 1), (1, None)]
    others = [(1, 2), (2, 2), (3, None), (0, 1)]
    assert agree(f"WITH RECURSIVE q(a, b) AS (SELECT a, b FROM f UNION ({branch})) SELECT * FROM q", edges, others)
