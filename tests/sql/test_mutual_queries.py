"""Random WITH MUTUALLY RECURSIVE: DuckDB runs the query of each name, round by round, into a table of that name."""

from __future__ import annotations

import re
from collections import Counter

import duckdb
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ivm.sql.bind import bind
from ivm.transform.check import check_relation
from ivm.transform.pipeline import optimize
from tests.model.relation import EndlessError, evaluate
from tests.sql.test_recursive_queries import (
    OTHERS,
    RELAXED,
    SCHEMA,
    STEPS,
    catalog,
    edge_lists,
    filled,
    other_lists,
)

NAMES = ("m", "n")
QUERIES = [each for each in (*STEPS, *OTHERS) if not re.search("LIMIT|DISTINCT ON", each)]
MOST_ROUNDS = 25


def written(query, name):
    """The query with q called `name`, and columns of the types that are declared."""
    named = re.sub(r"\bq\b", name, query)
    return f"SELECT CAST(x AS BIGINT) AS a, CAST(y AS BIGINT) AS b FROM ({named}) AS z (x, y)"


def rounds(queries, edges, others, limit):
    """What the names hold after `limit` rounds, or when a round changes nothing; None if it goes on."""
    with duckdb.connect() as run:
        run.execute(SCHEMA)
        for table, rows in (("e", edges), ("f", others)):
            if rows:
                run.executemany(f"INSERT INTO {table} VALUES (?, ?)", rows)
        for name in NAMES:
            run.execute(f"CREATE TABLE {name} (a BIGINT, b BIGINT)")
        held: list[Counter[tuple[int | None, int | None]]] = [Counter() for _ in NAMES]
        for _ in range(limit or MOST_ROUNDS):
            before = list(held)
            for i, (name, query) in enumerate(zip(NAMES, queries, strict=True)):
                rows = run.execute(query).fetchall()
                run.execute(f"DELETE FROM {name}")
                held[i] = Counter(rows)
                if len(rows) > 400:
                    return None
                if rows:
                    run.executemany(f"INSERT INTO {name} VALUES (?, ?)", rows)
            if held == before:
                return held
        return held if limit else None


def text(queries, limit, result):
    option = f"(RETURN AT RECURSION LIMIT {limit}) " if limit else ""
    bindings = ", ".join(
        f"{name} (a BIGINT, b BIGINT) AS ({query})" for name, query in zip(NAMES, queries, strict=True)
    )
    return f"WITH MUTUALLY RECURSIVE {option}{bindings} SELECT * FROM {result}"


def assert_agree(queries, edges, others, limit):
    try:
        expected = rounds(queries, edges, others, limit)
    except duckdb.ConversionException:
        expected = None
    assume(expected is not None)
    tables = filled(edges, others)
    for name, rows in zip(NAMES, expected, strict=True):
        relation = bind(text(queries, limit, name), catalog()).relation
        check_relation(relation)
        try:
            assert evaluate(relation, tables) == rows
        except EndlessError:
            assume(False)
        assert evaluate(optimize(relation), tables) == rows


def unions(draw, reads):
    """A union of some rows and of queries that read the names that `reads` gives."""
    parts = [draw(st.sampled_from(["SELECT s, d FROM e", "SELECT a, b FROM f", "SELECT 1, 2"]))]
    parts += [written(draw(st.sampled_from(QUERIES)), draw(reads)) for _ in range(draw(st.integers(1, 2)))]
    return f" {draw(st.sampled_from(['UNION', 'UNION', 'UNION ALL']))} ".join(f"({each})" for each in parts)


@given(data=st.data(), edges=edge_lists, others=other_lists, limit=st.integers(1, 4))
@settings(RELAXED, max_examples=25)
def test_for_some_rounds(data, edges, others, limit):
    queries = [written(unions(data.draw, st.sampled_from(NAMES)), "q") for _ in NAMES]
    assert_agree(queries, edges, others, limit)


@given(data=st.data(), edges=edge_lists, others=other_lists)
@settings(RELAXED, max_examples=25)
def test_until_nothing_changes(data, edges, others):
    queries = [written(unions(data.draw, st.just(other)), "q") for other in reversed(NAMES)]
    assert_agree(queries, edges, others, None)
