"""A database that is closed: what is under way comes to an end, what is used afterwards says so, nothing is left."""

from __future__ import annotations

import gc
import os
import threading
import time
import weakref
from collections.abc import Callable

import pytest

import ivm
from ivm.render.scalars import compiler
from ivm.session.database import core_of

LONG = 30


def _database() -> ivm.Database:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, x INTEGER); CREATE MATERIALIZED VIEW s AS SELECT sum(x) AS s FROM t")
    db.sql("INSERT INTO t VALUES (1, 10)")
    return db


USES: dict[str, Callable[[ivm.Database], object]] = {
    "sql": lambda db: db.sql("SELECT 1"),
    "nothing to run": lambda db: db.sql(""),
    "execute": lambda db: db.execute("SELECT 1"),
    "executemany": lambda db: db.executemany("INSERT INTO t VALUES (?, ?)", [(1, 2)]),
    "cursor": lambda db: db.cursor(),
    "commit": lambda db: db.commit(),
    "transaction": lambda db: db.transaction(),
    "apply": lambda db: db.apply({"t": [{"id": 2, "x": 1}]}),
    "apply nothing": lambda db: db.apply({}),
    "view": lambda db: db.view("s"),
    "tables": lambda db: db.tables(),
    "views": lambda db: db.views(),
    "subscribe": lambda db: db.subscribe("s"),
    "verify": lambda db: db.verify(),
    "explain": lambda db: db.explain("SELECT 1"),
    "time": lambda db: db.time,
    "wait_compiled": lambda db: db.wait_compiled(),
    "with": lambda db: db.__enter__(),
}


def test_whatever_is_used_says_that_it_is_closed() -> None:
    db = _database()
    view, cursor, tx = db.view("s"), db.execute("SELECT x FROM t"), db.transaction()
    tx.insert("t", [{"id": 5, "x": 5}])
    assert not db.closed
    assert repr(db) == "<ivm.Database, 1 tables, 1 views, time 1>"
    db.close()
    db.close()
    assert repr(db) == "<ivm.Database, closed>"
    for name, use in USES.items():
        with pytest.raises(ivm.Error, match=r"is closed; make another with ivm\.connect"):
            pytest.fail(f"{name}: {use(db)!r}")
    uses: list[Callable[[], object]] = [view.fetchall, tx.commit, lambda: tx.insert("t", [{"id": 6, "x": 6}])]
    for used in uses:
        with pytest.raises(ivm.Error, match="is closed"):
            used()
    tx.rollback()
    assert cursor.fetchall() == [(10,)]  # what was answered is the caller's
    with pytest.raises(ivm.Error, match="is closed"):
        cursor.execute("SELECT 1")


def test_a_block_closes_also_when_it_raises() -> None:
    db = _database()
    with pytest.raises(ivm.BindError), db as same:
        assert same is db
        assert db.sql("SELECT x FROM t").fetchall() == [(10,)]
        db.view("unknown")
    assert db.closed


def test_subscriptions_end_and_give_what_they_hold() -> None:
    db = _database()
    subscription, idle = db.subscribe("s"), db.subscribe("s")
    seen: list[int] = []
    reader = threading.Thread(target=lambda: seen.extend(len(changes) for changes in idle))
    reader.start()
    db.sql("INSERT INTO t VALUES (2, 10)")
    db.close()
    reader.join(LONG)
    assert seen == [2]
    assert [len(changes) for changes in subscription] == [2]
    subscription.close()


def test_what_is_under_way_ends_first() -> None:
    db, order = _database(), list[str]()
    inside, closing = threading.Event(), threading.Event()

    def progress(_: ivm.Progress) -> None:
        inside.set()
        closing.wait(LONG)
        time.sleep(0.05)
        order.append("chunk")

    def create() -> None:
        db.sql("CREATE MATERIALIZED VIEW late AS SELECT x FROM t", progress=progress)
        order.append("created")

    creator = threading.Thread(target=create)
    creator.start()
    assert inside.wait(LONG)
    closing.set()
    db.close()
    order.append("closed")
    creator.join(LONG)
    assert "chunk" in order[: order.index("closed")]
    assert db.closed


def test_whoever_waits_for_the_turn_is_refused() -> None:
    db, errors = _database(), list[ivm.Error]()

    def commit() -> None:
        try:
            db.sql("INSERT INTO t VALUES (9, 9)")
        except ivm.Error as error:
            errors.append(error)

    lock = core_of(db).lock
    with lock:
        waiting = [threading.Thread(target=commit) for _ in range(3)]
        for thread in waiting:
            thread.start()
        while len(lock._waiting) < 3:
            time.sleep(0.001)
        db.close()
    for thread in waiting:
        thread.join(LONG)
    assert ["is closed" in str(error) for error in errors] == [True] * 3


def test_it_cannot_be_closed_from_within_an_installation() -> None:
    db = _database()
    with pytest.raises(ivm.BindError, match="while this thread creates a view"):
        db.sql("CREATE MATERIALIZED VIEW late AS SELECT x FROM t", progress=lambda _: db.close())
    assert [view.name for view in db.views()] == ["s"]


def test_tables_and_views_are_let_go() -> None:
    db = _database()
    engine = weakref.ref(core_of(db).engine)
    db.close()
    gc.collect()
    assert engine() is None


@pytest.mark.skipif(os.name != "posix", reason="looks for a process as POSIX has them")
def test_the_compilers_process_ends_with_the_last_database(monkeypatch: pytest.MonkeyPatch) -> None:
    workshop = compiler._Workshop()
    monkeypatch.setattr(compiler, "_workshop", workshop)
    monkeypatch.setattr(compiler, "_compilers", weakref.WeakSet())
    first, second = compiler.Compiler(), compiler.Compiler()
    workshop._elsewhere._start()
    pid = workshop._elsewhere.pid
    assert pid is not None
    workshop._start()
    first.close()
    time.sleep(0.1)
    assert workshop._elsewhere.pid == pid
    second.close()
    second.close()
    deadline = time.monotonic() + LONG
    while _is_there(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not _is_there(pid)
    assert compiler.Compiler(wait=True).order("nonsense").failed
    workshop._close()


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
