"""WITH MUTUALLY RECURSIVE in what is asked once, wherever it stands: as a view of the same text would answer."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

import ivm

_PATHS = "t (s BIGINT, d BIGINT) AS (SELECT s, d FROM e UNION SELECT t.s, e.d FROM t JOIN e ON t.d = e.s)"
_M = f"WITH MUTUALLY RECURSIVE {_PATHS}"


def _database(**given: Any) -> ivm.Database:
    db = ivm.connect(compile="off", **given)
    db.sql("CREATE TABLE e (s BIGINT NOT NULL, d BIGINT NOT NULL); INSERT INTO e VALUES (1, 2), (2, 3), (3, 1), (7, 8)")
    db.sql("CREATE MATERIALIZED VIEW degree AS SELECT s, count(*) AS n FROM e GROUP BY s")
    return db


@pytest.mark.parametrize(("query", "expected"), [
    (f"{_M} SELECT * FROM t ORDER BY s DESC, d LIMIT 3", [(7, 8), (3, 1), (3, 2)]),
    (f"{_M} SELECT count(*) FROM t WHERE s > ?", [(7,)]),
    (f"SELECT sum(n), count(*) FROM ({_M} SELECT * FROM t) JOIN degree USING (s) WHERE s > ?", [(7, 7)]),
    (f"SELECT s, (SELECT max(d) FROM ({_M} SELECT * FROM t) x WHERE x.s = e.s) FROM e WHERE s > ? ORDER BY s", [(2, 3), (3, 3), (7, 8)]),
    (f"SELECT count(*) FROM e WHERE s > ? AND s IN ({_M} SELECT d FROM t)", [(2,)]),
    (f"({_M} SELECT s FROM t WHERE s > 2) UNION ({_M} SELECT d FROM t WHERE d > ?) ORDER BY 1", [(2,), (3,), (7,), (8,)]),
    (f"WITH z AS ({_M} SELECT s, d FROM t WHERE s = d) SELECT count(*) FROM z WHERE s > ?", [(2,)]),
    (f"WITH MUTUALLY RECURSIVE (RETURN AT RECURSION LIMIT 2) {_PATHS} SELECT count(*) FROM t WHERE s > ?", [(5,)]),
])  # fmt: skip
@pytest.mark.parametrize("given", [{}, {"shards": 2}])
def test_what_is_asked_once(query: str, expected: object, given: dict[str, Any]) -> None:
    with _database(**given) as db:
        assert db.sql(query, [1] if "?" in query else []).fetchall() == expected


def test_tables_are_made_and_filled_of_it() -> None:
    with _database() as db:
        db.sql(f"CREATE TABLE made AS {_M} SELECT s AS a, d AS b FROM t WHERE s < 3")
        db.sql(f"INSERT INTO made SELECT s, d FROM ({_M} SELECT * FROM t) WHERE s = 3")
        answer = db.sql(f"INSERT INTO made {_M} SELECT s, d FROM t WHERE s > 3 RETURNING a + b")
        assert answer.fetchall() == [(15,)]
        assert db.sql("SELECT count(*), max(a) FROM made").fetchall() == [(10, 7)]


def test_views_that_run_inside_what_uses_them() -> None:
    with _database() as db:
        db.sql(f"CREATE VIEW paths (a, b) AS {_M} SELECT * FROM t; CREATE VIEW own AS SELECT a FROM paths WHERE a = b")
        assert db.sql("SELECT * FROM own ORDER BY a").fetchall() == [(1,), (2,), (3,)]
        assert db.sql(f"SELECT count(*) FROM ({_M} SELECT * FROM t, own WHERE t.s = own.a)").fetchall() == [(9,)]
        assert [row[:2] for row in db.sql("DESCRIBE SELECT * FROM paths").fetchall()] == [
            ("a", "BIGINT"),
            ("b", "BIGINT"),
        ]
        db.sql("CREATE MATERIALIZED VIEW kept AS SELECT count(*) AS n FROM own; DELETE FROM e WHERE s = 3")
        assert db.view("kept").fetchall() == db.sql("SELECT count(*) FROM own").fetchall() == [(0,)]


def test_values_of_all_types_come_and_go() -> None:
    with ivm.connect(compile="off") as db:
        db.sql("CREATE TYPE mood AS ENUM ('good', 'bad')")
        db.sql("CREATE TABLE v (h HUGEINT, u UUID, m mood, c DECIMAL(9, 2), d DATE, t VARCHAR, b BOOLEAN, x DOUBLE)")
        db.sql("""INSERT INTO v VALUES (7, '6f1c6a54-17b5-4a8e-9f7d-0c3d1c0a1b2c', 'bad', 1.5, '2024-02-29', 'é', true, .5),
            (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)""")
        columns = "h HUGEINT, u UUID, c DECIMAL(9, 2), d DATE, t VARCHAR, b BOOLEAN, x DOUBLE"
        db.sql("CREATE MATERIALIZED VIEW lists AS SELECT t, list(x) AS l FROM v GROUP BY t")
        text = f"w({columns}) AS (SELECT h, u, c, d, t, b, x FROM v UNION ALL SELECT * FROM w WHERE false) SELECT * FROM w ORDER BY h"
        found = db.sql(f"WITH MUTUALLY RECURSIVE {text}").fetchall()
        db.sql(f"CREATE MATERIALIZED VIEW kept AS WITH MUTUALLY RECURSIVE {text}")
        assert found == db.view("kept").fetchall()
        assert found[0][2] == Decimal("1.5")
        assert db.sql(f"SELECT l FROM (WITH MUTUALLY RECURSIVE {text}) JOIN lists USING (t)").fetchall() == [([0.5],)]


@pytest.mark.parametrize(("query", "error", "said"), [
    ("WITH MUTUALLY RECURSIVE c(n BIGINT) AS (SELECT s FROM e UNION SELECT n + 1 FROM c) FROM c", ivm.RecursionLimitError,
        "cannot answer this query: the loop of c has not ended after 30 rounds"),
    ("WITH MUTUALLY RECURSIVE c(n TINYINT) AS (SELECT 100 UNION SELECT n * 2 FROM c) FROM c", ivm.TypeMismatchError, "declared TINYINT"),
    ("SELECT 1,\n (WITH MUTUALLY RECURSIVE c(n BIGINT) AS (SELECT s FROM nowhere) FROM c)", ivm.BindError, r"'nowhere' \(line 2, column 57\)"),
    ("SELECT (WITH MUTUALLY RECURSIVE c(n BIGINT) AS (SELECT x.s) SELECT max(n) FROM c) FROM e x", ivm.BindError, "there is no table 'x'"),
    (f"SELECT bogus FROM ({_M} SELECT * FROM t)", ivm.BindError, r'"bogus" not found .*\(line 1, column 8\)'),
])  # fmt: skip
def test_what_is_wrong_is_said(query: str, error: type[ivm.Error], said: str) -> None:
    with _database(recursion_limit=30) as db, pytest.raises(error, match=said) as caught:
        db.sql(query)
    assert type(caught.value) is error
