"""Scalar functions in maintained views: what fails at creation, what fails in a commit, and that nothing has changed."""

from __future__ import annotations

import pytest

import ivm


@pytest.fixture
def db() -> ivm.Database:
    made = ivm.connect(compile="off")
    made.sql("CREATE TABLE t (id INTEGER PRIMARY KEY, v VARCHAR, n INTEGER)")
    made.sql("INSERT INTO t VALUES (1, '2020-01-31', 5), (2, NULL, NULL)")
    return made


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ("regexp_matches(v, '(')", r"cannot use the regular expression '\(': .*missing \)"),
        ("regexp_replace(v, 'a', '\\1')", "only has 0 parenthesized"),
    ],
)
def test_a_pattern_that_is_none_is_refused_with_the_view(db: ivm.Database, item: str, message: str):
    with pytest.raises(ivm.UnsupportedError, match=message):
        db.sql(f"CREATE MATERIALIZED VIEW x AS SELECT {item} AS y FROM t")
    with pytest.raises(ivm.BindError):
        db.view("x")
    db.sql("CREATE MATERIALIZED VIEW x AS SELECT v FROM t")


@pytest.mark.parametrize(
    ("item", "row", "message"),
    [
        ("strptime(v, '%Y-%m-%d')", "(3, 'soon', 1)", r"cannot compute strptime\('soon', '%Y-%m-%d'\)"),
        ("chr(n)", "(3, '2020-01-01', -1)", r"cannot compute chr\(-1\): there is no such character"),
        ("lpad('a', n, '')", "(3, '2020-01-01', 3)", "give LPAD a text that is not empty"),
        ("make_date(2020, n, 1)", "(3, '2020-01-01', 13)", "there is no such date"),
        ("1 << n", "(3, '2020-01-01', 31)", r"shift_left\(1, 31\): the result does not fit INTEGER"),
        ("factorial(n)", "(3, '2020-01-01', 34)", "needs a number from 0 to 33"),
        ("CAST(v AS DATE)", "(3, '2020-02-30', 1)", "cannot cast '2020-02-30' to DATE"),
    ],
)
def test_a_row_without_a_value_stops_the_commit(db: ivm.Database, item: str, row: str, message: str):
    guard = "" if "lpad" not in item else " WHERE id > 2"
    db.sql(f"CREATE MATERIALIZED VIEW x AS SELECT id, {item} AS y FROM t{guard}")
    before = db.view("x").fetchall()
    with pytest.raises(ivm.NumericError, match=message):
        db.sql(f"INSERT INTO t VALUES {row}")
    assert db.view("x").fetchall() == before
    assert db.sql("SELECT count(*) FROM t").fetchall() == [(2,)]
    assert db.verify()


def test_try_cast_and_intervals_follow_the_changes(db: ivm.Database):
    db.sql("CREATE MATERIALIZED VIEW x AS SELECT id, TRY_CAST(v AS DATE) + INTERVAL (n) MONTH AS due FROM t")
    db.sql(
        "CREATE MATERIALIZED VIEW y AS SELECT date_trunc('month', TRY_CAST(v AS DATE)) AS m, count(*) AS c FROM t GROUP BY 1"
    )
    assert db.verify()
    db.sql("INSERT INTO t VALUES (3, 'never', 1), (4, '2020-01-31', 1)")
    assert [str(due) for id_, due in db.view("x").fetchall() if id_ == 4] == ["2020-02-29 00:00:00"]
    assert db.verify()
    db.sql("UPDATE t SET v = '2019-12-31', n = -22 WHERE id > 1")
    assert db.verify()
    db.sql("DELETE FROM t WHERE id = 1")
    assert db.verify()
