"""Commits on two executors: right answers, from where shards stay."""

from __future__ import annotations

import json
import os
import signal
import threading
import time

import pyarrow as pa
import pytest

from ivm.catalog.errors import ClusterError, InterfaceError
from ivm.spark import direct, transport, worker
from ivm.spark.bringing import Changes
from ivm.spark.failure import as_one_error
from ivm.spark.transport import SparkTransport
from tests.transport import toy
from tests.transport.sessions import FUNCTIONS, Numbers

ROWS = {key: key + 1 for key in range(50)}
SCHEMA = "shard bigint, key bigint, n bigint"


@pytest.fixture(scope="module")
def numbers(spark, tmp_path_factory):
    """One database for most tests: what one leaves, the next goes on with."""
    found = Numbers(spark, tmp_path_factory.mktemp("numbers"))
    yield found
    found.transport.close()


@pytest.mark.parametrize("frame", [False, True])
def test_every_level_gets_what_the_one_before_sent(numbers, frame):
    for _ in range(2):
        numbers.commit(ROWS, 3, frame=frame)
        numbers.check()


@pytest.mark.parametrize("levels", [1, 5])
def test_as_many_levels_as_are_asked_for(numbers, spark, tmp_path, levels):
    status = numbers.transport.run(toy.order(tmp_path, 1, 2, levels), levels, Changes({"t": numbers.frame({4: 2})}, {}))
    assert [(each.group, each.level) for each in status] == [(s, n + 1) for s in range(2) for n in range(levels)]
    assert toy.numbers(tmp_path, 1, (4 + levels - 1) % 2, levels) == {4 + levels - 1: 2}


def test_shards_stay_where_they_are(numbers):
    before = numbers.transport.places
    assert len(set(before.values())) == 2
    numbers.commit({1: 1})
    for status in numbers.commit(ROWS, frame=True):
        assert not status["loaded"]
        assert before[status["group"]].endswith(f"/{status['executor']}/{status['pid']}")
    assert numbers.transport.places == before


def test_a_worker_killed_between_commits_has_a_successor_that_loads(numbers):
    os.kill(int(numbers.transport.places[1].rpartition("/")[2]), signal.SIGKILL)
    numbers.until_reached(False)
    assert {shard for status in numbers.commit(ROWS) for shard in status["loaded"]} == {1}
    numbers.until_reached()
    assert not any(status["loaded"] for status in numbers.commit(ROWS))
    numbers.check()


def test_what_the_driver_has_for_a_shard_reaches_it(numbers):
    messages = [(1, b'{"1": 7}'), (1, b'{"3": 1}')]
    numbers.transport.run(numbers.order(3), 3, Changes({}, {}, lambda groups: messages))
    numbers.version += 1
    numbers.expected.update({1: 7, 3: 1})
    numbers.check()


def test_rows_of_frames_and_of_the_driver_come_together(numbers):
    table = pa.table({"key": pa.array([5, 5, 8]), "n": pa.array([1, 1, 10])})
    changes = Changes({"a": numbers.frame({5: 100}), "b": numbers.frame({8: 1, 9: 1})}, {"c": table})
    numbers.transport.run(numbers.order(3), 3, changes)
    numbers.version += 1
    numbers.expected.update({5: 102, 8: 11, 9: 1})
    numbers.check()


def test_many_messages_of_the_driver_are_shuffled(numbers, monkeypatch):
    monkeypatch.setattr(transport, "MOST_GIVEN", 10)
    numbers.commit(ROWS)
    numbers.check()


def test_a_commit_without_changes(numbers):
    numbers.commit({})
    numbers.commit({}, frame=True)
    numbers.check()


def test_a_commit_of_frames_is_one_job_and_of_what_the_driver_has_none(numbers, spark):
    def jobs() -> set[int]:
        return set(spark.sparkContext.statusTracker().getJobIdsForGroup(None))

    numbers.until_reached()
    before = jobs()
    numbers.commit(ROWS)
    assert jobs() == before
    frame = numbers.frame(ROWS)
    before = jobs()
    numbers.transport.run(numbers.order(3), 3, Changes({"t": frame}, {}))
    assert len(jobs() - before) == 1
    numbers.version += 1
    numbers.expected.update(ROWS)


def test_what_the_driver_commits_and_asks_waits_for_no_other_job(numbers, spark, tmp_path):
    def hold(part: int) -> None:
        (tmp_path / f"begun {part}").touch()
        until = time.monotonic() + 60
        while not (tmp_path / "over").exists() and time.monotonic() < until:
            time.sleep(0.05)

    numbers.until_reached()
    job = threading.Thread(target=lambda: spark.sparkContext.parallelize(range(6), 6).foreach(hold))
    job.start()
    until = time.monotonic() + 60
    while len(list(tmp_path.glob("begun *"))) < 2:  # all cores are taken, and tasks wait for them
        assert time.monotonic() < until
        time.sleep(0.05)
    numbers.commit(ROWS)
    argument = json.dumps({"root": str(numbers.root), "version": numbers.version}).encode()
    found = numbers.transport.answers("tests.transport.toy.rows", argument, SCHEMA)
    assert len(list(tmp_path.glob("begun *"))) == 2
    (tmp_path / "over").touch()
    job.join()
    assert sum(each.num_rows for each in found) == len(numbers.expected)
    numbers.check()


def test_what_shards_have_is_a_frame_of_the_user_s_session(numbers, spark):
    argument = json.dumps({"root": str(numbers.root), "version": numbers.version}).encode()
    found = numbers.transport.read("tests.transport.toy.rows", argument, SCHEMA)
    assert found.sparkSession is spark
    assert {row.key: row.n for row in found.collect()} == numbers.expected
    assert found.where("shard = 1").count() == 25
    assert found.toArrow().num_rows == 50


def test_an_error_that_stays_is_one_error_without_java(numbers):
    with pytest.raises(ClusterError) as caught:
        numbers.commit(ROWS, error="the disk of shard 1 is full\nand so is the other")
    assert str(caught.value) == (
        "cannot run a commit on the cluster: ValueError: the disk of shard 1 is full\nand so is the other"
    )
    numbers.commit(ROWS)
    numbers.check()


def test_a_function_that_is_not_there_is_named(numbers):
    for name, says in [("tests.transport.nowhere.rows", "No module named 'tests.transport.nowhere' on a worker"),
                       ("tests.transport.toy.columns", "has no attribute 'columns'")]:  # fmt: skip
        frame = numbers.transport.read(name, b"", SCHEMA)
        with pytest.raises(ClusterError, match=says):
            as_one_error("cannot read")(frame.collect)()


def test_workers_of_another_version_are_refused(spark, monkeypatch):
    ours = worker.versions()
    monkeypatch.setattr(transport, "versions", lambda: worker.Versions("99.1", ours.python))
    with pytest.raises(ClusterError, match=rf"has ivm {ours.ivm} on Python 3\.\d+, the driver ivm 99\.1 .* install"):
        SparkTransport(spark, 2, FUNCTIONS)


def test_more_shards_than_executors_share_them_evenly_a_task_each(spark, root, monkeypatch):
    monkeypatch.setattr(direct, "keepers_of", lambda settings: None)  # so that levels are stages
    numbers, tracker = Numbers(spark, root, shards=5), spark.sparkContext.statusTracker()
    for _ in range(2):
        numbers.commit(ROWS, frame=True)
    numbers.check()
    executors = [place.rpartition("/")[0] for place in numbers.transport.places.values()]
    assert sorted(executors.count(each) for each in set(executors)) == [2, 3]
    assert len(set(numbers.transport.places.values())) == 2
    stages = [tracker.getStageInfo(each) for each in tracker.getJobInfo(max(tracker.getJobIdsForGroup(None))).stageIds]
    assert sorted(each.numTasks for each in stages)[-3:] == [2, 2, 2]
    for count in (3, 1):  # executors that come, and go
        monkeypatch.setattr(transport, "most_tasks", lambda *given, count=count: count)
        numbers.transport._rest()
        assert numbers.transport.tasks == count
        for frame in (False, True):
            numbers.commit(ROWS, frame=frame)
            numbers.check()
    numbers.transport.close()


def test_it_beats_while_nothing_is_done_and_not_after(spark, root, monkeypatch):
    def jobs() -> int:
        return len(spark.sparkContext.statusTracker().getJobIdsForGroup(None))

    monkeypatch.setattr(direct, "keepers_of", lambda settings: None)
    numbers = Numbers(spark, root, heartbeat=0.05)
    before, until = jobs(), time.monotonic() + 60
    while jobs() == before and time.monotonic() < until:
        time.sleep(0.05)
    assert jobs() > before
    numbers.transport.close()
    numbers.transport.close()
    before = jobs()
    time.sleep(0.5)
    assert jobs() == before
    with pytest.raises(InterfaceError, match="closed"):
        numbers.commit(ROWS)
