"""Rows that Spark has become messages by one job, and levels go on without: from the same messages, whatever fails."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import ivm
from ivm.cluster.files.files import Files
from ivm.cluster.files.folders import folder_of
from ivm.cluster.files.logs import in_full
from ivm.cluster.protocol.terms import Order
from ivm.cluster.protocol.wire import EXCHANGE
from ivm.session.database import core_of
from ivm.spark import bringing, direct, tasks
from ivm.spark.bringing import Bringer, Changes
from ivm.spark.keepers import Unreached
from tests.transport import toy
from tests.transport.sessions import Numbers

ROWS = {key: key + 1 for key in range(50)}
LEVELS = 4


@pytest.fixture(scope="module")
def numbers(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Numbers]:
    found = Numbers(spark, tmp_path_factory.mktemp("numbers"))
    yield found
    found.transport.close()


def stages_of(spark: SparkSession) -> int:
    """How many stages the last job has had."""
    tracker = spark.sparkContext.statusTracker()
    job = tracker.getJobInfo(max(tracker.getJobIdsForGroup(None)))
    assert job is not None
    return len(job.stageIds)


def test_levels_behind_the_rows_of_a_frame_take_no_stage(numbers, spark):
    numbers.until_reached()
    numbers.commit(ROWS, LEVELS, frame=True)
    assert stages_of(spark) == 2, "that of the frame's own shuffle, and the one behind it"
    numbers.check()


def test_of_many_tasks_messages_are_shuffled(numbers, spark, monkeypatch):
    monkeypatch.setattr(bringing, "MOST_TASKS", 1)
    numbers.until_reached()
    numbers.commit(ROWS, LEVELS, frame=True)
    assert stages_of(spark) > LEVELS
    numbers.check()


def test_a_job_goes_on_from_what_keepers_were_told(numbers, spark, monkeypatch):
    told, messages, run = list[list[tuple[int, bytes]]](), Bringer.messages, direct.run

    def brought(*given):
        found = messages(*given)
        assert found is not None
        told.append(found)
        return found

    def lost(*given):
        run(*given)
        raise Unreached("the last keeper has not answered")

    monkeypatch.setattr(Bringer, "messages", brought)
    monkeypatch.setattr(direct, "run", lost)
    numbers.until_reached()
    changing = numbers.frame(ROWS).selectExpr("key", "CAST(rand() * 1e9 AS BIGINT) AS n")
    numbers.transport.run(numbers.order(LEVELS), LEVELS, Changes({"t": changing}, {}))
    numbers.version += 1
    came: Counter[int] = Counter()
    for _, payload in told[0]:
        came.update({int(key): n for key, n in json.loads(payload).items()})
    numbers.expected.update(came)
    numbers.check()
    assert set(came) == set(ROWS)
    assert len(told) == 1
    assert [toy.numbers(numbers.root, numbers.version, shard, 1)[shard] for shard in range(2)] == [
        numbers.expected[shard] for shard in range(2)
    ]


@pytest.mark.parametrize("room", [None, 100_000, 0])
def test_a_task_gives_the_driver_so_many_bytes(tmp_path, room):
    with ivm.connect() as db:
        db.sql("CREATE TABLE t (k BIGINT PRIMARY KEY, s VARCHAR)")
        table = core_of(db).catalog.table("t")
    order = tasks.order_text(Order(1, "a", "", b"", 1, 4), tasks.Root(str(tmp_path), "", 0, "c"), {"t": table}, "diff")
    count = 300_000  # 16 MiB of rows are spread at once
    keys = pa.array(range(count), pa.int64())
    rows = pa.table(
        {"k": keys, "s": pa.array(["a text of some sixty bytes, of which there are rather many more"] * count)}
    )
    messages = list(tasks.ingest(order, 4, "t", iter(rows.slice(0, count - 1).to_batches(1000)), room))
    here = sum(len(payload) for _, payload in messages)
    assert here < 100_000 + 200 * len(messages)
    found = in_full(Files(folder_of(str(tmp_path))), [payload for _, payload in messages])
    assert sum(each.rows.num_rows for several in EXCHANGE.inputs(found).values() for each in several) == count - 1
    few = list(tasks.ingest(order, 4, "t", iter(rows.slice(0, 100).to_batches()), room))
    assert (sum(len(payload) for _, payload in few) > 6000) == (room != 0)
