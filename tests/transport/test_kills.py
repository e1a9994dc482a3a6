"""Workers and executors are killed by their ids, in and between commits: the answers are right, nothing is loaded twice."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.transport.sessions import Numbers

pytestmark = pytest.mark.slow
ROWS = dict.fromkeys(range(20), 1)


@pytest.fixture(params=[2, 5])
def numbers(request, spark, root):
    found = Numbers(spark, root, request.param)
    found.commit(ROWS)
    yield found
    found.transport.close()


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def worker(numbers: Numbers, shard: int) -> int:
    return int(numbers.transport.places[shard].split("/")[2])


def executor(numbers: Numbers, shard: int) -> int:
    return executor_of(numbers.transport.places[shard])


def executor_of(place: str) -> int:
    """The JVM: what started the process that forked the worker."""
    daemon = place.split("/")[1]
    status = Path(f"/proc/{daemon}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("PPid:"))


def commit_while(numbers: Numbers, pid: int, after: float, frame: bool = True) -> list[dict[str, Any]]:
    """A commit of whose second level each task sleeps, and the death of a process meanwhile."""
    timer = threading.Timer(after, kill, [pid])
    timer.start()
    try:
        return numbers.commit(ROWS, frame=frame, sleep=3)
    finally:
        timer.join()


def check_two_more(numbers: Numbers) -> None:
    numbers.check()
    numbers.commit(ROWS)
    numbers.check()
    assert not any(status["loaded"] for status in numbers.commit(ROWS))
    numbers.check()


def test_a_worker_killed_in_a_commit(numbers):
    began = time.monotonic()
    found = commit_while(numbers, worker(numbers, 0), 2)
    print(f"a worker in a commit: {time.monotonic() - began:.1f} s")
    assert 0 in {shard for status in found for shard in status["loaded"]}
    check_two_more(numbers)


def test_a_worker_killed_in_a_commit_of_what_the_driver_has(numbers):
    numbers.until_reached()
    found = commit_while(numbers, worker(numbers, 0), 1, frame=False)
    assert 0 in {shard for status in found for shard in status["loaded"]}
    check_two_more(numbers)


@pytest.mark.parametrize("frame", [False, True])
def test_an_executor_killed_in_a_commit(numbers, frame):
    began = time.monotonic()
    commit_while(numbers, executor(numbers, 1), 2, frame)
    print(f"an executor in a commit: {time.monotonic() - began:.1f} s")
    numbers.check()
    _until_balanced(numbers)
    check_two_more(numbers)


def test_an_executor_killed_between_commits(numbers):
    numbers.until_reached()
    kill(executor(numbers, 0))
    numbers.until_reached(False)  # its process of shards ends a moment later, and may do a commit until then
    began = time.monotonic()
    numbers.commit(ROWS)
    print(f"an executor between commits: {time.monotonic() - began:.1f} s")
    numbers.check()
    _until_balanced(numbers)
    check_two_more(numbers)


def _until_balanced(numbers: Numbers) -> None:
    """Commits until the executor that is lost has a successor, and each has a shard again."""
    until = time.monotonic() + 90
    while len({place.rpartition("/")[0] for place in numbers.transport.places.values()}) < 2:
        assert time.monotonic() < until, numbers.transport.places
        numbers.commit(ROWS)
        numbers.check()
        time.sleep(1)


@pytest.mark.parametrize("numbers", [2], indirect=True)
def test_the_heartbeat_keeps_workers_that_have_nothing_to_do(numbers):
    numbers.commit(ROWS)
    time.sleep(100)
    assert not any(status["loaded"] for status in numbers.commit(ROWS))
