"""What is not done by who has the lock of commits: what takes long, and what waits for the disk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from weakref import finalize

import pyarrow as pa
import pytest

import ivm
from ivm.dataflow import hydration
from ivm.engine import view
from ivm.session.core import engine_of
from ivm.session.database import core_of
from ivm.storage.log import Log
from ivm.trace import view_log
from ivm.trace.delta import Delta


def test_what_takes_long_is_done_without_the_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (a BIGINT PRIMARY KEY, s VARCHAR); INSERT INTO t VALUES (1, 'x'), (2, 'y')")
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT s, count(*) AS n FROM t GROUP BY s ORDER BY s")
    core, read = core_of(db), view_log.Sealed._read
    owned: list[bool] = []

    def reading(sealed: view_log.Sealed, time: int) -> Any:
        owned.append(core.lock._is_owned())
        return read(sealed, time)

    monkeypatch.setattr(view_log.Sealed, "_read", reading)
    for number, read_it in enumerate(
        (
            lambda: db.sql("SELECT max(n) FROM v").fetchall(),
            lambda: db.sql("SELECT view, rows FROM ivm_views").fetchall(),
            db.views,
            lambda: db.subscribe("v", snapshot=True).fetch(),
            db.verify,
        )
    ):
        db.sql(f"UPDATE t SET s = '{number}' WHERE a = 1")
        read_it()
        assert owned, "the view is consolidated for it"
        assert not any(owned)
        owned.clear()
    engine, freed = engine_of(core), list[bool]()
    finalize(engine.views["v"].log, lambda: freed.append(core.lock._is_owned()))
    db.sql("CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT a FROM t")
    finalize(engine.views["v"].log, lambda: freed.append(core.lock._is_owned()))
    db.sql("DROP VIEW v")
    finalize(engine.tables["t"], lambda: freed.append(core.lock._is_owned()))
    db.sql("DROP TABLE t")
    assert freed == [False, False, False]


def test_what_was_there_comes_before_what_has_changed_since(monkeypatch: pytest.MonkeyPatch) -> None:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (a BIGINT); INSERT INTO t VALUES (1)")
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT a FROM t")
    changes = view.Contents.changes

    def slow(held: view.Contents, time: int) -> pa.Table:
        if time:
            db.sql("INSERT INTO t VALUES (2)")
        return changes(held, time)

    monkeypatch.setattr(view.Contents, "changes", slow)
    subscription = db.subscribe("v", snapshot=True)
    assert [(row["a"], row["_time"], row["_diff"]) for row in subscription.fetch().to_pylist()] == [
        (1, 1, 1),
        (2, 2, 1),
    ]


def test_a_new_view_catches_up_with_many_rows_without_the_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (a BIGINT PRIMARY KEY, g BIGINT)")
    db.apply({"t": pa.table({"a": range(100), "g": range(100)})})
    core, step, held = core_of(db), hydration._step, dict[int, bool]()

    def stepping(operator: Any, inputs: Sequence[Delta | None], since: int) -> None:
        (delta,) = inputs
        assert delta is not None
        held[len(delta)] = core.lock._is_owned()
        step(operator, inputs, since)

    def progress(_: object) -> None:
        if db.time == 1:
            db.apply({"t": pa.table({"a": range(1000, 4000), "g": range(3000)})})
            db.apply({"t": pa.table({"a": [10_000], "g": [0]})})

    monkeypatch.setattr(hydration, "_step", stepping)
    db.sql("CREATE MATERIALIZED VIEW v AS SELECT g, count(*) AS n FROM t GROUP BY g", progress=progress)
    assert held[3001] is False
    db.verify()


def test_changes_do_not_wait_for_the_disk_with_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db = ivm.connect(tmp_path / "db", compile="off")
    core, settle, owned = core_of(db), Log.settle, list[bool]()

    def settling(log: Log, number: int) -> None:
        if log.settled < number:
            owned.append(core.lock._is_owned())
        settle(log, number)

    monkeypatch.setattr(Log, "settle", settling)
    for text in (
        "CREATE TABLE t (a BIGINT PRIMARY KEY, b BIGINT); CREATE TYPE mood AS ENUM ('x')",
        "INSERT INTO t VALUES (1, 1), (2, 2)",
        "INSERT INTO t SELECT a + 10, b FROM t",
        "UPDATE t SET b = 3 WHERE a = 1",
        "UPDATE t SET b = b + (SELECT max(b) FROM t) WHERE b < 3",
        "DELETE FROM t WHERE a = 2",
        "CREATE TABLE u AS SELECT * FROM t",
        "CREATE MATERIALIZED VIEW v AS SELECT b, count(*) AS n FROM t GROUP BY b",
        "CREATE INDEX i ON t (b); DROP INDEX i",
        "DROP VIEW v; DROP TABLE u",
    ):
        db.sql(text)
        assert owned, "it is certain when it returns"
        assert not any(owned) or text.startswith(("CREATE", "DROP")), "what exists is seen without the lock"
        owned.clear()
    db.apply({"t": [{"a": 5, "b": 5}]})
    db.sql("CHECKPOINT")
    assert owned == [False]
    db.close()
