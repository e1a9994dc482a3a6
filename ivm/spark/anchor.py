"""Where shards are: a cached frame of one row for each shard, which tasks follow.

Spark runs a task where a cached block of its input lies. So a stage that joins its messages to the anchor runs where
the anchor's blocks were first computed, until an executor is lost. A block has the shards of one task.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from pyspark.resource import ResourceProfile, ResourceProfileBuilder, TaskResourceRequests
from pyspark.sql import DataFrame, SparkSession

from ivm.spark.settings import cores, is_one_process


def anchor(session: SparkSession, shards: int, tasks: int, number: int) -> DataFrame:
    """The frame (dst), a row for each shard, in a partition for each task: those with the same remainder.

    `number`: tells the anchors of databases apart. The same arguments give frames that Spark knows for the same, so
    that what one has cached serves all.
    """
    rows = session.range(number, number + shards, numPartitions=1)
    return rows.selectExpr(f"cast(id - {number} as int) as dst").repartitionById(tasks, "dst")


def one_task_an_executor(settings: Mapping[str, str]) -> ResourceProfile | None:
    """What a task must ask for to have an executor for itself; None in one process, where it cannot be asked for.

    Tasks side by side would each take another worker of the pool, and load the shard there.
    """
    if is_one_process(settings):
        return None
    profile: ResourceProfile = ResourceProfileBuilder().require(TaskResourceRequests().cpus(cores(settings) or 1)).build
    return profile


def most_tasks(session: SparkSession, settings: Mapping[str, str]) -> int:
    """How many tasks of shards run side by side: one for each executor, or for each core where all is one process."""
    return session.sparkContext.defaultParallelism if is_one_process(settings) else executors(session)


def executors(session: SparkSession) -> int:
    """How many executors there are now; one if driver and executor are one process."""
    known = session.sparkContext._jsc.sc().statusTracker().getExecutorInfos()
    return max(1, len(known) - 1)  # the driver is among them


def is_balanced(places: Iterable[str], executors: int) -> bool:
    """True if no executor has more shards than it must. `places`: those of all shards, as `worker.place` has them."""
    shards = Counter(place.rpartition("/")[0] for place in places)
    return max(shards.values(), default=0) <= -(-shards.total() // executors)
