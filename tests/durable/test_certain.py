"""Nobody learns of what a loss of power could still take, by whatever he asks, where commits wait for the disk."""

import threading
from contextlib import contextmanager

import pyarrow as pa
import pytest

import ivm
from ivm.session.database import core_of
from tests.durable.disk import Disk, DiskFile
from tests.durable.opening import opened


def _raised(ask):
    try:
        return ask()
    except ivm.Error as error:
        return type(error).__name__


READS = {
    "view": lambda db, sub: db.view("v").fetchall(),
    "some rows": lambda db, sub: db.view("v").fetchmany(3),
    "length": lambda db, sub: len(db.view("v")),
    "past": lambda db, sub: _raised(lambda: db.view("v").fetchall(as_of=1)),
    "future": lambda db, sub: _raised(lambda: db.view("v").fetchall(as_of=9)),
    "between": lambda db, sub: db.view("v").changes(1).num_rows,
    "select": lambda db, sub: db.sql("SELECT n FROM v").fetchall(),
    "duckdb": lambda db, sub: db.sql("SELECT count(*) + 0 AS n FROM t").fetchall(),
    "cursor": lambda db, sub: db.execute("SELECT a FROM t").fetchall(),
    "commits": lambda db, sub: db.sql("SELECT max(time) FROM ivm_commits").fetchall(),
    "views": lambda db, sub: db.sql("SELECT rows FROM ivm_views").fetchall(),
    "explain": lambda db, sub: len(db.explain("SELECT * FROM t")),
    "verify": lambda db, sub: len(db.verify()),
    "changes": lambda db, sub: sub.fetch(timeout=None).column("n").to_pylist()[-1:],
    "snapshot": lambda db, sub: db.subscribe("v", snapshot=True).fetch().column("n").to_pylist(),
    "iteration": lambda db, sub: next(iter(db.subscribe("v", snapshot=True))).num_rows,
    "time": lambda db, sub: db.time,
    "batches": lambda db, sub: db.batches(),
    "tables": lambda db, sub: db.tables()[0].rows,
    "infos of views": lambda db, sub: db.views()[0].rows,
    "shown": lambda db, sub: repr(db),
    "the same batch": lambda db, sub: db.apply({"t": [{"a": 9}]}, batch=("source", 1)),
    "a batch before": lambda db, sub: db.apply({"t": [{"a": 9}]}, batch=("source", 0)),
    "a sink": lambda db, sub: db.sink("t", source="source")(pa.table({"a": [9]}), 1) or 1,
    "the same row": lambda db, sub: _raised(lambda: db.apply({"t": [{"a": 1}]})),
    "the same row in SQL": lambda db, sub: _raised(lambda: db.sql("INSERT INTO t VALUES (1)")),
    "a time that is over": lambda db, sub: _raised(lambda: db.apply({"t": [{"a": 7, "_time": 2}]})),
}


@contextmanager
def _slow(db, work):
    """Within it what `work` does is in the log and not synced yet."""
    begun, go_on = threading.Event(), threading.Event()
    plain = DiskFile.sync

    def sync(self):
        begun.set()
        assert go_on.wait(60)
        plain(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DiskFile, "sync", sync)
        worker = threading.Thread(target=work)
        worker.start()
        try:
            assert begun.wait(60)
            yield
        finally:
            go_on.set()
            worker.join(60)


@pytest.fixture
def db():
    db = opened(Disk(), history=9)
    db.sql("CREATE TABLE t (a BIGINT PRIMARY KEY); CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t")
    db.sql("INSERT INTO t VALUES (5)")
    return db


def test_whoever_asks_waits_for_the_sync_of_what_he_is_told(db):
    subscription, seen, threads = db.subscribe("v"), {}, []

    def ask(name):
        seen[name] = READS[name](db, subscription)

    with _slow(db, lambda: db.apply({"t": [{"a": 1}]}, batch=("source", 1))):
        for name in READS:
            threads.append(threading.Thread(target=ask, args=(name,)))
            threads[-1].start()
        for thread in threads:
            thread.join(0.05)
        assert not seen
    for thread in threads:
        thread.join(60)
    assert seen.keys() == READS.keys()
    told = {"time": 2, "batches": {"source": 1}, "tables": 2, "view": [(2,)], "changes": [2], "the same batch": 2}
    assert {name: seen[name] for name in told} == told


def test_where_commits_do_not_wait_nobody_does():
    db = opened(Disk(), "off")
    db.sql("CREATE TABLE t (a BIGINT PRIMARY KEY); CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t")
    subscription = db.subscribe("v")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DiskFile, "sync", None)
        db.apply({"t": [{"a": 1}]}, batch=("source", 1))
        for read in READS.values():
            read(db, subscription)


def test_a_subscription_that_ends_for_a_view_that_is_dropped_waits_too(db):
    subscription, ended = db.subscribe("v"), threading.Event()

    def read():
        with pytest.raises(ivm.ViewDroppedError):
            list(subscription)
        ended.set()

    reader = threading.Thread(target=read)
    reader.start()
    with _slow(db, lambda: db.sql("DROP VIEW v")):
        assert not ended.wait(0.1)
        assert core_of(db).catalog.find("v") is not None, "nobody sees either that it is gone"
    assert ended.wait(60)
    reader.join(60)


def test_after_a_crash_what_was_written_and_not_synced_is_synced_before_somebody_sees_it():
    disk = Disk()
    db = opened(disk)
    db.sql("CREATE TABLE t (a BIGINT PRIMARY KEY)")
    steps = len(disk.steps)
    db.sql("INSERT INTO t VALUES (1)")
    synced = [step for step in disk.steps[steps:] if step[0] == "sync"]
    assert len(synced) == 1
    again = Disk(disk.files())
    assert opened(again).time == 1
    assert [step[0] for step in again.steps][:1] == ["sync"]
