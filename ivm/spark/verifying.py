"""Spark as the oracle: what `ivm.session.oracle` does with DuckDB, where the tables do not fit one machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from ivm.catalog.errors import UnsupportedError
from ivm.catalog.names import key, reached
from ivm.catalog.schema import Field, View
from ivm.cluster.driver.database import ShardedCore
from ivm.cluster.protocol.questions import Question
from ivm.intake.spark_casts import quoted
from ivm.session.oracle import VerificationError, Verified, allowances, check_rest, digits_of, names_asked
from ivm.spark.cluster import carrier_of
from ivm.spark.frames import sent_as
from ivm.sql.spark_text import spark_text

FITS = 10_000_000
"""So many rows are brought to DuckDB, where nobody says what is to verify; more stay where they are."""
_MOST = 10_000
"""So many rows that differ, but for rounding, are brought to this process."""
_ORACLE = "Spark SQL"
_SETTINGS = {
    # As in DuckDB: 1 / 0 is NULL, and moments are told in UTC.
    "spark.sql.ansi.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "false",
}


def fits(core: ShardedCore, views: Sequence[str] | None) -> bool:
    """Whether all rows of the tables that views read are few enough to be brought here."""
    with core.lock:
        read, sizes = _read(core, names_asked(core, views)), core.driver.sizes()
        return sum(sizes[name] for name in core.driver.tables if key(name) in read) <= FITS


def verify(core: ShardedCore, views: Sequence[str] | None) -> list[Verified]:
    """Compare views with what Spark SQL makes of the tables, as of one moment; see `Database.verify`.

    No row passes through this process but some that differ. Others wait while tables and views are copied to the
    executors' disks, and not while Spark computes.
    """
    with _copied(core, names := names_asked(core, views)) as (session, found, definitions):
        expected = _defined(session, definitions, {key(name) for name in names})
        return [_compare(name, found[name], expected[key(name)]) for name in names]


def _read(core: ShardedCore, names: Sequence[str]) -> Mapping[str, None]:
    """The keys of what views read, and of themselves."""
    uses = {key(view.name): view.uses for view in core.catalog.views}
    return reached(names, lambda name: uses.get(name, ()))


@contextmanager
def _copied(
    core: ShardedCore, names: Sequence[str]
) -> Iterator[tuple[SparkSession, dict[str, DataFrame], list[tuple[View, str]]]]:
    """A session in which the tables are that views read, the views as they are, and the definitions of these and of
    those that they read, in order, with their SQL for DuckDB.
    """
    with core.lock:
        session = carrier_of(core.driver).apart(_SETTINGS)
    kept, found = list[Any](), dict[str, Any]()

    def copy(question: Question, fields: Sequence[Field], columns: Sequence[Field]) -> Any:
        frame = carrier_of(core.driver).frame(core.driver.version, question, columns, session)
        frame = frame.select(*(quoted(field.name) for field in fields)).persist(StorageLevel.DISK_ONLY)
        kept.append(frame)
        frame.count()
        return frame

    try:
        with core.lock:
            read, driver = _read(core, names), core.driver
            for name, each in driver.tables.items():
                if key(name) in read:
                    fields = each.table.fields
                    copy(Question("table", name), fields, fields).createTempView(quoted(name))
            for name in names:
                definition = driver.views[name].definition
                found[name] = copy(Question("view", name), definition.schema, definition.columns)
            texts = [(view, driver.oracle_sql[view.name]) for view in core.catalog.views if key(view.name) in read]
        yield session, found, texts
    finally:
        for frame in kept:
            frame.unpersist()


def _defined(session: SparkSession, definitions: Sequence[tuple[View, str]], asked: set[str]) -> dict[str, DataFrame]:
    """What Spark SQL makes of views, of which some are asked for, by their keys."""
    found = {}
    for view, text in definitions:
        try:
            frame = session.sql(spark_text(text)).toDF(*(field.name for field in view.schema))
            frame.createOrReplaceTempView(quoted(view.name))
        except (PySparkException, UnsupportedError) as error:
            raise _refusal(view.name, error) from error
        if key(view.name) in asked:
            found[key(view.name)] = frame
    return found


def _compare(view: str, found: DataFrame, expected: DataFrame) -> Verified:
    """Equal as multisets, as `ivm.session.oracle.compare` has it.

    Rows that differ with doubles rounded are looked at here.
    """
    names = [f"c{i}" for i in range(len(found.columns))]
    allowed = allowances(sent_as(found.schema))
    columns = [
        _rounded(name, field.dataType, tolerance)
        for name, field, tolerance in zip(names, found.schema.fields, allowed, strict=True)
    ]
    sides = [
        frame.toDF(*names).select(*columns).withColumn("mine", F.lit(mine)).withColumn("theirs", F.lit(1 - mine))
        for frame, mine in ((found, 1), (expected, 0))
    ]
    sums = [F.sum(side).alias(side) for side in ("mine", "theirs")]
    try:
        counted = sides[0].unionAll(sides[1]).groupBy(*names).agg(*sums).persist()
        try:
            rows = counted.agg(F.sum("mine"), F.sum("theirs")).first()
            differing = counted.where("mine <> theirs").limit(_MOST).collect()
        finally:
            counted.unpersist()
    except PySparkException as error:
        raise _refusal(view, error) from error
    extra, missing = Counter[tuple[object, ...]](), Counter[tuple[object, ...]]()
    for *row, mine, theirs in differing:
        (extra if mine > theirs else missing)[tuple(row)] = abs(mine - theirs)
    mine, theirs = (each or 0 for each in rows or (0, 0))
    if len(differing) == _MOST:  # of these some may be the same but for rounding, of the rest nobody knows
        allowed = [0.0] * len(allowed)
    check_rest(view, _ORACLE, (mine, theirs), extra, missing, allowed)
    return Verified(view, theirs, theirs == 0)


def _rounded(name: str, type_: Any, tolerance: float) -> Column:
    """A column as the view has it, in fewer digits where it need not be exact."""
    column = F.col(name).cast(type_)
    if not tolerance:
        return column.alias(name)
    shown = F.format_string(f"%.{digits_of(tolerance)}e", column.cast("double"))
    # 0.0 is no other row than -0.0.
    return F.when(column.isNotNull(), shown.cast("double") + F.lit(0.0)).alias(name)


def _refusal(view: str, error: Exception) -> VerificationError:
    said = str(error).strip().splitlines()
    return VerificationError(
        f"cannot compare {view}: Spark SQL does not compute it: {said[0] if said else error!r}; "
        'verify by "duckdb", which brings the tables to this process'
    )
