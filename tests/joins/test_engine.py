"""Every query as a standing view stays what DuckDB answers, through inserts, deletes and updates in many steps."""

from __future__ import annotations

import pytest

from tests.joins.changes import Rows, commit, connect, install
from tests.joins.queries import DISTINCTS, JOINS, SETS
from tests.more import with_more

QUERIES = JOINS | SETS | DISTINCTS
HALVES = {"first": dict(list(QUERIES.items())[::2]), "second": dict(list(QUERIES.items())[1::2])}


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("seed", with_more([1], [2]))
def test_views_are_right_after_every_commit(half, seed):
    db, rows = connect(compile="off"), Rows(seed)
    install(db, HALVES[half])
    for number in range(12):
        commit(db, [rows.clear() if number == 8 else rows.step()])
        db.verify()
    commit(db, [rows.clear()])
    db.verify()


@pytest.mark.parametrize("half", HALVES)
def test_views_installed_later_are_right(half):
    db, rows = connect(compile="off"), Rows(3)
    for _ in range(4):
        commit(db, [rows.step()])
    install(db, HALVES[half])
    db.verify()
    for _ in range(3):
        commit(db, [rows.step()])
    db.verify()


@pytest.mark.parametrize("half", HALVES)
def test_many_times_in_one_batch(half):
    db, rows = connect(compile="off"), Rows(4)
    install(db, HALVES[half])
    for _ in range(3):
        commit(db, [rows.step(3) for _ in range(5)], db.time + 1)
        db.verify()


def test_compiled_loops_agree():
    db, rows = connect(compile="wait"), Rows(5)
    few = ("left_mixed", "using_full", "anti_mixed", "left_null_safe_text", "except_all", "intersect", "on_ordered")
    install(db, {name: QUERIES[name] for name in few})
    for _ in range(6):
        commit(db, [rows.step()])
        db.verify()
