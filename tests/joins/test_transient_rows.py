"""Rows that a change makes and takes back at once were never there: no error comes of them."""

from __future__ import annotations

import pytest

import ivm
from tests.joins.changes import commit, connect

VIEWS = {
    "map": "SELECT a.k, a.u // b.w AS x FROM a JOIN b ON a.k = b.k",
    "filter": "SELECT a.k, b.s FROM a JOIN b ON a.k = b.k WHERE a.u // b.w > 1",
    "group": "SELECT a.k, sum(a.u // b.w) AS x FROM a JOIN b ON a.k = b.k GROUP BY a.k",
    "below": "SELECT a.k, y.x FROM a JOIN (SELECT k, 6 // w AS x FROM b) y ON a.k = y.k",
    "outer": "SELECT a.k, a.u // b.w AS x FROM a LEFT JOIN b ON a.k = b.k",
    "derived": "SELECT a.k, a.u // y.w AS x FROM a JOIN (SELECT k, min(w) AS w FROM b GROUP BY k) y ON a.k = y.k",
    "bound": "SELECT a.k, a.u FROM a, (SELECT max(w) AS w FROM b) y WHERE a.u > 6 // y.w",
    "bound_of_group": "SELECT a.k FROM a JOIN (SELECT k, max(w) AS w FROM b GROUP BY k) y ON a.k = y.k WHERE a.u > 6 // y.w",
}
BAD, GOOD = (1, 0, "x"), (1, 2, "x")


@pytest.mark.parametrize("name", VIEWS)
def test_no_error_comes_of_rows_that_never_were(name):
    db = connect(compile="off")
    commit(db, [{"a": [], "b": [(BAD, 1)], "d": []}])
    db.sql(f"CREATE MATERIALIZED VIEW v AS {VIEWS[name]}")
    commit(db, [{"a": [((1, 6, "y"), 1)], "b": [(BAD, -1), (GOOD, 1)], "d": []}])
    assert len(db.view("v").fetchall()) == 1
    db.verify()
    commit(db, [{"a": [((1, 6, "y"), -1)], "b": [(GOOD, -1), (BAD, 1)], "d": []}])
    assert db.view("v").fetchall() == []


@pytest.mark.parametrize("name", VIEWS)
def test_an_error_that_is_one_is_raised_and_undone(name):
    db = connect(compile="off")
    db.sql(f"CREATE MATERIALIZED VIEW v AS {VIEWS[name]}")
    commit(db, [{"a": [((1, 6, "y"), 1)], "b": [(GOOD, 1)], "d": []}])
    with pytest.raises(ivm.NumericError, match=r"view v.*division by zero"):
        commit(db, [{"a": [], "b": [(GOOD, -1), (BAD, 1)], "d": []}])
    db.verify()


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_over_rows_that_are_gone_can_be_created(name):
    db = connect(compile="off")
    db.sql(f"CREATE MATERIALIZED VIEW keep AS SELECT a.k, y.w FROM a JOIN ({GROUPED}) y ON a.k = y.k")
    commit(db, [{"a": [], "b": [(BAD, 1)], "d": []}])
    commit(db, [{"a": [((1, 6, "y"), 1)], "b": [(BAD, -1), (GOOD, 1)], "d": []}])
    db.sql(f"CREATE MATERIALIZED VIEW v AS {VIEWS[name]}")
    db.verify()


GROUPED = "SELECT k, min(w) AS w FROM b GROUP BY k"
