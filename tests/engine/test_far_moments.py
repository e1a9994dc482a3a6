"""Days and moments that Python has not: each way to rows of Python says so, and Arrow has them."""

from __future__ import annotations

import io
from contextlib import redirect_stdout

import pytest

import ivm
from ivm.shell.printing import WRITERS


@pytest.fixture(scope="module")
def db() -> ivm.Database:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (i INTEGER, a DATE, s TIMESTAMP)")
    db.sql(
        "INSERT INTO t VALUES (1, '9999-12-31', '9999-12-31 23:00'), (1, '0001-01-01', NULL), (2, '2020-01-01', NULL)"
    )
    db.sql("CREATE MATERIALIZED VIEW later AS SELECT i, a + 400 AS x FROM t")
    db.sql("CREATE MATERIALIZED VIEW earlier AS SELECT a - INTERVAL 2 YEAR AS x FROM t ORDER BY x")
    db.sql("CREATE MATERIALIZED VIEW zoned AS SELECT s::TIMESTAMPTZ + INTERVAL 2 HOUR AS x FROM t")
    db.sql("CREATE MATERIALIZED VIEW midnight AS SELECT TIME '24:00' AS x, extract(hour FROM TIME '24:00') AS h FROM t")
    db.sql("CREATE MATERIALIZED VIEW lists AS SELECT list(a + 400) AS x FROM t GROUP BY i")
    return db


VIEWS = {
    "later": "10001-02-03", "earlier": r"0002-01-01 \(BC\) 00:00:00", "zoned": r"10000-01-01 01:00:00\+00",
    "midnight": "24:00:00", "lists": "10001-02-03",
}  # fmt: skip


@pytest.mark.parametrize("view", VIEWS)
def test_rows_of_python_are_refused_and_arrow_has_them(db: ivm.Database, view: str) -> None:
    told = rf"cannot give column 'x'.* it holds {VIEWS[view]}, .*\.arrow\(\), or cast it to VARCHAR"
    read, cursor = db.view(view), db.execute(f"SELECT x FROM {view}")
    ways = (read.fetchall, read.fetchone, lambda: list(read), cursor.fetchall, cursor.fetchone, cursor.fetchmany)
    for way in (*ways, db.sql(f"SELECT x FROM {view}").fetchall):
        with pytest.raises(ivm.TypeMismatchError, match=told):
            way()
        assert read.arrow().num_rows == len(read)
    assert not any(each.unchecked for each in db.verify([view]))


def test_pandas_has_far_dates_and_no_time_of_24_hours(db: ivm.Database) -> None:
    with pytest.raises(ivm.TypeMismatchError, match=r"cannot give column 'x'.*\.arrow\(\)"):
        db.view("midnight").df()
    for view in ("later", "lists"):
        assert len(db.view(view).df()) == len(db.view(view))


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("view", VIEWS)
def test_what_is_shown_needs_no_values_of_python(db: ivm.Database, view: str, form: str) -> None:
    out = io.StringIO()
    with redirect_stdout(out):
        WRITERS[form](db.view(view))
    shown = VIEWS[view].replace("\\", "")
    assert shown in out.getvalue()
    assert shown in repr(db.view(view))
    assert shown in db.view(view)._repr_html_()


def test_a_subscription_tells_them(db: ivm.Database) -> None:
    with db.subscribe("later") as changes:
        db.sql("INSERT INTO t VALUES (9, '9999-01-01', NULL)")
        assert changes.fetch().num_rows == 1
        db.sql("DELETE FROM t WHERE i = 9")


def test_near_rows_can_be_read_on_when_far_ones_were_refused(db: ivm.Database) -> None:
    result = db.sql("SELECT DATE '9999-12-31' + 1 AS x")
    for _ in range(2):
        with pytest.raises(ivm.TypeMismatchError):
            result.fetchone()


FAR = (
    ("SELECT '290309-01-01 (BC)'::DATE::TIMESTAMP AS x", ivm.TypeMismatchError, "out of the range of TIMESTAMP"),
    ("SELECT '5881580-07-10'::DATE + 1 AS x", ivm.NumericError, "does not fit DATE"),
    ("SELECT '5877642-06-25 (BC)'::DATE - 1 AS x", ivm.NumericError, "does not fit DATE"),
    ("SELECT DATE '2020-01-01' + INTERVAL 300000 YEAR AS x", ivm.BindError, "beyond the range of TIMESTAMP"),
    ("SELECT a + INTERVAL 1 DAY * 9223372036854775807 AS x FROM t", ivm.BindError, "out of the range of INTERVAL"),
    ("SELECT a + INTERVAL 1e400 DAY AS x FROM t", ivm.BindError, "not finite"),
)


@pytest.mark.parametrize(("query", "error", "message"), FAR, ids=[query for query, _, _ in FAR])
def test_what_no_moment_is_is_refused(db: ivm.Database, query: str, error: type[ivm.Error], message: str) -> None:
    with pytest.raises(error, match=message):
        db.sql(f"CREATE MATERIALIZED VIEW never AS {query}")
