"""`ivm.spark.connect`: a database whose rows are spread over the executors of a Spark cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from ivm.arguments import at_least_one, batch_of, one_of, whole_number
from ivm.catalog.errors import InterfaceError, TypeMismatchError
from ivm.catalog.schema import Field
from ivm.catalog.types import BIGINT
from ivm.cluster.driver.database import ShardedCore, ShardedDatabase, reopen
from ivm.cluster.driver.driver import Driver
from ivm.cluster.files.chains import folder_in
from ivm.cluster.files.files import Files, fresh
from ivm.cluster.files.folders import address_of, folder_of
from ivm.cluster.files.ledger import opened
from ivm.cluster.files.versions import is_published
from ivm.cluster.planning.reading import are_apart
from ivm.cluster.protocol.questions import Question
from ivm.engine.reader import View
from ivm.intake.change_feed import without_marks
from ivm.intake.formats import Format
from ivm.intake.spark_casts import quoted
from ivm.session.database import core_of
from ivm.session.sink import REFUSALS, BatchSink, OnError, SinkMode
from ivm.spark.cluster import FUNCTIONS, OnSpark, carrier_of
from ivm.spark.frame_times import timed
from ivm.spark.loader import FileLoader
from ivm.spark.sessions import settings_of
from ivm.spark.settings import check_session, expected_executors
from ivm.spark.tasks import Root
from ivm.spark.transport import SparkTransport
from ivm.trace.helpers import Helpers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from ivm.engine.installing import Progress
    from ivm.session.oracle import Verified
    from ivm.trace.rows.table_store import Mode

Oracle = Literal["duckdb", "spark"]


def connect(
    spark: SparkSession,
    path: str | PathLike[str],
    *,
    shards: int | None = None,
    history: int = 0,
    external_access: bool = False,
) -> SparkDatabase:
    """The database in a folder that all machines of a cluster see, as its last version left it; or a new, empty one.

    Args:
        spark: The session, with the settings of `docs/cluster.md`.
        path: A directory, or a URI that `pyarrow.fs` knows (`s3a://bucket/shop`). One driver at a time uses it: of two
            the one that is late is told so (StorageError), and has changed nothing.
        shards: Over how many engines the rows are spread. Each executor has as many of them as it must, in its Python
            worker, and one task at a level of a commit; so there should be as many as executors may ever be. Default:
            that of the folder where there is one (`SparkDatabase.rescale` changes it), and for a new one as many as
            there are to be executors by the settings of the session.
        history: For how many logical times before the present views can be read as of. Default: 0.
        external_access: As with `ivm.connect`. Default: False.

    Raises:
        UnsupportedError: The session's settings do not fit; the message has a line for each of them.
        InterfaceError: `shards` is left out, and the settings do not say how many executors there are to be.
        ClusterError: Workers have another release of ivm, or of Python, or another folder.
        StorageError: The folder cannot be written.
    """
    whole_number(history, "history")
    check_session(spark)
    address = address_of(path)
    ledger, newest = opened(Files(folder_of(address)))
    count = newest.shards or _shards(spark, shards)
    transport = SparkTransport(spark, count, FUNCTIONS)
    try:
        carrier = OnSpark(transport, Root(address, folder_in(ledger.name), history, fresh()))
        carrier.meet()
        driver = Driver(carrier, ledger, Helpers(1), history)
        core = ShardedCore(driver, external_access=external_access)
        core.is_copied = False
        core.functions.refusal = (
            "on Spark views are computed by workers, which do not have it; write it in SQL as a macro, or compute its "
            "values where rows are made"
        )
        core.loads = FileLoader(core, driver)
        reopen(core, ledger.definitions(newest), ledger.names(newest))
        driver.sweep()  # what another driver was about to create
    except BaseException:
        transport.close()
        raise
    return SparkDatabase(core)


def _shards(spark: SparkSession, shards: int | None) -> int:
    """Of a new database: not as many as have come by now, which might be another number a moment later."""
    if shards is not None:
        return at_least_one(shards, "shards")
    found = expected_executors(settings_of(spark))
    if found is None:
        raise InterfaceError(
            "cannot tell over how many shards to spread a new database, since the settings of the session do not say "
            "how many executors there are to be (spark.executor.instances); give shards=, as many as there may ever be"
        )
    return found


_MARKS = (Field("_time", BIGINT, nullable=False), Field("_diff", BIGINT, nullable=False))


class SparkDatabase(ShardedDatabase):
    """See `connect`. What other databases do, this does; and it takes and gives DataFrames."""

    def __init__(self, core: ShardedCore) -> None:
        super().__init__(core)
        self._driver = core.driver

    @property
    def places(self) -> Mapping[int, str]:
        """Where each shard was in the last job: machine, executor and process."""
        return carrier_of(self._driver).places

    def rescale(self, shards: int, *, progress: Callable[[Progress], None] | None = None) -> None:
        """Spread the same tables and views over another number of shards; see `ShardedDatabase.rescale`. No row passes
        through this process. They are in workers of their own: those of the shards before end a minute later, and their
        files go some commits later.
        """
        super().rescale(shards, progress=progress)

    def __enter__(self) -> SparkDatabase:
        super().__enter__()
        return self

    def apply(
        self, changes: Mapping[str, Any], *, mode: Mode = "diff", format: Format = "rows",
        batch: tuple[str, int] | None = None,
    ) -> int:  # fmt: skip
        """Commit one batch; see `Database.apply`. Of DataFrames no row passes through this process; the times of rows
        that have a `_time` are looked at in a job of their own. DataFrames and other forms do not go together. What
        comes in another `format` than rows is read here, also of DataFrames.
        """
        if format != "rows":
            here = {name: rows.toArrow() if _is_frame(rows) else rows for name, rows in changes.items()}
            return super().apply(here, mode=mode, format=format, batch=batch)
        if not any(map(_is_frame, changes.values())):
            return super().apply(changes, mode=mode, batch=batch)
        one_of(mode, ("diff", "upsert"), "mode")
        other = next((name for name, rows in changes.items() if not _is_frame(rows)), None)
        if other is not None:
            raise TypeMismatchError(
                f"cannot apply changes of table {other}: they are no DataFrame, and others are; give all of them as "
                "DataFrames, with spark.createDataFrame, or none"
            )
        return self.commit_frames(changes, mode, None if batch is None else batch_of(batch))

    def commit_frames(self, frames: Mapping[str, DataFrame], mode: str, batch: tuple[str, int] | None) -> int:
        """Commit DataFrames by a mode of `apply` or `sink`; returns the time. A batch counts once."""
        core = self._open
        core.check_writable()
        with core.lock:
            if batch is not None and is_published(self._driver.version, batch):
                return self._driver.time
            tables = {core.catalog.table(name).name: rows for name, rows in frames.items()}
            declared = carrier_of(self._driver).declared = {name: core.catalog.table(name) for name in tables}
            last = 0
            if mode in ("diff", "upsert"):  # a feed of changes says when they were committed elsewhere
                tables, last = timed(tables, declared, self._driver.time)
            return self._driver.commit_frames(tables, mode, batch, last)

    def verify(self, views: Sequence[str] | None = None, *, by: Oracle | None = None) -> list[Verified]:
        """Compare views (all maintained ones by default) with a recomputation from the tables.

        `by`: "duckdb", to which all rows of the tables are brought, or "spark": Spark SQL computes them where they are,
        from a copy on the executors' disks. By default whichever fits: Spark beyond ten million rows. Raises
        VerificationError with differing rows, or where the oracle does not know what a view has.
        """
        from ivm.spark.verifying import fits, verify  # noqa: PLC0415  with DuckDB, which takes a while to import

        if by is not None:
            one_of(by, ("duckdb", "spark"), "by")
        core = self._open
        assert isinstance(core, ShardedCore), "it is made of one"
        if by == "duckdb" or (by is None and fits(core, views)):
            return super().verify(views)
        return verify(core, views)

    def sink(self, table: str, **options: Any) -> BatchSink:
        """A function for `foreachBatch`; see `Database.sink`. No row passes through this process, but those of a batch
        of which some are refused, and put aside, and those that come in another `format` than rows.
        """
        return FrameSink(self, table, **options)

    def view(self, name: str) -> SparkView:
        """A maintained view; see `Database.view`."""
        core = self._open
        assert isinstance(core, ShardedCore), "it is made of one"
        with core.lock:
            found = SparkView(core.maintained(name).definition.name, core)
        found.listened = self.subscribe
        return found


class FrameSink(BatchSink):
    """Commits micro-batches where the shards are; see `Database.sink`."""

    def __init__(
        self,
        db: SparkDatabase,
        table: str,
        mode: SinkMode = "changes",
        format: Format = "rows",
        keys: Sequence[str] | None = None,
        on_error: OnError = "stop",
        quarantine: str | None = None,
        source: str | None = None,
    ) -> None:
        super().__init__(core_of(db), table, mode, format, keys, on_error, quarantine, source)
        self._db = db

    def _commit(self, batch: Any, numbered: tuple[str, int]) -> None:
        if self._format != "rows" or not _is_frame(batch):
            super()._commit(batch, numbered)
            return
        try:
            if self._mode != "changes":
                without_marks(batch.columns, self._core.catalog.table(self._table))
            self._db.commit_frames({self._table: batch}, self._mode, numbered)
        except REFUSALS:
            if self._quarantine is None:
                raise
            super()._commit(batch, numbered)  # nothing has changed; it is looked through for what is refused


class SparkView(View):
    """Reads one maintained view; see `View`."""

    def __init__(self, name: str, core: ShardedCore) -> None:
        super().__init__(name, lambda: core.engine, core.readable, core.lock)
        self._driver = core.driver

    def dataframe(self) -> DataFrame:
        """The rows as a DataFrame of the user's session, in no order, as of now: each time that it is used its rows are
        read where they are, and none passes through this process. It stays as it
        is: of what was read before the last commit a copy is loaded each time, as long as its logs are kept.
        """
        with self._lock:
            definition = self._definition
            version = self._driver.ledger.watched(self._driver.version)
            frame = carrier_of(self._driver).frame(version, Question("view", definition.name), definition.columns)
        return frame.select(*(quoted(each.name) for each in definition.schema)) if definition.hidden else frame

    def changes_dataframe(self, after: int, until: int | None = None) -> DataFrame:
        """What `changes` tells, as a DataFrame that is made where the rows are: the columns, `_time` and `_diff`.

        Use it before the next commit: a shard that is loaded anew knows nothing of times before.
        """
        with self._lock:
            after, until = self._between(after, until, self._readable()[0])
            definition = self._definition
            version = self._driver.ledger.watched(self._driver.version)
            view = self._driver.views[definition.name]
            question = Question("history", definition.name, until, after=after)
            frame = carrier_of(self._driver).frame(version, question, [*definition.schema, *_MARKS])
        if are_apart(view.placement, definition):
            return frame
        # Shards may tell different halves of one change.
        kept = [quoted(name) for name in frame.columns[:-1]]
        return frame.groupBy(*kept).agg({_MARKS[-1].name: "sum"}).toDF(*frame.columns).where(f"{_MARKS[-1].name} <> 0")


def _is_frame(rows: object) -> bool:
    return hasattr(rows, "mapInArrow")
