"""Texts that nobody would write: each ends in an answer, DuckDB's, or in an error of ivm's."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest

import ivm

REFUSED = (
    ("UPDATE t SET a = a, 1", ivm.UnsupportedError, "needs SET column = value"),
    ("UPDATE t SET a = b, (c, 'x')", ivm.UnsupportedError, "needs SET column = value"),
    ("CREATE MATERIALIZED VIEW v AS SELECT trunc(a, -99999999999) AS x FROM t", ivm.TypeMismatchError, "counts digits"),
    ("else VIEW v", ivm.ParseError, "no statement"),
    ("CREATE MATERIALIZED VIEW v AS SELECT a < 2 < 3 AS x FROM t", ivm.UnsupportedError, "comparisons in a chain"),
    ("CREATE MATERIALIZED VIEW v AS SELECT a = 2 = TRUE AS x FROM t", ivm.UnsupportedError, "comparisons in a chain"),
    ("CREATE MATERIALIZED VIEW v AS SELECT a IN 1, (a, 7) AS x FROM t", ivm.TypeMismatchError, "text is needed"),
    ("CREATE MATERIALIZED VIEW v AS SELECT s LIKE 'a!' ESCAPE '!' AS x FROM t", ivm.BindError, "the pattern ends with"),
    ("CREATE MATERIALIZED VIEW v AS SELECT s ILIKE 'aA' ESCAPE 'a' AS x FROM t WHERE s ILIKE 'A' ESCAPE 'a'",
     ivm.BindError, "the pattern ends with"),
    ("CREATE MATERIALIZED VIEW v AS SELECT s LIKE 'a' ESCAPE 'é' AS x FROM t", ivm.UnsupportedError, "ASCII"),
    ("CREATE MATERIALIZED VIEW v AS SELECT s LIKE s ESCAPE 'b' AS x FROM t", ivm.NumericError, "ends with the character"),
    ("CREATE MATERIALIZED VIEW v AS SELECT quantile_cont(a, 0.8 ORDER BY s) AS x FROM t", ivm.UnsupportedError, "alone"),
    ("CREATE MATERIALIZED VIEW v AS SELECT quantile(a, 0.8 ORDER BY a DESC) AS x FROM t", ivm.UnsupportedError, "_disc"),
    ("CREATE MATERIALIZED VIEW v AS SELECT quantile_cont(a, -0.8 ORDER BY a) AS x FROM t", ivm.BindError, "from 0 to 1"),
    ("CREATE MATERIALIZED VIEW v AS SELECT sum(DISTINCT a ORDER BY s) AS x FROM t", ivm.UnsupportedError, "argument only"),
)  # fmt: skip
ANSWERED = (
    "SELECT a FROM t ORDER BY a FETCH FIRST ROW ONLY",
    "SELECT a FROM t ORDER BY a OFFSET 1 ROW FETCH NEXT 1 ROW ONLY",
    "SELECT round(a::DOUBLE / 3, 1000), round(a::DOUBLE, -1000), trunc(a::DOUBLE, -1000), trunc(a::FLOAT, 1000), "
    "round(a::FLOAT / 3, 39), round(a::FLOAT, -39), trunc(a::FLOAT, -46), round(a::DOUBLE, 308) FROM t",
    "SELECT round(a, -2147483648), trunc(a::DECIMAL(18,2), 2147483647), round(a::DOUBLE, 2147483647) FROM t",
    "SELECT () = (), () IN (()) FROM t",
    "SELECT TIME '24:00' + INTERVAL 1 HOUR, extract(hour FROM TIME '24:00'), extract(minute FROM TIME '24:00'), "
    "DATE '2020-01-01' + TIME '24:00', TIME '24:00' > TIME '23:00', TIME '24:00'::VARCHAR FROM t",
    "SELECT DATE '2020-01-01' + INTERVAL 7000 YEAR, (DATE '2020-01-01' + INTERVAL 8000 YEAR)::VARCHAR FROM t",
    "SELECT s ILIKE 'aA%' ESCAPE 'A', s LIKE 'aA%' ESCAPE 'A', s ILIKE 'AA%' ESCAPE 'a', s ILIKE '_B' ESCAPE 'b' FROM t"
    .replace("'_B' ESCAPE 'b'", "'_BB' ESCAPE 'b'"),
    "SELECT 'a%' ILIKE 'aA%' ESCAPE 'A', '%' ILIKE 'A%' ESCAPE 'A' FROM t",
    "SELECT quantile_cont(a, 0.8 ORDER BY a DESC), quantile_disc(a, 0.3 ORDER BY a DESC NULLS LAST), "
    "quantile_disc(s, 0.4 ORDER BY s DESC), quantile_cont(DISTINCT a, 0.3 ORDER BY a DESC) FILTER (WHERE a > 0), "
    "percentile_cont(0.8) WITHIN GROUP (ORDER BY a DESC), quantile_disc(a, 0.3 ORDER BY a), median(a ORDER BY a DESC) FROM t",
)  # fmt: skip


@pytest.fixture(scope="module")
def db() -> ivm.Database:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (a INTEGER, s VARCHAR)")
    db.sql("INSERT INTO t VALUES (1, 'ab'), (2, 'a%'), (5, 'AB'), (NULL, NULL), (2147483647, 'Abb')")
    return db


@pytest.mark.parametrize(("text", "error", "message"), REFUSED, ids=[text for text, _, _ in REFUSED])
def test_it_is_refused(db: ivm.Database, text: str, error: type[ivm.Error], message: str) -> None:
    with pytest.raises(error, match=message):
        db.sql(text)


@pytest.mark.parametrize("query", ANSWERED)
def test_it_is_answered_as_duckdb_does(db: ivm.Database, query: str) -> None:
    columns = ", ".join(f"x{place}" for place in range(len(db.sql(query).columns)))
    db.sql(f"CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT * FROM ({query}) AS q({columns})")
    assert sorted(map(repr, db.view("v").fetchall())) == sorted(map(repr, db.sql(query).fetchall()))
    assert db.verify(["v"])


def test_a_statement_costs_in_proportion_to_its_columns() -> None:
    """Counted in lines of Python that are run, which no busy machine and no collection of garbage changes."""

    def lines(columns: int) -> int:
        db = ivm.connect(compile="off")
        names = [f"c{place}" for place in range(columns)]
        db.sql(f"CREATE TABLE wide ({', '.join(f'{name} INTEGER' for name in names)})")
        row = f"({', '.join(map(str, range(columns)))})"
        with _LinesRun() as run:
            db.sql(f"INSERT INTO wide VALUES {row}, {row}, {row}")
            db.apply({"wide": [dict(zip(names, range(columns), strict=True))]})
        return run.count

    lines(100)
    assert lines(2000) < 9 * lines(250), "8 times the columns; if each looked at all, 64 times the cost"


class _LinesRun:
    """How many lines of Python were run inside, by all that was called from there."""

    def __enter__(self) -> _LinesRun:
        self.count = 0
        self._before = sys.gettrace()
        sys.settrace(self._count)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _count(self, frame: FrameType, event: str, argument: Any) -> Any:
        self.count += event == "line"
        return self._count
