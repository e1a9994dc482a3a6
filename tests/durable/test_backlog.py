"""Commits that do not wait for the disk are written by another thread: later, but in their order, and all at the end."""

import errno
import gc
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ivm
from ivm.durable import journal
from ivm.session.database import core_of
from ivm.storage import backlog
from tests.durable.disk import Disk
from tests.durable.opening import begin_file, contents, finish, held_by, opened
from tests.durable.workload import TABLES, VIEWS, steps

STEPS = [*(lambda db, text=text: db.sql(text) for text in (*TABLES, *VIEWS)), *steps(21, 14)]


class Slow(Disk):
    """A disk whose writes wait until they are let in."""

    def __init__(self):
        super().__init__()
        self.open_gate = threading.Event()
        self.open_gate.set()

    def meet(self, what, name="", size=0):
        if what == "write":
            assert self.open_gate.wait(60)
        return super().meet(what, name, size)


def _held():
    """What is there before each step, and at the end."""
    db = opened(Disk())
    held = [contents(db)]
    for step in STEPS:
        step(db)
        held.append(contents(db))
    return held


HELD = _held()


@pytest.mark.parametrize("durability", ["off", "interval"])
def test_after_a_loss_of_power_the_commits_up_to_one_are_there(durability):
    disk, chance, met = Disk(), random.Random(1), set()
    db = opened(disk, durability, interval=0.01)
    for number, step in enumerate(STEPS):
        step(db)
        if number == 12:
            begin_file(db)
    db.close()
    for done in range(0, len(disk.steps) + 1, 3):
        for files in disk.after_loss(done, chance):
            met.add(HELD.index(held_by(files)))
    assert len(met) > 5
    for files in disk.after_loss(len(disk.steps), chance):
        assert held_by(files) == HELD[-1]


@pytest.mark.parametrize("failure", [errno.ENOSPC, errno.EIO, "short"])
def test_after_a_failure_commits_are_refused_and_what_is_missing_is_said(failure):
    for call in range(4, 20, 4):
        disk = Disk()
        db = opened(disk, "off")
        disk.fails[call] = failure
        done, said = 0, ""
        for step in STEPS:
            try:
                step(db)
            except ivm.StorageError as error:
                said = str(error)
                break
            done += 1
        else:
            with pytest.raises(ivm.StorageError, match="could not be written"):
                begin_file(db)
        assert contents(db) == HELD[done]
        with pytest.raises(ivm.StorageError, match="on the disk") as refused:
            db.sql("CREATE TABLE other (a BIGINT)")
        with pytest.raises(ivm.StorageError, match="could not be written"):
            db.close()
        db.close()
        found = held_by(disk.files())
        assert found in HELD[: done + 1]
        assert f"after time {found['time']}," in str(refused.value) or found["time"] == 0
        assert said == "" or "make room" in said


def test_the_first_commit_after_a_write_that_failed_is_refused_and_says_what_is_lost():
    disk = Slow()
    db = opened(disk, "off")
    db.sql("CREATE TABLE t (a BIGINT); INSERT INTO t VALUES (0)")
    finish(db)
    disk.open_gate.clear()
    for number in range(5):
        db.apply({"t": {"a": [number]}})
    disk.fails[disk.calls + 1] = errno.ENOSPC
    disk.open_gate.set()
    with pytest.raises(ivm.StorageError, match=r"The last 5 of the commits .*, all after time 1, are not on the disk"):
        finish(db)
    with pytest.raises(ivm.StorageError, match="The last 5 of the commits"):
        db.apply({"t": {"a": [6]}})
    assert (db.time, db.sql("SELECT count(*) FROM t").fetchall(), held_by(disk.files())["time"]) == (6, [(6,)], 1)


def test_after_a_sync_that_failed_commits_are_refused():
    disk: Any = Disk()
    db = opened(disk, "interval", interval=0.01)
    db.sql("CREATE TABLE t (a BIGINT)")
    begin_file(db)  # so that nothing is left to be synced

    def meet(what, name="", size=0):
        if what == "sync":
            raise OSError(errno.EIO, "made to fail")
        return size

    disk.meet = meet
    with pytest.raises(ivm.StorageError, match="could not be synced: made to fail"):
        for _ in range(500):
            db.apply({"t": {"a": [1]}})
            time.sleep(0.01)
    assert db.sql("SELECT count(*) > 0 FROM t").fetchall() == [(True,)]
    with pytest.raises(ivm.StorageError):
        db.close()


def test_what_else_goes_wrong_with_a_record_is_said_too():
    disk: Any = Disk()
    db = opened(disk, "off")
    db.sql("CREATE TABLE t (a BIGINT)")
    finish(db)

    def meet(what, name="", size=0):
        raise MemoryError

    disk.meet = meet
    db.apply({"t": {"a": [1]}})
    with pytest.raises(ivm.StorageError, match=r"MemoryError.*The last 1 of the commits"):
        begin_file(db)
    del disk.meet
    for work in (lambda: db.apply({"t": {"a": [1]}}), db.close):
        with pytest.raises(ivm.StorageError, match="The last 1 of the commits"):
            work()


@pytest.mark.parametrize(("bound", "most"), [("MOST_LEFT", 4), ("MOST_BYTES", 4 * 100 * journal._ROW_BYTES)])
def test_a_commit_waits_when_too_much_is_left(bound, most, monkeypatch):
    disk, rows = Slow(), {"a": list(range(100))}
    db = opened(disk, "off")
    db.sql("CREATE TABLE t (a BIGINT)")
    db.apply({"t": rows})
    finish(db)
    monkeypatch.setattr(backlog, bound, most)
    disk.open_gate.clear()
    done: list[int] = []
    thread = threading.Thread(target=lambda: done.extend(db.apply({"t": rows}) for _ in range(20)))
    thread.start()
    deadline = time.monotonic() + 60
    while db.time < 6 and time.monotonic() < deadline:
        time.sleep(0.001)
    thread.join(0.05)
    assert thread.is_alive()
    assert db.time == 6
    assert db.sql("SELECT count(*) FROM t").fetchall() == [(600,)]  # readers do not wait
    disk.open_gate.set()
    thread.join()
    finish(db)
    assert held_by(disk.files()) == contents(db)


def test_rows_may_be_written_to_once_they_are_committed():
    disk, numbers, times = Slow(), np.arange(5), np.full(5, 1)
    db = opened(disk, "off")
    db.sql("CREATE TABLE t (a BIGINT, b BIGINT)")
    finish(db)
    disk.open_gate.clear()
    db.apply({"t": {"a": numbers, "b": numbers[::-1], "_time": times}})
    numbers[:] = times[:] = 99
    disk.open_gate.set()
    finish(db)
    assert contents(db)["rows"] == {"t": ["(0, 4)", "(1, 3)", "(2, 2)", "(3, 1)", "(4, 0)"]}
    assert held_by(disk.files()) == contents(db)


@pytest.mark.parametrize("durability", ["off", "interval", "commit"])
def test_threads_commit_together(durability):
    disk = Disk()
    db = opened(disk, durability, interval=0.001)
    db.sql("CREATE TABLE t (a BIGINT PRIMARY KEY, n BIGINT)")

    def work(who):
        for number in range(60):
            db.apply({"t": {"a": [number % 7], "n": [who]}}, mode="upsert")
            if number % 20 == who:
                begin_file(db)

    threads = [threading.Thread(target=work, args=(who,)) for who in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    finish(db)
    assert held_by(disk.files()) == contents(db)
    assert db.time == 120


class Clock:
    """Time that goes on where somebody waits for the next sync, while commits come, or syncs; it ends after some."""

    def __init__(self, commit: Callable[[], None], syncs: int) -> None:
        self.now, self.commit, self.syncs = 0.0, commit, syncs
        self.given: list[float] = []
        self.begun: list[float] = []
        self.lost: list[float] = []

    def wait(self, seconds: float) -> bool:
        for _ in range(4):
            self.commit()
            self.given.append(self.now)
            self.now += seconds / 4
        return len(self.begun) == self.syncs

    def synced(self) -> None:
        self.begun.append(self.now)
        self.now += 0.25
        self.lost += [self.now - moment for moment in self.given]
        self.given.clear()


def _told_of_syncs(disk: Any, tell: Callable[[], None]) -> None:
    did = disk.did

    def told(*step: Any) -> None:
        did(*step)
        if step[0] == "sync":
            tell()

    disk.did = told


def test_no_more_may_be_lost_than_in_an_interval(monkeypatch):
    disk: Any = Disk()
    db = opened(disk, "interval")
    db.sql("CREATE TABLE t (a BIGINT)")
    finish(db)

    def commit() -> None:
        db.apply({"t": {"a": [1]}})
        finish(db)

    clock: Any = Clock(commit, 5)
    _told_of_syncs(disk, clock.synced)
    monkeypatch.setattr(journal, "monotonic", lambda: clock.now)
    kept: Any = core_of(db).engine.journal
    journal._sync_now_and_then(kept._log, 1.0, clock)
    assert clock.begun == [1.0, 2.0, 3.0, 4.0, 5.0], "also where a sync takes its time"
    assert len(clock.lost) == 20
    assert max(clock.lost) <= 1.25


def test_a_thread_of_its_own_syncs():
    disk: Any = Disk()
    db = opened(disk, "interval", 0.01)
    synced = threading.Event()
    _told_of_syncs(disk, synced.set)
    for _ in range(2):
        db.sql("CREATE OR REPLACE TABLE t (a BIGINT)")
        synced.clear()
        db.apply({"t": {"a": [1]}})
        assert synced.wait(60)


def test_what_nobody_closes_is_written_too(tmp_path):
    code = f"""if True:
        import ivm
        db = ivm.connect({str(tmp_path / "shop.ivm")!r}, durability="off", compile="off")
        db.sql("CREATE TABLE t (a BIGINT)")
        for n in range(50):
            db.apply({{"t": {{"a": range(1000)}}}})
    """
    subprocess.run([sys.executable, "-c", code], check=True)
    for _ in range(2):
        db = ivm.connect(tmp_path / "shop.ivm", durability="interval", compile="off")
        count = db.sql("SELECT count(*) FROM t").fetchall()
        db.apply({"t": {"a": [1]}})
        del db
        gc.collect()
    assert count == [(50_001,)]


def test_closing_waits_until_all_is_written():
    disk = Slow()
    db = opened(disk, "off")
    db.sql("CREATE TABLE t (a BIGINT)")
    disk.open_gate.clear()
    threading.Timer(0.05, disk.open_gate.set).start()
    db.apply({"t": {"a": [1]}})
    db.close()
    assert held_by(disk.files())["rows"] == {"t": ["(1,)"]}
