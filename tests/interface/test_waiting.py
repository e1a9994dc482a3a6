"""Waiting for changes: with a time limit, in a thread, in an event loop; nothing that waits keeps anybody."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import ivm
from ivm.subscriptions.waiting import waking

LONG = 30
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def db() -> ivm.Database:
    db = ivm.connect(compile="off")
    db.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, x INTEGER); CREATE MATERIALIZED VIEW v AS SELECT id FROM t")
    return db


def later(db: ivm.Database, *ids: int, close: ivm.Subscription | None = None) -> threading.Thread:
    """Commits of another thread, and then it closes."""

    def work() -> None:
        for id_ in ids:
            time.sleep(0.05)
            db.apply({"t": [{"id": id_, "x": 1}]})
        if close is not None:
            time.sleep(0.05)
            close.close()

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_fetch_waits_for_as_long_as_it_is_told(db: ivm.Database) -> None:
    changes = db.subscribe("v")
    assert changes.fetch().num_rows == 0
    began = time.monotonic()
    assert changes.fetch(timeout=0.05).num_rows == 0
    assert time.monotonic() - began >= 0.05
    thread = later(db, 1)
    assert changes.fetch(timeout=LONG)["id"].to_pylist() == [1]
    thread.join()
    thread = later(db, 2)
    assert changes.fetch(timeout=None)["id"].to_pylist() == [2]
    thread.join()
    thread = later(db, close=changes)
    assert changes.fetch(timeout=None).num_rows == 0
    assert changes.fetch(timeout=LONG).num_rows == 0
    thread.join()


def test_async_for_gives_what_commits_bring(db: ivm.Database) -> None:
    async def read() -> list[list[int]]:
        with db.subscribe("v", snapshot=True) as changes:
            thread = later(db, 2, 3, close=changes)
            found = [table["id"].to_pylist() async for table in changes]
            thread.join()
            return found

    db.sql("INSERT INTO t VALUES (1, 1)")
    assert asyncio.run(read()) == [[1], [2], [3]]


def test_it_awaits_without_work_and_lets_others_run(db: ivm.Database) -> None:
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0.001)

    async def read() -> float:
        changes = db.subscribe("v")
        other = asyncio.create_task(others())
        thread = later(db, *range(4), close=changes)
        began = time.process_time()
        async for _ in changes:
            pass
        other.cancel()
        thread.join()
        return time.process_time() - began

    asyncio.run(read())
    assert turns > 20


def test_a_cancelled_reader_has_taken_nothing_and_leaves_nothing(db: ivm.Database) -> None:
    async def read() -> list[int]:
        changes = db.subscribe("v")

        async def first() -> list[int]:
            async for table in changes:
                return list(table["id"].to_pylist())
            return []

        for _ in range(3):
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(first(), 0.01)
            assert not changes._wakes
        waiting = asyncio.create_task(first())
        await asyncio.sleep(0.01)
        db.apply({"t": [{"id": 7, "x": 1}]})
        waiting.cancel()  # it has been woken, and has not run yet
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert not changes._wakes
        return await asyncio.wait_for(first(), LONG)

    assert asyncio.run(read()) == [7]


def test_each_table_goes_to_one_of_several_readers_in_any_loop(db: ivm.Database) -> None:
    changes = db.subscribe("v")
    found: list[int] = []

    async def read() -> None:
        async for table in changes:
            found.extend(table["id"].to_pylist())

    async def both() -> None:
        await asyncio.gather(read(), read())

    def block() -> None:
        for table in changes:
            found.extend(table["id"].to_pylist())

    threads = [threading.Thread(target=lambda: asyncio.run(both())) for _ in range(2)]
    threads.append(threading.Thread(target=block))
    for thread in threads:
        thread.start()
    for id_ in range(50):
        db.apply({"t": [{"id": id_, "x": 1}]})
    changes.close()
    for thread in threads:
        thread.join(LONG)
    assert sorted(found) == list(range(50))


def test_a_loop_that_is_gone_is_no_matter(db: ivm.Database) -> None:
    async def left_behind() -> Callable[[], None]:
        return waking()[1]

    changes = db.subscribe("v")
    changes._wakes.add(asyncio.run(left_behind()))
    db.apply({"t": [{"id": 1, "x": 1}]})
    assert changes.fetch()["id"].to_pylist() == [1]


def test_closing_the_database_ends_it(db: ivm.Database) -> None:
    async def read() -> int:
        return len([table async for table in changes])

    changes = db.subscribe("v")
    timer = threading.Timer(0.05, db.close)
    timer.start()
    assert asyncio.run(asyncio.wait_for(read(), LONG)) == 0
    timer.join()


PROGRAM = """
import asyncio, sys, threading, ivm

def say(word):
    sys.stdout.write(word + "\\n")

db = ivm.connect(compile="off")
db.sql("CREATE TABLE t (x INTEGER); CREATE MATERIALIZED VIEW v AS SELECT x FROM t")
subscriptions = [db.subscribe("v") for _ in range(4)]
ready = threading.Barrier(5)

def iterate():
    for table in subscriptions[0]:
        ready.wait()
    say("iterated")

def fetch():
    subscriptions[1].fetch(timeout=None)
    ready.wait()
    subscriptions[1].fetch(timeout=None)
    say("fetched")

def await_in_a_thread():
    async def read():
        async for table in subscriptions[2]:
            ready.wait()
    asyncio.run(read())
    say("awaited")

def begin_late():
    ready.wait()
    threading.main_thread().join()
    for table in subscriptions[3]:
        pass
    for table in subscriptions[3]:
        pass
    say("late")

for work in (iterate, fetch, await_in_a_thread, begin_late):
    threading.Thread(target=work).start()
db.sql("INSERT INTO t VALUES (1)")
ready.wait()
say("done")
"""


def test_who_waits_does_not_keep_the_program_from_ending() -> None:
    run = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == ["awaited", "done", "fetched", "iterated", "late"]
    assert done.stderr == ""
