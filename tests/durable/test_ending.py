"""Databases that nobody closes, processes that are forked, and closing while others are at work."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import ivm
from ivm.storage.pinned import pinned

ROOT = Path(__file__).parents[2]
BEGIN = "import ivm, sys, os; db = ivm.connect(sys.argv[1], compile='off', durability='off')\n"
BEGIN += "db.sql('CREATE TABLE t (a BIGINT PRIMARY KEY)'); db.apply({'t': {'a': [1, 2, 3]}})\n"


def _run(path, code, watched=True):
    """What a script does to a database, told of each file that is closed as it should be."""
    watch = "from ivm.storage.log import Log; close = Log.close\n"
    watch += "Log.close = lambda self: (close(self), print('closed'))[0]\n"
    command = [sys.executable, "-c", (watch if watched else "") + BEGIN + code, str(path)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("sys.exit(3)", 3),
        ("raise ValueError('no')", 1),
        ("other = ivm.connect(sys.argv[1] + '2', compile='off'); db.sql('DROP TABLE t; CREATE TABLE u (a BIGINT)')", 0),
    ],
)
def test_what_nobody_closes_is_closed_at_the_end_of_the_process(tmp_path, end, code):
    done = _run(tmp_path / "shop.ivm", end)
    assert done.returncode == code, done.stderr
    assert done.stdout.count("closed") == (2 if "other" in end else 1)
    with ivm.connect(tmp_path / "shop.ivm", compile="off") as db:
        assert [table.rows for table in db.tables()] == [0 if "other" in end else 3]


def test_a_disk_that_fails_at_the_end_is_told_and_the_others_are_closed(tmp_path):
    fails = "os.fdatasync = lambda handle: (_ for _ in ()).throw(OSError(5, 'Input/output error'))"
    done = _run(tmp_path / "shop.ivm", f"other = ivm.connect(sys.argv[1] + '2', compile='off'); {fails}")
    assert done.returncode == 0
    assert f"{tmp_path / 'shop.ivm'} was not closed as it should be" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_nobody_has_any_more_is_closed(tmp_path):
    for number in range(3):  # each finds the one before lost
        db = ivm.connect(tmp_path / "shop.ivm", compile="off", durability="interval", interval=0.001)
        db.sql(f"CREATE TABLE t{number} (a BIGINT)")
        assert len(db.tables()) == number + 1
        del db
    gc.collect()
    _wait_closed()
    ivm.connect(tmp_path / "shop.ivm", compile="off").close()


def test_a_view_keeps_its_database_open(tmp_path):
    db = ivm.connect(tmp_path / "shop.ivm", compile="off")
    db.sql("CREATE TABLE t (a BIGINT); CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t")
    view = db.view("v")
    del db
    with pytest.raises(ivm.StorageError, match="has it open"):
        ivm.connect(tmp_path / "shop.ivm", compile="off")
    assert view.fetchall() == [(0,)]


def _wait_closed():
    for thread in threading.enumerate():
        if thread.name == "ivm-close":
            thread.join()


IN_CHILD = """
import asyncio, pyarrow as pa
from functools import partial
db.sql("CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t")
from tests.durable.opening import finish
finish(db)
view, tx, subscription, sink = db.view("v"), db.transaction(), db.subscribe("v", snapshot=True), db.sink("t", source="s")
tx.insert("t", [{"a": 4}])
cursor, other, taking = db.execute("SELECT a FROM t ORDER BY a"), db.cursor(), iter(subscription)

async def awaited():
    async for changes in subscription:
        raise AssertionError(changes)

uses = [getattr(db, name) for name in ("tables", "views", "batches", "verify", "wait_compiled", "cursor", "commit")]
uses += [lambda: db.time, db.transaction, db.__enter__, view.fetchall, view.fetchone, view.df, view.arrow, view.show]
uses += [lambda: len(view), lambda: list(view), lambda: view.columns, lambda: view.changes(0), lambda: view.arrow(as_of=0), lambda: repr(view)]
uses += [subscription.fetch, lambda: subscription.fetch(timeout=None), lambda: next(taking), lambda: list(subscription)]
uses += [subscription.close, db.close]
uses += [lambda: asyncio.run(awaited()), tx.commit, lambda: tx.insert("t", [{"a": 5}]), lambda: sink(pa.table({"a": [6]}), 0)]
for text in ("SELECT 1", "INSERT INTO t VALUES (9)", "CHECKPOINT", "CREATE TABLE u (a BIGINT)", "DROP VIEW v", "SHOW TABLES"):
    uses += [partial(db.sql, text), partial(db.execute, text), partial(other.execute, text)]
uses += [partial(db.apply, {"t": {"a": [9]}}), partial(db.view, "v"), partial(db.subscribe, "v"), partial(db.sink, "t")]
uses += [partial(db.backup, sys.argv[1] + ".copy"), partial(db.explain, "SELECT a FROM t")]
uses += [partial(db.executemany, "INSERT INTO t VALUES (?)", [(9,)])]
size = sum(os.stat(f"{sys.argv[1]}/{name}").st_size for name in os.listdir(sys.argv[1]))
child = os.fork()
if child == 0:
    for number, use in enumerate(uses):
        try:
            use()
        except ivm.InterfaceError as error:
            assert "forked" in str(error)
        else:
            print("nothing was raised by", number, use, file=sys.stderr)
            os._exit(7)
    tx.rollback()
    assert db.closed and "closed" in repr(db) and view.name == "v"
    assert cursor.fetchall() == [(1,), (2,), (3,)]  # which was answered before
    with ivm.connect(sys.argv[1], read_only=True, compile="off") as beside:
        assert beside.sql("SELECT count(*) FROM t").fetchall() == [(3,)]
    subscription.__exit__(), db.__exit__()  # as who leaves a block that was entered before the fork
    if sys.argv[1].endswith("waits.ivm"):
        sys.stdin.read()
    sys.exit(0)  # which is what runs what was registered for the end
"""


def test_a_forked_child_neither_writes_nor_lets_go(tmp_path):
    after = """
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert size == sum(os.stat(f"{sys.argv[1]}/{name}").st_size for name in os.listdir(sys.argv[1]))
try:
    import subprocess
    code = "import ivm, sys; ivm.connect(sys.argv[1])"
    done = subprocess.run([sys.executable, "-c", code, sys.argv[1]], capture_output=True, text=True)
    assert f"process {os.getpid()} has it open" in done.stderr, done.stderr
finally:
    tx.commit()
    assert [len(changes) for changes in (next(taking), next(taking))] == [1, 2]
    db.close()
"""
    done = _run(tmp_path / "shop.ivm", IN_CHILD + after, watched=False)
    assert done.returncode == 0, done.stderr
    with ivm.connect(tmp_path / "shop.ivm", compile="off") as db:
        assert db.view("v").fetchall() == [(4,)]


COPIED = """
import ivm, os, sys, threading
at_work, forked = threading.Event(), threading.Event()

def end(use):
    child = os.fork()
    if child == 0:
        use()
        sys.exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

def work(db):
    def pause(now):
        at_work.set()
        forked.wait()
    with db._core.lock if sys.argv[1] == "commits" else db._core.definitions:
        pause(None)

db = ivm.connect(compile="off")
db.sql("CREATE TABLE t (a BIGINT PRIMARY KEY); SELECT max(a) + 1 FROM t; CREATE MATERIALIZED VIEW v AS SELECT sum(a) AS s FROM t")
subscription = db.subscribe("v")
thread = threading.Thread(target=work, args=(db,))

def goes_on():
    assert db.sql("SELECT max(a) + 1 FROM t").fetchall() == [(None,)]
    db.sql("INSERT INTO t VALUES (1); CREATE TABLE u (a BIGINT)")
    assert db.view("v").fetchall() == [(1,)]
    assert len(subscription.fetch(timeout=None)) == 2

def is_refused():
    for use in (db.tables, db.view, subscription.fetch, lambda: db.sql("SELECT 1"), subscription.close, db.close):
        try:
            use("v") if use == db.view else use()
        except ivm.InterfaceError as error:
            assert "another thread was at work on it when this process was forked" in str(error), error
        else:
            os._exit(7)

end(goes_on)
thread.start()
at_work.wait()
end(is_refused if sys.argv[1] == "commits" else goes_on)
forked.set()
thread.join()
goes_on()
"""


@pytest.mark.parametrize("other", ["commits", "creates"])
def test_a_forked_child_has_a_copy_of_what_is_in_memory(other):
    command = [sys.executable, "-c", COPIED, other]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stderr


def test_a_child_that_lives_on_holds_nothing(tmp_path):
    path = tmp_path / "waits.ivm"
    command = [sys.executable, "-c", BEGIN + IN_CHILD + "os._exit(0)", str(path)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        running.wait()  # the child reads from stdin still
        ivm.connect(path, compile="off").close()
        running.communicate(b"")


def test_closing_while_others_commit_keeps_what_was_acknowledged(tmp_path):
    path, done = tmp_path / "shop.ivm", [0] * 4
    db = ivm.connect(path, compile="off", durability="commit")
    db.sql("CREATE TABLE t (worker BIGINT, n BIGINT, PRIMARY KEY (worker, n))")

    def work(worker):
        with pytest.raises(ivm.InterfaceError, match="is closed"):
            while True:
                db.apply({"t": [{"worker": worker, "n": done[worker]}]})
                done[worker] += 1

    workers = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
    for each in workers:
        each.start()
    while min(done) < 5:
        os.sched_yield()
    db.close()
    db.close()
    for each in workers:
        each.join()
    with ivm.connect(path, compile="off") as db:
        found = dict(db.sql("SELECT worker, count(*) FROM t GROUP BY worker").fetchall())
        assert found == dict(enumerate(done))


def test_a_copy_that_is_under_way_is_whole_before_the_database_is_closed(tmp_path, monkeypatch):
    def begin(storage):
        closing.start()
        closing.join(0.2)
        return pinned(storage)

    monkeypatch.setattr("ivm.durable.journal.pinned", begin)
    db = ivm.connect(tmp_path / "shop.ivm", compile="off")
    closing = threading.Thread(target=db.close)
    db.sql("CREATE TABLE t (a BIGINT PRIMARY KEY); INSERT INTO t VALUES (1)")
    db.backup(tmp_path / "copy.ivm")
    closing.join()
    with ivm.connect(tmp_path / "copy.ivm", read_only=True, compile="off") as copy:
        assert copy.sql("SELECT a FROM t").fetchall() == [(1,)]
