"""Every query as a standing view stays what DuckDB answers, through inserts, deletes and updates in many steps."""

from __future__ import annotations

import pytest

import ivm
from tests.decorrelate.queries import ELSEWHERE, QUERIES, WHERE
from tests.joins.changes import Rows, commit, connect, install

HALVES = {"where": WHERE, "elsewhere": ELSEWHERE}


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("seed", [1, 2])
def test_views_are_right_after_every_commit(half, seed):
    db, rows = connect(compile="off"), Rows(seed)
    install(db, HALVES[half])
    for number in range(10):
        commit(db, [rows.clear() if number == 7 else rows.step()])
        db.verify()


@pytest.mark.parametrize("half", HALVES)
def test_many_times_in_one_batch(half):
    db, rows = connect(compile="off"), Rows(4)
    commit(db, [rows.step()])
    install(db, HALVES[half])
    for _ in range(3):
        commit(db, [rows.step(3) for _ in range(4)], db.time + 1)
        db.verify()


def test_compiled_loops_agree():
    db, rows = connect(compile="wait"), Rows(5)
    few = ("not_in", "above_average", "skipping", "limited", "lateral_left")
    install(db, {name: QUERIES[name] for name in few})
    for _ in range(5):
        commit(db, [rows.step()])
        db.verify()


def test_a_second_row_is_an_error_that_names_the_view_and_undoes_the_commit():
    db = connect(compile="off")
    db.sql("CREATE MATERIALIZED VIEW picky AS SELECT k, (SELECT w FROM b WHERE b.k = a.k) AS w FROM a")
    commit(db, [{"a": [((1, 1, "x"), 1)], "b": [((1, 5, "x"), 1), ((2, 5, "x"), 1), ((2, 6, "x"), 1)], "d": []}])
    assert db.view("picky").fetchall() == [(1, 5)]
    with pytest.raises(ivm.NumericError, match=r"picky.*more than one row"):
        commit(db, [{"a": [((2, 1, "x"), 1)], "b": [], "d": []}])
    with pytest.raises(ivm.NumericError, match=r"picky.*more than one row"):
        commit(db, [{"a": [], "b": [((1, 5, "x"), 1)], "d": []}])
    assert db.view("picky").fetchall() == [(1, 5)]
    commit(db, [{"a": [], "b": [((1, 5, "x"), -1), ((1, 7, "x"), 1)], "d": []}])
    assert db.view("picky").fetchall() == [(1, 7)]
    db.verify()
