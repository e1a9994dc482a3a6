"""Transactions without `with`: they commit or roll back when they are told, and warn when they are forgotten."""

from __future__ import annotations

import gc
import warnings

import pytest

import ivm


@pytest.fixture
def db() -> ivm.Database:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, x INTEGER); CREATE TABLE u (x INTEGER)")
    return db


def rows(db: ivm.Database) -> list[tuple[object, ...]]:
    return db.sql("SELECT * FROM t ORDER BY id").fetchall()


def test_commit_gives_the_time_and_ends_it(db: ivm.Database) -> None:
    tx = db.transaction()
    tx.insert("t", [{"id": 1, "x": 1}])
    assert rows(db) == []
    assert tx.commit() == tx.time == db.time == 1
    assert rows(db) == [(1, 1)]
    for use in (
        tx.commit,
        tx.rollback,
        tx.__enter__,
        lambda: tx.insert("t", []),
        lambda: tx.delete("t", []),
        lambda: tx.upsert("t", []),
    ):
        with pytest.raises(ivm.Error, match=r"it has committed; begin another with db\.transaction"):
            use()
    assert tx.time == 1


def test_rollback_lets_everything_go(db: ivm.Database) -> None:
    tx = db.transaction()
    tx.insert("t", [{"id": 1, "x": 1}])
    tx.rollback()
    for use in (tx.commit, tx.rollback, lambda: tx.insert("t", [])):
        with pytest.raises(ivm.Error, match="it was rolled back"):
            use()
    with pytest.raises(ivm.Error, match="has not committed"):
        _ = tx.time
    assert rows(db) == []
    assert db.time == 0


def test_a_commit_that_fails_keeps_the_changes(db: ivm.Database) -> None:
    db.sql("INSERT INTO t VALUES (1, 1)")
    tx = db.transaction()
    tx.insert("t", [{"id": 1, "x": 2}])
    with pytest.raises(ivm.ConstraintError):
        tx.commit()
    db.sql("DELETE FROM t")
    tx.commit()
    assert rows(db) == [(1, 2)]


def test_within_a_block(db: ivm.Database) -> None:
    with db.transaction() as tx:
        tx.insert("t", [{"id": 1, "x": 1}])
        tx.commit()
        assert rows(db) == [(1, 1)]
    assert db.time == 1
    with db.transaction() as tx:
        tx.insert("t", [{"id": 2, "x": 1}])
        tx.rollback()
    with pytest.raises(ivm.ConstraintError), db.transaction() as failing:
        failing.insert("t", [{"id": 1, "x": 1}])
    with pytest.raises(ivm.Error, match="rolled back"):
        failing.commit()
    with pytest.raises(ZeroDivisionError), db.transaction() as tx:
        tx.insert("t", [{"id": 3, "x": 1}])
        raise ZeroDivisionError
    with pytest.raises(ivm.Error, match="rolled back"), tx:
        pass
    assert rows(db) == [(1, 1)]
    assert db.time == 1


def test_one_that_is_dropped_with_changes_warns(db: ivm.Database) -> None:
    tx = db.transaction()
    tx.insert("t", [{"id": 1, "x": 1}])
    tx.insert("u", [{"x": 1}])
    tx.insert("t", [{"id": 2, "x": 1}])
    with pytest.warns(ResourceWarning, match="changes of t, u was neither committed nor rolled back"):
        del tx
    assert rows(db) == []


def test_others_do_not_warn(db: ivm.Database) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        db.transaction()
        done = db.transaction()
        done.insert("t", [{"id": 1, "x": 1}])
        done.commit()
        with pytest.raises(ivm.Error):
            db.sql("UPDATE t SET x = 1 / 0 + CAST('a' AS INTEGER)")
        with pytest.raises(ivm.ConstraintError):
            db.sql("INSERT INTO t SELECT 1, 2")
        with pytest.raises(ivm.ConstraintError):
            db.sql("INSERT INTO t VALUES (1, 2)")
        del done
        gc.collect()
