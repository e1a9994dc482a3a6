"""What runs in Spark's Python workers: functions over Arrow batches that `mapInArrow` calls, each a picklable value.

The shards of a task are a group; there are as many as tasks, and shards of the same remainder are in one. Frames are
rows of `FRAMES`: bytes for a group (`dst`), which are a message where `level` is 0, and else the status that the group
gave at that level, on its way to the end of the job. Nothing here knows what the bytes mean.
"""

from __future__ import annotations

import gc
import os
import platform
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module, metadata
from itertools import chain
from typing import Any

import pyarrow as pa
from pyspark.sql.types import BinaryType, IntegerType, StringType, StructType

from ivm.spark.home import Home, call
from ivm.spark.keeper import EXECUTOR
from ivm.spark.wanted import check

FRAMES = StructType().add("dst", IntegerType()).add("level", IntegerType()).add("payload", BinaryType())
"""The columns in which messages and statuses travel from one stage to the next."""
STATUSES = StructType([*FRAMES]).add("place", StringType())
"""The columns of what a job gives: every status, and where the group is that gave it."""
PLACES = StructType().add("dst", IntegerType()).add("place", StringType())
"""The columns of what a round among the shards gives."""

BATCH_BYTES = 64 << 20
"""No batch of frames grows beyond this by more than one payload: Arrow counts the bytes of a column in 31 bits."""
FREEZING = (1, 3, 8)
"""After these tasks of a process all that is imported late is there, and need not be looked through any more."""

Message = tuple[int, bytes]
Frame = tuple[int, int, bytes]
"""A row of `FRAMES`."""
Batches = Iterable[pa.RecordBatch]

_FRAME_TYPES = pa.schema([("dst", pa.int32()), ("level", pa.int32()), ("payload", pa.binary())])
_PLACE_TYPES = pa.schema([("dst", pa.int32()), ("place", pa.string())])


@dataclass(frozen=True)
class Versions:
    """What driver and workers must have in common."""

    ivm: str
    python: str

    def check(self) -> None:
        """Raise RuntimeError, which Spark brings to the driver, if this process has others."""
        here = versions()
        if here != self:
            raise RuntimeError(
                f"a worker on {socket.gethostname()} has ivm {here.ivm} on Python {here.python}, "
                f"the driver ivm {self.ivm} on Python {self.python}; install the driver's on every machine"
            )


@cache
def versions() -> Versions:
    """Those of this process."""
    try:
        ivm = metadata.version("ivm-engine")
    except metadata.PackageNotFoundError:
        ivm = "0"
    return Versions(ivm, ".".join(platform.python_version_tuple()[:2]))


@cache
def named(name: str) -> Callable[..., Any]:
    """The function with a dotted name, whose module is imported; AttributeError or ModuleNotFoundError for none."""
    module, _, function = name.rpartition(".")
    found = getattr(import_module(module), function)
    assert callable(found)
    return found


def place() -> str:
    """Where this process is: its machine, the executor (by the process that forks its workers), and its own id."""
    return f"{socket.gethostname()}/{os.environ.get(EXECUTOR) or os.getppid()}/{os.getpid()}"


def call_home(home: Home | None) -> None:
    """Let the driver reach this process, if it said where it is; see `ivm.spark.home`."""
    if home is not None:
        call(home, place())


@dataclass(frozen=True)
class Ingest:
    """Rows of a user's DataFrame become messages: `function(order, groups, table, batches, room)` gives pairs of a
    group and a payload. `room`: how many bytes may be in payloads of this task; None: any.
    """

    function: str
    order: bytes
    groups: int
    table: str
    versions: Versions
    room: int | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Messages, as frames."""
        self.versions.check()
        messages = named(self.function)(self.order, self.groups, self.table, batches, self.room)
        yield from framed((to, 0, payload) for to, payload in messages)
        _ended()


@dataclass(frozen=True)
class Scan:
    """Rows that `rows(argument)` reads become messages as those of a DataFrame do; see `Ingest`.

    What comes in is a table's name and an argument a row; each of these has the `room`.
    """

    function: str
    rows: str
    order: bytes
    groups: int
    versions: Versions
    room: int | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Messages, as frames."""
        self.versions.check()
        ingest, rows = named(self.function), named(self.rows)
        for batch in batches:
            for table, argument in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                messages = ingest(self.order, self.groups, table, rows(argument), self.room)
                yield from framed((to, 0, payload) for to, payload in messages)
        _ended()


@dataclass(frozen=True)
class LevelTask:
    """One level of a commit, for a group: `task(order, group, groups, level, payloads)` gives messages for the next
    level, and a status.

    `given`: messages for this level that come from the driver, by group. `home`: where a process that keeps shards
    calls the driver.
    """

    task: str
    order: bytes
    groups: int
    level: int
    is_last: bool
    versions: Versions
    given: Mapping[int, Sequence[bytes]] = field(default_factory=dict)
    home: Home | None = None

    def carried_out(self, payloads: Mapping[int, Sequence[bytes]]) -> list[Frame]:
        """The same, in no task of Spark's, from what was sent to each of some groups: what they say, and statuses."""
        self.versions.check()
        statuses: list[Frame] = []
        said = [*self._said({group: [*each] for group, each in payloads.items()}, statuses)]
        _ended()
        return statuses if self.is_last else said + statuses

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Messages and statuses as frames; at the last level statuses alone."""
        self.versions.check()
        call_home(self.home)
        payloads, statuses = _received(batches, self.groups)
        said = self._said(payloads, statuses)
        if self.is_last:
            for _ in said:
                pass  # nobody is there to be told
            for batch in framed(statuses):
                here = pa.array([place()] * batch.num_rows, pa.string())
                yield pa.RecordBatch.from_arrays([*batch.columns, here], [*batch.schema.names, "place"])
        else:
            yield from framed(chain(said, statuses))
        _ended()

    def _said(self, payloads: dict[int, list[bytes]], statuses: list[Frame]) -> Iterator[Frame]:
        """What groups say to others, one after the other; their statuses are added to those there are."""
        task = named(self.task)
        for group in sorted(payloads):
            check()
            came = [*self.given.get(group, ()), *payloads.pop(group)]
            messages, status = task(self.order, group, self.groups, self.level, came)
            statuses.append((group, self.level, status))
            yield from ((to, 0, payload) for to, payload in messages)


@dataclass(frozen=True)
class Read:
    """What shards have to say: `function(argument, shard)` gives record batches of the schema that was announced."""

    function: str
    argument: bytes
    versions: Versions

    def found(self, shards: Sequence[int]) -> list[bytes]:
        """The same, in no task of Spark's: a stream of Arrow's IPC format for each shard."""
        self.versions.check()
        return [_stream_of(self._of(shard)) for shard in shards]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What the shards have."""
        self.versions.check()
        for shard in _shards(batches):
            yield from self._of(shard)
        _ended()

    def _of(self, shard: int) -> Batches:
        """What a shard has."""
        check()
        found: Batches = named(self.function)(self.argument, shard)
        return found


@dataclass(frozen=True)
class Round:
    """A task that does nothing: imports what tasks will need, and tells where its shards are."""

    imports: tuple[str, ...]
    seconds: float
    versions: Versions
    home: Home | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Where the shards are."""
        self.versions.check()
        call_home(self.home)
        shards = _shards(batches)
        for name in self.imports:
            named(name)
        time.sleep(self.seconds)  # the slot stays taken, so that the next shard goes to another executor
        yield pa.RecordBatch.from_arrays(
            [pa.array(shards, pa.int32()), pa.array([place()] * len(shards))], schema=_PLACE_TYPES
        )
        _ended()


def framed(rows: Iterable[Frame]) -> Iterator[pa.RecordBatch]:
    """Rows (group, level, payload) as batches of frames; at least one batch, which may be empty."""
    waiting: list[Frame] = []
    size = 0
    for row in rows:
        waiting.append(row)
        size += len(row[2])
        if size >= BATCH_BYTES:
            yield _frame_batch(waiting)
            waiting, size = [], 0
    yield _frame_batch(waiting)


def _frame_batch(rows: list[Frame]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    arrays = [pa.array(column, type_) for column, type_ in zip(columns, _FRAME_TYPES.types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_FRAME_TYPES)


def _received(batches: Batches, groups: int) -> tuple[dict[int, list[bytes]], list[Frame]]:
    """The messages of each group whose frames these are, and the statuses that pass by."""
    payloads: dict[int, list[bytes]] = {}
    statuses: list[Frame] = []
    for batch in batches:
        here = [shard % groups for shard in batch.column(0).to_pylist()]
        payloads |= {group: [] for group in here if group not in payloads}
        if batch.num_columns == 1:  # the anchor alone
            continue
        levels = batch.column(1).to_pylist()
        for group, level, payload in zip(here, levels, batch.column(2).to_pylist(), strict=True):
            if level:
                statuses.append((group, level, payload))
            elif payload is not None:  # a shard that nobody wrote to
                payloads[group].append(payload)
    return payloads, statuses


def _shards(batches: Batches) -> list[int]:
    """The shards of a partition of the anchor."""
    return [shard for batch in batches for shard in batch.column(0).to_pylist()]


def _stream_of(batches: Batches) -> bytes:
    """Batches of one schema, of which there is at least one, as a stream of Arrow's IPC format."""
    table = pa.Table.from_batches([*batches])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


_tasks = 0


def _ended() -> None:
    """A task has ended, after which Spark collects garbage: what stays for good is put aside."""
    global _tasks  # noqa: PLW0603  of the process, as what it counts for
    _tasks += 1
    if _tasks in FREEZING:
        gc.freeze()
