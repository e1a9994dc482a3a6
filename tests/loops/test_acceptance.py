"""Recursive programs as people write them: kept up to date, in the order of rounds that is meant for each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal

import pyarrow as pa
import pytest

import ivm
from tests.sql.recursive_programs import PROGRAMS, SCHEMA
from tests.sql.test_recursive_programs import graph

ORDERS = {
    "reach": "settled rounds",
    "closure": "settled rounds",
    "closure by halves": "settled rounds",
    "components": "rounds apart, small values first",
    "shortest paths": "rounds by value",
    "same generation": "settled rounds",
    "bill of materials": "exact rounds",
    "sums up a tree": "exact rounds",
    "even and odd": "settled rounds",
    "won positions": "exact rounds",
    "core": "exact rounds",
    "page ranks": "exact rounds, ends after 8",
    "points to": "settled rounds",
    "working table": "exact rounds",
}
_CHECKED = SCHEMA.replace("c BIGINT NOT NULL)", "c BIGINT NOT NULL, CHECK (c > 0))")


def _move(
    db: ivm.Database, before: Mapping[str, Counter[tuple[int, ...]]], after: Mapping[str, Counter[tuple[int, ...]]]
) -> None:
    """Commit what leads from some tables to others."""
    batch = {}
    for name in after:
        change = Counter(after[name])
        change.subtract(before[name])
        rows = [(*row, n) for row, n in change.items() if n]
        if rows:
            columns = {"e": "sd", "w": "sdc", "roots": "v"}[name]
            batch[name] = pa.table(dict(zip([*columns, "_diff"], map(list, zip(*rows, strict=True)), strict=True)))
    db.apply(batch)


def _explained(db: ivm.Database, query: str) -> str:
    return str(db.sql(f"EXPLAIN {query}").fetchall()[0][0])


def test_there_is_an_order_for_each() -> None:
    assert ORDERS.keys() == PROGRAMS.keys()


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_kept_up_to_date(name: str) -> None:
    program, empty = (
        PROGRAMS[name],
        {"e": Counter[tuple[int, ...]](), "w": Counter[tuple[int, ...]](), "roots": Counter[tuple[int, ...]]()},
    )
    with ivm.connect(compile="off") as db:
        db.sql(_CHECKED)
        assert f": {ORDERS[name]}\n" in _explained(db, program.sql)
        db.sql(f"CREATE MATERIALIZED VIEW v AS {program.sql}")
        before, found = empty, 0
        for seed in range(14):
            after = empty if seed == 13 else graph(seed, program.levels)
            _move(db, before, after)
            expected = program.naive(after)
            assert Counter(db.view("v").fetchall()) == expected, seed
            before, found = after, found + bool(expected)
        assert found > 4


@pytest.mark.parametrize(("check", "order"), [
    ("CHECK (c > 0)", "rounds by value"), ("CHECK (c >= 0)", "rounds by value"), ("CHECK (0 < c)", "rounds by value"),
    ("CHECK (c BETWEEN 0 AND 9)", "rounds by value"), ("CHECK (c > 3 AND s <> d)", "rounds by value"),
    ("CHECK (NOT c < 0)", "rounds by value"), ("CHECK (c IN (1, 2, 5))", "rounds by value"), ("CHECK (c = 4)", "rounds by value"),
    ("CHECK (c > -1)", "rounds by value"),
    ("CHECK (c > -2)", "exact rounds"), ("CHECK (c <> 0)", "exact rounds"), ("CHECK (c > 0 OR s > 0)", "exact rounds"),
    ("CHECK (c < 5)", "exact rounds"), ("CHECK (s > 0)", "exact rounds"),
])  # fmt: skip
def test_lengths_are_known_not_to_be_negative(check: str, order: str) -> None:
    with ivm.connect(compile="off") as db:
        db.sql(_CHECKED.replace("CHECK (c > 0)", check))
        assert f": {order}\n" in _explained(db, PROGRAMS["shortest paths"].sql)


def test_rows_and_rounds_are_expected_and_what_is_computed_anew_is_said() -> None:
    with ivm.connect(compile="off") as db:
        db.sql(_CHECKED)
        db.sql("INSERT INTO e SELECT i, i + 1 FROM range(1000) r(i); INSERT INTO roots VALUES (990)")
        state = _explained(db, PROGRAMS["reach"].sql).split("state:")[1]
        assert re.search(r"loop of .*: new, about 1,000 rows, .* kB, about 11 rounds\n", state)
        db.sql(f"CREATE MATERIALIZED VIEW v AS {PROGRAMS['reach'].sql}")
        state = _explained(db, PROGRAMS["reach"].sql).split("state:")[1]
        assert re.search(r"loop of .*: shared, \d+ rows, \d+ bytes, 1[12] rounds at most so far\n", state)
        ranks = _explained(db, PROGRAMS["page ranks"].sql)
        assert "about 8 rounds\n" in ranks
        said = "the loop of p adds up what it passes on: a change that moves all sums in all rounds costs as much as computing it anew"
        assert said in ranks
        assert "adds up" not in state
        first = """WITH RECURSIVE q(a, b) AS (SELECT s, d FROM e UNION SELECT a, b FROM (SELECT q.a, e.d AS b, {} AS n FROM q JOIN e
            ON q.b = e.s) WHERE n < 3) SELECT * FROM q"""
        for window in ("row_number() OVER (PARTITION BY q.a ORDER BY e.d)", "sum(e.d) OVER (PARTITION BY q.a)"):
            assert "a change within a loop reads all rows of its group in" in _explained(db, first.format(window))


def test_a_length_may_be_null_where_a_check_lets_it() -> None:
    with ivm.connect(compile="off") as db:
        db.sql(_CHECKED.replace("c BIGINT NOT NULL", "c BIGINT"))
        db.sql(f"CREATE MATERIALIZED VIEW v AS {PROGRAMS['shortest paths'].sql}")
        db.sql(
            "INSERT INTO roots VALUES (1); INSERT INTO w VALUES (1, 2, NULL), (1, 2, 5), (2, 3, NULL), (1, 3, 9), (3, 1, 1)"
        )
        assert sorted(db.view("v").fetchall()) == [(1, 0), (2, 5), (3, 9)]
        db.sql("DELETE FROM w WHERE c = 5")
        assert sorted(db.view("v").fetchall()) == [(1, 0), (2, None), (3, 9)]


def test_a_filter_on_what_is_passed_on_goes_into_the_base() -> None:
    with ivm.connect(compile="off") as db:
        db.sql(_CHECKED)
        text = _explained(db, PROGRAMS["closure"].sql + " WHERE s = 5")
        assert "Filter #0:s = 5" in text.split("optimized:")[1].split("plan:")[0]


def test_parts_are_summed_up_outside_of_their_loop() -> None:
    with ivm.connect(compile="off") as db:
        db.sql("CREATE TABLE bom (part VARCHAR, sub VARCHAR, n INTEGER NOT NULL)")
        db.sql("""CREATE MATERIALIZED VIEW made AS WITH RECURSIVE q(root, sub, n) AS (SELECT part, sub, n::BIGINT FROM bom
            UNION ALL SELECT q.root, b.sub, q.n * b.n FROM q JOIN bom b ON q.sub = b.part)
            SELECT root, sub, sum(n) AS n FROM q GROUP BY 1, 2""")
        for text in (
            "INSERT INTO bom VALUES ('car', 'wheel', 4), ('wheel', 'bolt', 5), ('car', 'bolt', 20), ('wheel', 'rim', 1)",
            "UPDATE bom SET n = 6 WHERE sub = 'bolt' AND part = 'wheel'",
            "DELETE FROM bom WHERE sub = 'wheel'",
            "DELETE FROM bom",
        ):
            db.sql(text)
            db.verify()
        with pytest.raises(ivm.RecursionLimitError), ivm.connect(compile="off", recursion_limit=50) as other:
            other.sql("CREATE TABLE bom (part VARCHAR, sub VARCHAR, n INTEGER NOT NULL)")
            other.sql("""CREATE MATERIALIZED VIEW made AS WITH RECURSIVE q(root, sub) AS (SELECT part, sub FROM bom
                    UNION ALL SELECT q.root, b.sub FROM q JOIN bom b ON q.sub = b.part) SELECT * FROM q""")
            other.sql("INSERT INTO bom VALUES ('a', 'b', 1), ('b', 'a', 1)")


def test_amounts_are_summed_up_to_who_is_above() -> None:
    with ivm.connect(compile="off") as db:
        db.sql("CREATE TABLE acc (child BIGINT PRIMARY KEY, parent BIGINT, amount DECIMAL(9, 2) NOT NULL)")
        db.sql("""CREATE MATERIALIZED VIEW below AS WITH MUTUALLY RECURSIVE b(id BIGINT, x DECIMAL(38, 2)) AS (
            SELECT id, sum(x) FROM (SELECT child AS id, amount::DECIMAL(38, 2) AS x FROM acc
            UNION ALL SELECT parent, x FROM b JOIN acc ON id = child WHERE parent IS NOT NULL) GROUP BY id) SELECT * FROM b""")
        db.sql("INSERT INTO acc VALUES (1, NULL, 1.5), (2, 1, 2), (3, 1, 3), (4, 3, 4.25)")
        assert dict(db.view("below").fetchall()) == {1: Decimal("10.75"), 2: 2, 3: Decimal("7.25"), 4: Decimal("4.25")}
        db.sql("UPDATE acc SET parent = 2 WHERE child = 4")
        assert dict(db.view("below").fetchall()) == {1: Decimal("10.75"), 2: Decimal("6.25"), 3: 3, 4: Decimal("4.25")}
        db.sql("DELETE FROM acc WHERE child = 4")
        assert dict(db.view("below").fetchall()) == {1: Decimal("6.5"), 2: 2, 3: 3}


def test_ranks_are_decimals_too() -> None:
    ranks = """WITH MUTUALLY RECURSIVE (RETURN AT RECURSION LIMIT 20) p(v BIGINT, r DECIMAL(18, 9)) AS (
        SELECT v, sum(r)::DECIMAL(18, 9) FROM (SELECT v, 0.15::DECIMAL(18, 9) AS r FROM (SELECT s AS v FROM e UNION SELECT d FROM e)
        UNION ALL SELECT e.d, (p.r * 0.85 / o.n)::DECIMAL(18, 9) FROM p JOIN (SELECT s, count(*) AS n FROM e GROUP BY s) o ON o.s = p.v
        JOIN e ON e.s = p.v) GROUP BY v) SELECT * FROM p"""
    with ivm.connect(compile="off") as db, ivm.connect(compile="off") as other:
        db.sql(SCHEMA)
        db.sql(f"CREATE MATERIALIZED VIEW v AS {ranks}")
        db.sql("INSERT INTO e VALUES (1, 2), (2, 3), (3, 1), (3, 2), (4, 1)")
        db.sql("DELETE FROM e WHERE s = 2; INSERT INTO e VALUES (2, 4)")
        other.sql(SCHEMA)
        other.sql("INSERT INTO e VALUES (1, 2), (3, 1), (3, 2), (4, 1), (2, 4)")
        assert Counter(db.view("v").fetchall()) == Counter(other.sql(ranks).fetchall())
        assert db.sql("SELECT count(*) FROM v WHERE r > 0.15").fetchall() == [(3,)]
