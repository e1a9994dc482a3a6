"""Faults that were met once, each as it was found, and real ones: signals at any moment, too little memory."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import ivm
from ivm.engine.engine import Engine
from ivm.trace.rows.table_store import TableStore
from ivm.trace.view_log import ViewLog

ROOT = Path(__file__).parents[2]


def _once(function, number, error):
    """The function, which raises at its so many-th call."""
    calls = 0

    def raising(*given, **named):
        nonlocal calls
        calls += 1
        if calls == number:
            raise error
        return function(*given, **named)

    return raising


@pytest.mark.parametrize(
    ("where", "name", "number", "there"),
    [(ViewLog, "seal", 1, True), (ViewLog, "seal", 2, True), (Engine, "_changes", 2, False)],
)
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_commit_that_is_interrupted_at_its_end_is_done_or_undone(monkeypatch, where, name, number, there, error):
    db = ivm.connect(compile="off")
    db.sql(
        "CREATE TABLE t (id BIGINT PRIMARY KEY, g INTEGER);"
        "CREATE MATERIALIZED VIEW a AS SELECT g, count(*) AS n FROM t GROUP BY g;"
        "CREATE MATERIALIZED VIEW b AS SELECT id FROM t WHERE g > 0;"
        "INSERT INTO t VALUES (1, 1), (2, 2)"
    )
    told = {view: (db.subscribe(view), Counter(db.view(view).fetchall())) for view in "ab"}
    with monkeypatch.context() as patch:
        patch.setattr(where, name, _once(getattr(where, name), number, error))
        with pytest.raises(error):
            db.sql("INSERT INTO t VALUES (3, 1)")
    assert db.sql("SELECT count(*) FROM t").fetchall() == [(2 + there,)]
    assert len(db.view("b")) == 2 + there
    db.sql("INSERT INTO t VALUES (4, 2)")
    for view, (subscription, seen) in told.items():
        for row in subscription.fetch().to_pylist():
            diff = row.pop("_diff")
            del row["_time"]
            seen[tuple(row.values())] += diff
        assert +seen == Counter(db.view(view).fetchall())
    db.verify()


def test_an_upsert_without_memory_for_its_rows_loses_none(monkeypatch):
    db = ivm.connect(compile="off")
    db.sql(
        "CREATE TABLE t (id BIGINT PRIMARY KEY, x BIGINT);"
        "CREATE MATERIALIZED VIEW v AS SELECT sum(x) AS s, count(*) AS n FROM t;"
        "INSERT INTO t VALUES (1, 10), (2, 20), (3, 30);"
        "DELETE FROM t WHERE id = 3"
    )
    with monkeypatch.context() as patch:
        patch.setattr(TableStore, "_add", _once(TableStore._add, 1, MemoryError))
        with pytest.raises(MemoryError), db.transaction() as tx:
            tx.upsert("t", [{"id": 1, "x": 11}, {"id": 2, "x": 21}])
    assert db.sql("SELECT * FROM t ORDER BY id").fetchall() == [(1, 10), (2, 20)]
    db.verify()


class _Scarce:
    """numpy without memory."""

    def __getattr__(self, name):
        return getattr(np, name)

    def empty(self, *given, **named):
        raise MemoryError


@pytest.mark.parametrize("module", ["ivm.operators.top_k", "ivm.trace.ordered.ordered_tree"])
def test_a_top_k_without_memory_stays_right(monkeypatch, module):
    db = ivm.connect(compile="off")
    db.sql(
        "CREATE TABLE t (id BIGINT PRIMARY KEY, x BIGINT);"
        "CREATE MATERIALIZED VIEW v AS SELECT id, x FROM t ORDER BY x DESC, id LIMIT 3;"
        "INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40), (5, 50)"
    )
    with monkeypatch.context() as patch:
        if hasattr(sys.modules.get(module), "np"):
            patch.setattr(f"{module}.np", _Scarce())
        try:
            db.sql("INSERT INTO t VALUES (6, 35), (7, 45)")
        except MemoryError:
            assert db.sql("SELECT count(*) FROM t").fetchall() == [(5,)]
        else:
            db.sql("DELETE FROM t WHERE id IN (6, 7)")
    db.sql("INSERT INTO t VALUES (8, 33), (9, 35); DELETE FROM t WHERE id = 5")
    db.verify()


def _bombarded(scene: str, kind: str, seconds: int) -> None:
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.faults.bombarded", scene, kind, str(seconds)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("right"), done.stderr[-3000:]


def test_signals_at_any_moment():
    _bombarded("joins", "signals", 3)


@pytest.mark.slow
@pytest.mark.parametrize("scene", ["reduces", "sets", "windows", "joins"])
def test_signals_at_many_moments(scene):
    _bombarded(scene, "signals", 30)


@pytest.mark.slow
@pytest.mark.parametrize("scene", ["reduces", "windows", "joins"])
def test_too_little_memory(scene):
    _bombarded(scene, "memory", 30)
