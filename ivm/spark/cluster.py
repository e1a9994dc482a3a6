"""Carries orders of a driver to shards on a Spark cluster, and brings their answers back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ivm.catalog.schema import Field, Table
from ivm.cluster.driver.driver import Driver
from ivm.cluster.driver.filler import Pace
from ivm.cluster.driver.transport import Given
from ivm.cluster.files.chains import folder_in
from ivm.cluster.files.files import Files
from ivm.cluster.files.folders import folder_of
from ivm.cluster.files.logs import by_file
from ivm.cluster.files.versions import Version
from ivm.cluster.protocol.questions import Question
from ivm.cluster.protocol.selection import Selection
from ivm.cluster.protocol.terms import Message, Order, Status, Unlike
from ivm.cluster.protocol.wire import messages_of, said_of
from ivm.cluster.queries.file_parts import FileParts
from ivm.spark import tasks
from ivm.spark.bringing import Changes, Functions
from ivm.spark.frames import frame_type, sent_as
from ivm.spark.meeting import SAID, meet
from ivm.spark.parquet import argument_of
from ivm.spark.scans import parts, rows_as
from ivm.spark.transport import SparkTransport
from ivm.spark.worker import FRAMES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TASKS = "ivm.spark.tasks"
FUNCTIONS = Functions(f"{_TASKS}.task", f"{_TASKS}.ingest", f"{_TASKS}.rows_of_files")
_SAID = ("shard", "payload")
_HAD = ("dst", "payload")
_ANSWER = "shard int, payload binary"


_Brings = Callable[[Order, int, tasks.Root], Sequence[Message]]
"""What shards have, as messages of an order to so many groups, those that are large in files of a root."""


@dataclass(frozen=True)
class _Had:
    """Rows that other shards have."""

    brings: _Brings


class OnSpark:
    """See `ivm.cluster.driver.transport.Transport`: a job for each order, and for each question.

    `declared`: the table of a name, for rows that come as DataFrames.
    """

    pace, is_remote = Pace(1 << 22, 1 << 20, 500), True

    def __init__(self, spark: SparkTransport, root: tasks.Root) -> None:
        self.shards = spark.shards
        self.declared: Mapping[str, Table] = {}
        self._spark = spark
        self._root = root
        self._files = Files(folder_of(root.address, root.under))

    def meet(self) -> None:
        """See that driver and workers have the same folder, and may write there; raises as `ivm.spark.meeting.meet`."""
        meet(self._files, lambda name: self._spark.read(f"{_TASKS}.met", tasks.met_text(self._root, name), SAID))

    @property
    def places(self) -> Mapping[int, str]:
        """Where each shard was in the last job."""
        return self._spark.places

    @property
    def readers(self) -> int:
        """How many tasks read rows at once."""
        return self._spark.session.sparkContext.defaultParallelism

    def run(self, order: Order, given: Given, frames: Mapping[str, Any], mode: str) -> Sequence[Status]:
        """See `Transport.run`; frames are DataFrames, what shards have, selections, or queries over files in parts.
        Unlike for such a query whose files are not read alike everywhere.
        """
        had: list[_Brings] = [each.brings for each in frames.values() if isinstance(each, _Had)]
        had += [partial(self._selected, each) for each in frames.values() if isinstance(each, Selection)]
        files = {name: each for name, each in frames.items() if isinstance(each, FileParts)}
        rows = {name: each for name, each in frames.items() if not isinstance(each, _Had | FileParts | Selection)}
        text = tasks.order_text(order, self._root, {name: self.declared[name] for name in (*rows, *files)}, mode)
        said = said_of(given)

        def messages(groups: int) -> Sequence[Message]:
            own = by_file(self._files, messages_of(said, order.shards, groups), order.version, 1)
            return [*own, *(message for brings in had for message in brings(order, groups, self._root))]

        read = {name: found for name, each in rows.items() if (found := _scans(name, each)) is not None}
        left = {name: each for name, each in rows.items() if name not in read}
        scans = [each for several in read.values() for each in several]
        scans += [(name, argument) for name, each in files.items() for argument in each.arguments]
        statuses = self._run(text, order, Changes(left, {}, messages, scans))
        unlike = [
            each.failure for each in statuses if each.failure is not None and each.failure.kind == Unlike.__name__
        ]
        if unlike and files:
            raise Unlike(unlike[0].message)
        if unlike:
            # No shard has begun. Spark reads more kinds of files.
            statuses = self._run(text, order, Changes(rows, {}, messages))
        return statuses

    def _run(self, text: bytes, order: Order, changes: Changes) -> Sequence[Status]:
        said = self._spark.run(text, order.levels, changes)
        return [tasks.status_of(each.status) for each in said if each.level == order.levels]

    def anew(self, shards: int, time: int, name: str) -> OnSpark:
        """See `Transport.anew`. Cost: some seconds, in which workers start."""
        return OnSpark(self._spark.anew(shards), self._root._replace(under=folder_in(name)))

    def rows(self, version: Version, tables: Sequence[str], part: int = 0, of: int = 1) -> Mapping[str, Any]:
        """See `Transport.rows`: what is large goes from worker to worker, by files."""
        return {name: _Had(partial(self._moved, version, name, (part, of))) for name in tables}

    def _moved(
        self, version: Version, table: str, part: tuple[int, int], order: Order, groups: int, root: tasks.Root
    ) -> Sequence[Message]:  # fmt: skip
        """What shards have of a part of a table, as messages to those of an order, whose files are in a root."""
        text = tasks.rows_text(self._root, self.shards, version, table, part, tasks.Target(root, order, groups))
        return self._had(f"{_TASKS}.moved_rows", text)

    def _selected(self, selection: Selection, order: Order, groups: int, root: tasks.Root) -> Sequence[Message]:
        """What shards have of a selection, as messages to each other."""
        version = Version(order.version - 1, order.published)
        text = tasks.selection_text(self._root, self.shards, version, selection, tasks.Target(root, order, groups))
        return self._had(f"{_TASKS}.selected_rows", text)

    def _had(self, function: str, text: bytes) -> list[Message]:
        """The messages that shards make of what they have. Cost: here `ROOM` bytes for each of them."""
        found = self._spark.answers(function, text, FRAMES)
        return [Message(*each) for table in found for each in zip(*(table[n].to_pylist() for n in _HAD), strict=True)]

    def settle(self, published: Version) -> None:
        """Shards are told by the next order."""

    def ask(self, version: Version, question: Question) -> Sequence[pa.Table]:
        """See `Transport.ask`: the answers pass through this process."""
        text = tasks.question_text(self._root, self.shards, version, question)
        found = self._spark.answers(f"{_TASKS}.answers", text, _ANSWER)
        rows = sorted(row for each in found for row in zip(*(each[name].to_pylist() for name in _SAID), strict=True))
        return [pa.ipc.open_stream(pa.py_buffer(payload)).read_all() for _, payload in rows]

    def frame(
        self, version: Version, question: Question, fields: Iterable[Field], session: SparkSession | None = None
    ) -> DataFrame:
        """What all shards answer as of a version, as a DataFrame that is made where they are, when it is used.

        `session`: the user's own, if None.
        """
        type_ = frame_type(fields, session or self._spark.session)
        text = tasks.question_text(self._root, self.shards, version, question, sent_as(type_))
        return self._spark.read(f"{_TASKS}.rows", text, type_, session)

    def apart(self, settings: Mapping[str, str]) -> SparkSession:
        """A session beside the user's, with these settings of queries."""
        return self._spark.apart(settings)

    def leave(self) -> None:
        """See `Transport.leave`: no other shards are in these workers, which end a minute later."""
        self.close()

    def close(self) -> None:
        """Let go of the workers."""
        self._spark.close()


def carrier_of(driver: Driver) -> OnSpark:
    """What a driver's orders go by just now; whoever holds the database's lock asks."""
    carrier = driver.transport
    assert isinstance(carrier, OnSpark), "its shards are on Spark"
    return carrier


def _scans(table: str, frame: DataFrame) -> list[tuple[str, bytes]] | None:
    """What tasks are to read of files, if that is all that a DataFrame does."""
    found = parts(frame)
    return None if found is None else [(table, argument_of(each, rows_as(frame))) for each in found]
