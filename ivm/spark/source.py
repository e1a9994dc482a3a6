"""Views of a database in a directory as a data source of Spark's: what they hold, and what changes in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

import ivm
from catalog.errors import BindError, StorageError
from catalog.schema import View
from ivm.arguments import MOST
from ivm.change_feed import CHANGE, VERSION
from ivm.database import core_of
from ivm.durable.outline import Outline, outline
from ivm.trace.arrow import numbers_from
from ivm.trace.spark_casts import quoted, spark_type

_OPTIONS = {"path", "view", "readchangefeed", "startingversion", "endingversion"}
_BEFORE_ALL = -1
"""As an offset: the view is given as it is, before its changes."""
_BATCH_ROWS = 1 << 16
Offset = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """What the options say: of which view, and whether its changes are wanted, from which time on, up to which."""

    path: str
    view: str
    changes: bool
    starting: int | None
    latest: bool
    ending: int | None

    @classmethod
    def of(cls, options: Any) -> Asked:
        """The options of a `read` or a `readStream`. BindError for those that are missing, unknown or no numbers."""
        given = {str(name).lower(): str(value) for name, value in options.items()}
        unknown = sorted(given.keys() - _OPTIONS)
        if unknown:
            raise _refusal(f"there is no option {unknown[0]!r}; options are path, view, readChangeFeed, "
                           "startingVersion and endingVersion")  # fmt: skip
        for name in ("path", "view"):
            if name not in given:
                raise _refusal(f"option {name!r} is missing; write .option({name!r}, ...)")
        start = given.get("startingversion")
        changes = given.get("readchangefeed", "false").lower()
        if changes not in ("true", "false"):
            raise _refusal(f"option 'readChangeFeed' is {changes!r}, and must be 'true' or 'false'")
        starting = None if start == "latest" else _number(start, "startingVersion")
        ending = _number(given.get("endingversion"), "endingVersion")
        return cls(given["path"], given["view"], changes == "true", starting, start == "latest", ending)


@dataclass
class Part(InputPartition):
    """What one task reads: the changes after one time up to another; the rows there are at that, if `after` is -1.

    `mark`: of the view that it is of, which may have been created anew since.
    """

    after: int
    until: int
    mark: str


class ViewChanges(DataSource):
    """A maintained view of a database in a directory: `spark.read.format("ivm")` gives what it holds,
    `spark.readStream` what changes in it, each with `.option("path", ...)` and `.option("view", ...)`.

    With `.option("readChangeFeed", "true")`, which a stream asks for, rows have two more columns: `_change_type`, which
    is insert or delete, and `_commit_version`, the logical time. A stream begins with what there is, as inserts, or
    after the times before `startingVersion`, a number or "latest". A batch has the changes from `startingVersion` to
    `endingVersion`. Both are read while another process commits, and see what is written by then.

    Changes can be read as far back as the log goes: to the last checkpoint, and further by the `history` with which the
    database was opened by who writes to it. What is asked for earlier is refused, never left out. Cost of a batch: the
    directory is opened, see `ivm.connect`; of asking whether there is more: the log since the checkpoint is read.
    """

    @classmethod
    def name(cls) -> str:
        """What `format` calls it."""
        return "ivm"

    def schema(self) -> str:
        """The columns of the view, and those of changes where they are asked for."""
        asked = Asked.of(self.options)
        columns = [(field.name, spark_type(field.type)) for field in defined(asked)[1].schema]
        if asked.changes:
            if taken := sorted({CHANGE, VERSION} & {name.lower() for name, _ in columns}):
                raise _refusal(f"view {asked.view} has a column {taken[0]}; give it another name")
            columns += [(CHANGE, "STRING"), (VERSION, "BIGINT")]
        return ", ".join(f"{quoted(name)} {type_}" for name, type_ in columns)

    def reader(self, schema: StructType) -> DataSourceReader:
        """What reads a batch."""
        return Batch(Asked.of(self.options), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """What reads a stream."""
        return Stream(Asked.of(self.options), schema)


class Batch(DataSourceReader):
    """What a view holds now, or its changes between two times, both included."""

    def __init__(self, asked: Asked, schema: StructType) -> None:
        if asked.changes and asked.starting is None:
            raise _refusal("changes are read from a time on: write .option('startingVersion', ...)")
        if not asked.changes and (asked.starting is not None or asked.latest or asked.ending is not None):
            raise _refusal("times are for changes: write .option('readChangeFeed', 'true')")
        self._asked, self._schema = asked, schema

    def partitions(self) -> list[InputPartition]:
        """One: the view is put together in one place."""
        asked, (known, view) = self._asked, defined(self._asked)
        after = _BEFORE_ALL if asked.starting is None else max(0, asked.starting - 1)
        return [Part(after, known.time if asked.ending is None else asked.ending, view.mark)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows."""
        return _read(self._asked, self._schema, partition)


class Stream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """What a view holds, and then what changes in it. Offsets are logical times, and of which view they are."""

    def __init__(self, asked: Asked, schema: StructType) -> None:
        if not asked.changes:
            raise _refusal("a stream is of changes, with what they are: write .option('readChangeFeed', 'true')")
        if asked.ending is not None:
            raise _refusal("a stream has no end: leave endingVersion out, or read a batch")
        self._asked, self._schema = asked, schema
        self._last: int | None = None

    def initialOffset(self) -> Offset:
        """Where a new query begins."""
        asked, (known, view) = self._asked, defined(self._asked)
        first = known.time if asked.latest else _BEFORE_ALL
        return {"time": first if asked.starting is None else max(0, asked.starting - 1), "view": view.mark}

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        """The time of the last commit."""
        (time, _), view = defined(self._asked)
        if view.mark != start["view"]:
            raise _created_anew(self._asked)
        if time < start["time"]:
            raise StorageError(
                f"cannot go on reading view {self._asked.view} of {self._asked.path} after time {start['time']}: its "
                f"last commit has time {time}, so it is another database, or an older copy; begin anew with an empty "
                "checkpoint"
            )
        last = time if self._last is None else max(start["time"], min(time, self._last))
        return {"time": last, "view": view.mark}

    def prepareForTriggerAvailableNow(self) -> None:
        """Nothing is read that comes after this."""
        self._last = defined(self._asked)[0].time

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """One, unless there is nothing."""
        return [] if start == end else [Part(start["time"], end["time"], end["view"])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The changes."""
        return _read(self._asked, self._schema, partition)


def defined(asked: Asked) -> tuple[Outline, View]:
    """What a directory holds, and the view that is asked for. BindError for none that is maintained; StorageError."""
    known = outline(asked.path)
    view = known.catalog.view(asked.view)
    if not view.maintained:
        raise BindError(f"cannot read view {view.name}: it is registered, not maintained; create it as MATERIALIZED")
    return known, view


def _read(asked: Asked, schema: StructType, partition: InputPartition) -> Iterator[pa.RecordBatch]:
    assert isinstance(partition, Part)
    with ivm.connect(asked.path, read_only=True, history=MOST, compile="off") as db:
        view = db.view(asked.view)
        if core_of(db).catalog.view(asked.view).mark != partition.mark:
            raise _created_anew(asked)
        if not asked.changes:
            table = view.arrow()
        elif partition.after == _BEFORE_ALL:
            rows = view.arrow(as_of=partition.until)
            ones = np.ones(rows.num_rows, np.int64)
            table = _marked(rows, ones * partition.until, ones)
        else:
            changes = view.changes(partition.after, partition.until)
            times, diffs = (changes.column(name).to_numpy() for name in ("_time", "_diff"))
            table = _marked(changes.drop_columns(["_time", "_diff"]), times, diffs)
        target = to_arrow_schema(schema, timezone="UTC")
        if table.column_names != target.names:
            raise BindError(
                f"cannot read view {asked.view}: its columns are {', '.join(table.column_names)}, and "
                f"{', '.join(target.names)} are asked for; leave the schema out"
            )
        yield from table.cast(target).to_batches(_BATCH_ROWS)


def _created_anew(asked: Asked) -> BindError:
    return BindError(
        f"cannot go on reading view {asked.view} of {asked.path}: it was created anew, and what came between is not "
        "known; begin anew with an empty checkpoint"
    )


def _marked(rows: pa.Table, times: Any, diffs: Any) -> pa.Table:
    """Each row as often as its diff says, with what happened to it and when; at each time first what goes."""
    order = np.lexsort((diffs > 0, times))
    repeated = np.repeat(order, np.abs(diffs[order]))
    kinds = pa.array(["delete", "insert"]).take(pa.array((diffs[repeated] > 0).astype(np.int8)))
    return (
        rows.take(numbers_from(repeated))
        .append_column(CHANGE, kinds)
        .append_column(VERSION, numbers_from(times[repeated]))
    )


def _number(text: str | None, name: str) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and int(text) <= MOST):
        raise _refusal(f"option {name!r} is {text!r}, and must be a logical time, a whole number")
    return int(text)


def _refusal(wrong: str) -> BindError:
    return BindError(f"cannot read a database with format('ivm'): {wrong}")
