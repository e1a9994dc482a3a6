"""Statements whose WITH changes tables: at one time, whoever else commits, on disk and over shards."""

from __future__ import annotations

from pathlib import Path

import pytest

import ivm
from ivm.session import chained

SETUP = """
    CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER); CREATE TABLE old (id INTEGER, a INTEGER);
    CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n, sum(a) AS a FROM (FROM t UNION ALL FROM old);
    INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)
"""
MOVE = "WITH gone AS (DELETE FROM t WHERE a >= $1 RETURNING *) INSERT INTO old SELECT * FROM gone RETURNING id"


def test_it_is_one_commit() -> None:
    with ivm.connect(compile="off") as db:
        db.sql(SETUP)
        told, before = db.subscribe("v", snapshot=False), db.time
        assert sorted(db.sql(MOVE, [20]).fetchall()) == [(2,), (3,)]
        assert db.time == before + 1
        told.close()
        assert db.view("v").fetchall() == [(3, 60)]


def test_it_is_part_of_a_transaction() -> None:
    with ivm.connect(compile="off") as db:
        db.sql(SETUP)
        db.sql("BEGIN")
        db.sql(MOVE, [20])
        assert db.sql("SELECT count(*) FROM old").fetchall() == [(2,)]
        db.sql("ROLLBACK")
        assert db.sql("SELECT count(*) FROM old").fetchall() == [(0,)]
        with pytest.raises(ivm.Error, match="READ ONLY"):
            db.sql("BEGIN READ ONLY; " + MOVE.replace("$1", "20"))
        db.sql("ROLLBACK; PREPARE move AS " + MOVE)
        assert sorted(db.sql("EXECUTE move(20)").fetchall()) == [(2,), (3,)]


def test_it_is_carried_out_once_more_where_others_are_first(monkeypatch: pytest.MonkeyPatch) -> None:
    with ivm.connect(compile="off") as db:
        db.sql(SETUP)
        carry_out, others = (
            chained._carried_out,
            ["UPDATE t SET a = 25 WHERE id = 2", "UPDATE t SET a = 5 WHERE id = 3"],
        )

        def interfered(*args: object) -> ivm.Result:
            found = carry_out(*args)  # type: ignore[arg-type]
            while others:
                db.sql(others.pop())
            return found

        monkeypatch.setattr(chained, "_carried_out", interfered)
        assert db.sql(MOVE, [20]).fetchall() == [(2,)]
        assert sorted(db.sql("FROM t").fetchall()) == [(1, 10), (3, 5)]
        assert db.sql("FROM old").fetchall() == [(2, 25)]
        db.verify()


def test_on_disk_and_over_shards(tmp_path: Path) -> None:
    with ivm.connect(tmp_path / "db", compile="off") as db:
        db.sql(SETUP)
        db.sql(MOVE, [30])
    with ivm.connect(tmp_path / "db", compile="off") as db:
        assert (sorted(db.sql("FROM t").fetchall()), db.sql("FROM old").fetchall()) == ([(1, 10), (2, 20)], [(3, 30)])
        db.verify()
    with ivm.connect(shards=2, compile="off") as db:
        db.sql(SETUP)
        assert sorted(db.sql(MOVE, [20]).fetchall()) == [(2,), (3,)]
        with pytest.raises(ivm.ConstraintError):
            db.sql("WITH gone AS (DELETE FROM old) INSERT INTO t VALUES (1, 1)")
        assert sorted(db.sql("FROM old").fetchall()) == [(2, 20), (3, 30)]
        db.verify()
