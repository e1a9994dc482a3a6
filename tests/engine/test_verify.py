"""`verify` calls no view wrong for what DuckDB does on the way, and a wrong one right for nothing."""

from __future__ import annotations

import logging

import pytest

import ivm
from ivm.session import oracle
from ivm.sql.forgiving import forgiving
from ivm.sql.shifted import shifted

GUARDED = {
    "divided": "SELECT x.id FROM e x JOIN e y ON x.id = y.id AND x.b <> 0 AND x.a // x.b > 1",
    "cast": "SELECT x.id FROM e x JOIN e y ON x.id = y.id AND x.s <> 'x' AND x.s::INTEGER > 1",
    "multiplied": "SELECT x.id FROM e x JOIN e y ON x.id = y.id AND x.a < 100 AND x.a * 2 + y.a > 1",
    "above": "SELECT z FROM (SELECT b, a // b AS z FROM e WHERE b <> 0) WHERE z > 0 AND b > 0",
    "summed": "SELECT b, sum(a // b) AS s FROM e WHERE b <> 0 GROUP BY b HAVING sum(a // b) > 1",
    "inside": "SELECT id FROM e x WHERE b <> 0 AND EXISTS (SELECT 1 FROM e y WHERE y.id = x.id AND x.a // x.b > 1)",
}


@pytest.fixture(scope="module")
def db() -> ivm.Database:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE e (id INTEGER, a INTEGER, b INTEGER, s VARCHAR)")
    db.sql("INSERT INTO e VALUES (1, 6, 3, '5'), (2, 1, 0, 'x'), (3, 2000000000, 1, '7')")
    for name, query in GUARDED.items():
        db.sql(f"CREATE MATERIALIZED VIEW {name} AS {query}")
    db.sql("CREATE TABLE h (h HUGEINT)")
    db.sql("CREATE MATERIALIZED VIEW overflows AS SELECT sum(h) AS s FROM h")
    db.sql(f"INSERT INTO h VALUES ({'9' * 38}), ({'9' * 38}), (-{'9' * 38}), (-{'9' * 38})")
    return db


@pytest.mark.parametrize("view", GUARDED)
def test_what_a_condition_excludes_is_compared_all_the_same(db: ivm.Database, view: str) -> None:
    (checked,) = db.verify([view])
    assert checked.unchecked == ""
    assert checked.rows > 0


def test_one_that_duckdb_cannot_add_up_is_told_and_others_are_compared(
    db: ivm.Database, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        checked = {each.view: each.unchecked for each in db.verify()}
    assert db.view("overflows").fetchall() == [(0,)]
    assert "Overflow" in checked.pop("overflows")
    assert not any(checked.values())
    assert "overflows cannot be checked" in caplog.text


@pytest.mark.parametrize("view", ["divided", "cast"])
def test_a_wrong_view_is_found_behind_what_raises(db: ivm.Database, view: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracle, "forgiving", lambda text: f"{forgiving(text)} LIMIT 1")
    with pytest.raises(ivm.VerificationError, match="differs from DuckDB"):
        db.verify([view])


def test_a_list_that_holds_nan_is_the_same_where_it_is_computed_again() -> None:
    with ivm.connect(compile="off") as db:
        db.sql("CREATE TABLE t (k INTEGER, f DOUBLE)")
        db.sql("CREATE MATERIALIZED VIEW v AS SELECT k, list(f ORDER BY f) AS l FROM t GROUP BY k")
        db.sql("INSERT INTO t VALUES (1, 'nan'), (1, 0), (2, NULL), (2, 'nan')")
        assert db.verify()[0].rows == 2


def test_nothing_raises_in_a_forgiving_query() -> None:
    assert forgiving(
        "SELECT sum(a // b), a::INT, row_number() OVER (ORDER BY -a) FROM t WHERE b <> 0 AND f(a) > 1"
    ) == (
        'SELECT SUM(TRY("a" // "b")), TRY_CAST("a" AS INT), ROW_NUMBER() OVER (ORDER BY TRY(-"a")) FROM "t" '
        'WHERE "b" <> 0 AND F("a") > 1'
    )


@pytest.mark.parametrize(
    "query",
    [
        "SELECT round(n, -8) AS a, trunc(n, -7) AS b, round(n, -1000) AS c, trunc(w, -38) AS d FROM t",
        "SELECT round(round(n, -9), -9) AS a, round(sum(n), -100) AS b FROM t GROUP BY round(n, -9)",
        "SELECT trunc((SELECT n FROM t u WHERE u.n IS NULL ORDER BY n LIMIT 1), -9) AS a, n FROM t WHERE round(n, -9) IS NULL",
        "SELECT max(trunc(n, -9)) OVER (ORDER BY round(n, -9) NULLS FIRST) AS a FROM t",
    ],
)
def test_a_null_that_no_digit_is_left_of_stays_null(query: str) -> None:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (n DECIMAL(9,2), w DECIMAL(38,0))")
    db.sql("INSERT INTO t VALUES (2.50, 1), (NULL, NULL)")
    db.sql(f"CREATE MATERIALIZED VIEW v AS {query}")
    assert any(None in row for row in db.view("v").fetchall())
    (checked,) = db.verify()  # DuckDB makes 0 of NULL, without a look at it
    assert checked.unchecked == ""


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id FROM e WHERE [a] > [1] AND [a] <= [9]",
        "SELECT id FROM e WHERE {'a': a, 'b': b} BETWEEN {'a': 1, 'b': 0} AND {'a': 9, 'b': 9}",
        "SELECT x.s.* FROM (SELECT {'a': a} AS s FROM e) AS x",
    ],
)
def test_what_duckdb_does_not_compute_as_it_is_written_is_compared(db: ivm.Database, query: str) -> None:
    db.sql(f"CREATE MATERIALIZED VIEW odd AS {query}")
    (checked,) = db.verify(["odd"])
    db.sql("DROP VIEW odd")
    assert (checked.unchecked, checked.rows > 0) == ("", True)


def test_where_duckdb_rounds_variances_are_compared_with_those_of_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    called = ("var_pop(x)", "variance(DISTINCT x)", "stddev(x) FILTER (x > 0)", "sem(x)", "skewness(x)", "kurtosis(x)")
    values = [f"({number % 2}, {10**9 + number * number / 64!r})" for number in range(20)]
    with ivm.connect(compile="off") as db:
        db.sql("CREATE TABLE t (g INTEGER, x DOUBLE)")
        db.sql(f"CREATE MATERIALIZED VIEW v AS SELECT g, {', '.join(called)} FROM t GROUP BY g")
        db.sql("CREATE MATERIALIZED VIEW w AS SELECT g, kurtosis_pop(x) OVER (PARTITION BY g) AS k FROM t")
        db.sql(f"INSERT INTO t VALUES {', '.join(values)}, (2, NULL)")
        assert [each.rows for each in db.verify()] == [3, 21]
        monkeypatch.setattr(oracle, "shifted", lambda text: shifted(text).replace("'sem'", "'stddev_pop'"))
        with pytest.raises(ivm.VerificationError, match="differs from DuckDB"):
            db.verify(["v"])
        monkeypatch.setattr(oracle, "shifted", str)
        with pytest.raises(ivm.VerificationError, match="differs from DuckDB"):
            db.verify(["w"])
