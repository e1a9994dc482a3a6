"""Views of a database in a folder as a data source of Spark's: what they hold, and what changes in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, cast

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from ivm.catalog.errors import BindError, StorageError
from ivm.catalog.schema import View
from ivm.cluster.files.files import Files
from ivm.cluster.files.folders import folder_of
from ivm.cluster.files.versions import COMMITS
from ivm.intake.change_feed import CHANGE, VERSION
from ivm.intake.spark_casts import quoted, spark_type
from ivm.spark.asked import BEFORE_ALL, Asked, refusal
from ivm.spark.one_piece import OnePiece
from ivm.spark.over_shards import OverShards
from ivm.trace.columns.intervals import with_texts

_BATCH_ROWS = 1 << 16
Offset = dict[str, Any]


class Origin(Protocol):
    """Where a view is read from. It is pickled with whoever reads it."""

    def known(self) -> tuple[int, View]:
        """The time of the last commit, and the view. BindError for none that can be read; StorageError."""
        ...

    def parts(self, after: int, until: int, mark: str) -> Sequence[InputPartition]:
        """What tasks are to read, each a `Rows`: the changes after one time up to another of the view of a mark; or
        what it holds at `until`, if `after` is before all, or no changes are asked for.
        """
        ...


class Rows(Protocol):
    """What one task reads."""

    def rows(self) -> Iterator[pa.Table]:
        """The columns of the view, and those of changes where they are asked for."""
        ...


class ViewChanges(DataSource):
    """A maintained view of a database in a folder: `spark.read.format("ivm")` gives what it holds, `spark.readStream`
    what changes in it, each with `.option("path", ...)` and `.option("view", ...)`.

    The folder is the directory of a database in one piece, or what `ivm.spark.connect` takes; there the view must have
    been created WITH (change_feed = true).

    With `.option("readChangeFeed", "true")`, which a stream asks for, rows have two more columns: `_change_type`, which
    is insert or delete, and `_commit_version`, the logical time. A stream begins with what there is, as inserts, or
    after the times before `startingVersion`, a number or "latest". A batch has the changes from `startingVersion` to
    `endingVersion`. Both are read while another process commits, and see what is written by then.

    Of a database in one piece changes can be read as far back as the log goes: to the last checkpoint, and further by
    the `history` with which it was opened by who writes to it. Cost of a batch: the directory is opened, see
    `ivm.connect`; of asking whether there is more: the log since the checkpoint is read.
    Over shards they can be read as far back as logs are kept. Cost of a batch: a page of each version that it is of,
    and the files that have changes of the view; of the first: what shards held at their last snapshots, and the changes
    since. Each shard is a task. To ask whether there is more takes a list and a page.
    What is asked for earlier is refused, never left out.
    """

    @classmethod
    def name(cls) -> str:
        """What `format` calls it."""
        return "ivm"

    def schema(self) -> str:
        """The columns of the view, and those of changes where they are asked for."""
        asked = Asked.of(self.options)
        columns = [(field.name, spark_type(field.type)) for field in origin_of(asked).known()[1].schema]
        if asked.changes:
            if taken := sorted({CHANGE, VERSION} & {name.lower() for name, _ in columns}):
                raise refusal(f"view {asked.view} has a column {taken[0]}; give it another name")
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
            raise refusal("changes are read from a time on: write .option('startingVersion', ...)")
        if not asked.changes and (asked.starting is not None or asked.latest or asked.ending is not None):
            raise refusal("times are for changes: write .option('readChangeFeed', 'true')")
        self._asked, self._schema, self._origin = asked, schema, origin_of(asked)

    def partitions(self) -> Sequence[InputPartition]:
        """What the tasks read."""
        asked, (time, view) = self._asked, self._origin.known()
        after = BEFORE_ALL if asked.starting is None else max(0, asked.starting - 1)
        return self._origin.parts(after, time if asked.ending is None else asked.ending, view.mark)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows."""
        return _read(self._asked, self._schema, partition)


class Stream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """What a view holds, and then what changes in it. Offsets are logical times, and of which view they are."""

    def __init__(self, asked: Asked, schema: StructType) -> None:
        if not asked.changes:
            raise refusal("a stream is of changes, with what they are: write .option('readChangeFeed', 'true')")
        if asked.ending is not None:
            raise refusal("a stream has no end: leave endingVersion out, or read a batch")
        self._asked, self._schema, self._origin = asked, schema, origin_of(asked)
        self._last: int | None = None

    def initialOffset(self) -> Offset:
        """Where a new query begins."""
        asked, (time, view) = self._asked, self._origin.known()
        first = time if asked.latest else BEFORE_ALL
        return {"time": first if asked.starting is None else max(0, asked.starting - 1), "view": view.mark}

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        """The time of the last commit."""
        time, view = self._origin.known()
        if view.mark != start["view"]:
            raise self._asked.created_anew()
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
        self._last = self._origin.known()[0]

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """What the tasks read: nothing, if there is nothing new."""
        return [] if start == end else self._origin.parts(start["time"], end["time"], end["view"])

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The changes."""
        return _read(self._asked, self._schema, partition)


def origin_of(asked: Asked) -> Origin:
    """Which kind of folder it is. Cost: a list. StorageError for an address that cannot be reached, or has nothing."""
    if Files(folder_of(asked.path)).names(COMMITS):
        return OverShards(asked)
    if "://" in asked.path:
        raise StorageError(f"there is no database in {asked.path}")
    return OnePiece(asked)


def _read(asked: Asked, schema: StructType, partition: InputPartition) -> Iterator[pa.RecordBatch]:
    target = to_arrow_schema(schema, timezone="UTC")
    for table in cast(Rows, partition).rows():
        if table.column_names != target.names:
            raise BindError(
                f"cannot read view {asked.view}: its columns are {', '.join(table.column_names)}, and "
                f"{', '.join(target.names)} are asked for; leave the schema out"
            )
        yield from with_texts(table).cast(target).to_batches(_BATCH_ROWS)
