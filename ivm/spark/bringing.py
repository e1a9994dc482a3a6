"""Rows that Spark has become messages to shards: those of DataFrames, and those that tasks read themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
from pyspark.sql import SparkSession

from ivm.spark.pool import INGESTING, Pool
from ivm.spark.worker import FRAMES, Ingest, Message, Scan, framed, versions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROOM = 1 << 18
"""So many bytes a task may give the driver to pass on, which has those of all of them at once; what is more goes by
files."""
MOST_TASKS = 256
"""Of more tasks the messages are shuffled: files of each would be too many, and without files they too much."""


class Functions(NamedTuple):
    """What runs on the workers, by dotted names."""

    task: str
    ingest: str
    rows: str = ""


@dataclass(frozen=True)
class Changes:
    """The rows of a commit by table: DataFrames, which do not pass through the driver, and what the driver holds.

    `messages`: gives what it has for each of so many groups, and what shards have; it is called once. `scans`: for
    rows that tasks read themselves, a table and an argument for each task.
    """

    frames: Mapping[str, DataFrame]
    rows: Mapping[str, pa.Table]
    messages: Callable[[int], Sequence[Message]] = lambda groups: ()
    scans: Sequence[tuple[str, bytes]] = ()

    @property
    def are_here(self) -> bool:
        """Whether there is nothing that Spark has, or tasks are to read."""
        return not (self.frames or self.scans)


class Bringer:
    """Has tasks of a session make messages of rows, in workers of which none holds a shard."""

    def __init__(self, session: SparkSession, functions: Functions) -> None:
        self._session = session
        self._functions = functions
        # As many tasks as there are cores ingest at once.
        self._pool = Pool(INGESTING, tuple(sorted({name.rpartition(".")[0] for name in functions if name})))

    def frames(self, order: bytes, groups: int, changes: Changes, room: int | None = None) -> list[DataFrame]:
        """Frames of the messages that the rows become which Spark has, or tasks read. `room`: see `Ingest`."""
        function = self._functions.ingest
        with self._pool.of(self._session.sparkContext):
            frames = [
                frame.mapInArrow(Ingest(function, order, groups, table, versions(), room), FRAMES)
                for table, frame in changes.frames.items()
            ]
            if changes.scans:
                scans = self._session.createDataFrame(
                    pa.table([*zip(*changes.scans, strict=True)], ["table", "argument"])
                )
                scan = Scan(function, self._functions.rows, order, groups, versions(), room)
                frames.append(scans.mapInArrow(scan, FRAMES))
        return frames

    def messages(self, order: bytes, groups: int, changes: Changes) -> list[Message] | None:
        """The same messages, brought here; None, and nothing has happened, where too many tasks would have some.

        Cost: a job of one stage behind those of the DataFrames; here `ROOM` bytes for each task.
        """
        # Nothing of ours comes first, so that it is our session's query, whosever frames they are.
        whole = self._nothing.union(together(self.frames(order, groups, changes, ROOM)))
        tasks = whole._jdf.queryExecution().toRdd().getNumPartitions()
        if max(tasks, len(changes.scans)) > MOST_TASKS:
            return None
        return [(row.dst, bytes(row.payload)) for row in whole.collect()]

    def of_driver(self, messages: Sequence[Message]) -> DataFrame:
        """Messages that the driver holds, as a frame."""
        return self._session.createDataFrame(pa.Table.from_batches(framed((to, 0, each) for to, each in messages)))

    @cached_property
    def _nothing(self) -> DataFrame:
        """A frame of no messages, which Spark's optimizer leaves out."""
        return self._session.sql("SELECT 0 AS dst, 0 AS level, CAST('' AS BINARY) AS payload WHERE false")


def together(frames: Sequence[DataFrame]) -> DataFrame:
    """Frames, of which there is at least one, as one."""
    return reduce(lambda one, other: one.union(other), frames)
