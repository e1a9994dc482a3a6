"""Where shards are: a cached frame of one row for each shard, which tasks follow.

Spark runs a task where a cached block of its input lies. So a stage that joins its messages to the anchor runs where
the anchor's blocks were first computed, until an executor is lost. A block has the shards of one task.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from pyspark.resource import ResourceProfile, ResourceProfileBuilder, TaskResourceRequests
from pyspark.sql import DataFrame, SparkSession

from ivm.spark.settings import cores, is_kept, is_one_process


def anchor(session: SparkSession, shards: int, tasks: int, number: int) -> DataFrame:
    """The frame (dst), a row for each shard, in a partition for each task: those with the same remainder.

    `number`: tells the anchors of databases apart. The same arguments give frames that Spark knows for the same, so
    that what one has cached serves all.
    """
    rows = session.range(number, number + shards, numPartitions=1)
    return rows.selectExpr(f"cast(id - {number} as int) as dst").repartitionById(tasks, "dst")


def profile_of(settings: Mapping[str, str]) -> ResourceProfile | None:
    """What a task of shards asks for; None for what any task does.

    One core, however many others take, where all tasks run in one process of the executor (`settings.is_kept`). Else
    all cores, since tasks side by side would each take another worker of the pool, and load the shard there; only
    where driver and executor are one process that cannot be asked for.
    """
    wanted = 1 if is_kept(settings) else cores(settings) or 1
    if is_one_process(settings) or (is_kept(settings) and int(settings.get("spark.task.cpus", 1)) == 1):
        return None
    profile: ResourceProfile = ResourceProfileBuilder().require(TaskResourceRequests().cpus(wanted)).build
    return profile


def most_tasks(session: SparkSession, settings: Mapping[str, str]) -> int:
    """How many tasks of shards run side by side: one for each process that may hold some."""
    if is_one_process(settings) and not is_kept(settings):
        return session.sparkContext.defaultParallelism
    return executors(session)


def executors(session: SparkSession) -> int:
    """How many executors there are now; one if driver and executor are one process."""
    known = session.sparkContext._jsc.sc().statusTracker().getExecutorInfos()
    return max(1, len(known) - 1)  # the driver is among them


def is_balanced(places: Iterable[str], executors: int) -> bool:
    """True if no executor has more shards than it must. `places`: those of all shards, as `worker.place` has them."""
    shards = Counter(place.rpartition("/")[0] for place in places)
    return max(shards.values(), default=0) <= -(-shards.total() // executors)
