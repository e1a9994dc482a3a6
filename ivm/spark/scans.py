"""What a DataFrame reads, where it is nothing but the rows of Parquet files, so that tasks can read these themselves.

Then no row passes through a JVM, which would take it apart and put it together again. It is proved from Spark's plan:
one scan of files in Parquet's own format, of columns that the files have, with no partition columns and no filter, and
nothing above it. Who reads proves the rest (`ivm.spark.parquet`): that a file has these columns in these types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_RELATION = "org.apache.spark.sql.execution.datasources.LogicalRelation"
_SCAN = "org.apache.spark.sql.execution.FileSourceScanExec"
_ABOVE = frozenset(f"org.apache.spark.sql.catalyst.plans.logical.{name}" for name in ("Project", "SubqueryAlias"))
_WRAPPERS = frozenset(
    f"org.apache.spark.sql.execution.{name}" for name in ("WholeStageCodegenExec", "ColumnarToRowExec", "InputAdapter")
)
_PARQUET = "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat"
_PARTITION = "org.apache.spark.sql.execution.datasources.FilePartition"
_NEEDED = {
    "spark.sql.parquet.fieldId.read.enabled": "false",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
}
"""Settings with which columns are found by their names, days are those of one calendar, and no file is left out."""
_OPTIONS = frozenset({"path", "recursivefilelookup", "pathglobfilter", "maxfilespertrigger", "inferschema"})
"""Options that say which files are read, not how."""
_TYPES = frozenset(
    {"boolean", "byte", "short", "integer", "long", "float", "double", "decimal", "string", "binary", "date"}
    | {"timestamp", "timestamp_ntz"}
)


class Part(NamedTuple):
    """A part of a file: the row groups that begin in these bytes of it."""

    uri: str
    start: int
    length: int


def parts(frame: DataFrame) -> list[list[Part]] | None:
    """The parts of files that a DataFrame consists of, as Spark would share them among tasks; None if it is not so, or
    if they are not in a file system that all machines have.

    Cost: that of planning it, where it seems to be no more than columns of a relation.
    """
    try:
        if not _may_be(frame._jdf.queryExecution().analyzed()):
            return None
        scan = _scan(frame._jdf.queryExecution().executedPlan())
        if scan is None or not _is_plain(frame, scan):
            return None
        found = [_of(each) for each in frame._jdf.queryExecution().toRdd().partitions()]
    except Exception:  # noqa: BLE001  of a plan that is another one in this release of Spark
        return None
    are_here = all(each.uri.startswith("file:") for several in found for each in several)
    return found if are_here else None


def rows_as(frame: DataFrame) -> pa.Schema:
    """The types in which Spark would give the rows of a DataFrame."""
    from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415

    return to_arrow_schema(frame.schema, timezone=frame.sparkSession.conf.get("spark.sql.session.timeZone"))


def _may_be(plan: Any) -> bool:
    """Whether an analyzed plan has no more than columns of one relation: to plan any other would be for nothing."""
    while plan.getClass().getName() in _ABOVE:
        plan = plan.children().head()
    return bool(plan.getClass().getName() == _RELATION)


def _scan(plan: Any) -> Any:
    """The scan that a plan consists of; None if it does more."""
    while plan.getClass().getName() in _WRAPPERS:
        plan = plan.children().head()
    return plan if plan.getClass().getName() == _SCAN else None


def _is_plain(frame: DataFrame, scan: Any) -> bool:
    """Whether a scan gives these columns of all rows of Parquet files, as they are."""
    relation, names = scan.relation(), list(frame.columns)
    options = relation.options().keys().mkString("\n").lower().split("\n")
    conf = frame.sparkSession.conf
    return (
        relation.fileFormat().getClass().getName() == _PARQUET
        and relation.partitionSchema().length() == 0
        and scan.partitionFilters().isEmpty()
        and scan.dataFilters().isEmpty()
        and list(scan.requiredSchema().fieldNames()) == names
        and scan.output().length() == len(names)
        and _OPTIONS.issuperset(each for each in options if each)
        and all(conf.get(name) == value for name, value in _NEEDED.items())
        and all(each.dataType.typeName() in _TYPES and "." not in each.name for each in frame.schema)
    )


def _of(partition: Any) -> list[Part]:
    if partition.getClass().getName() != _PARTITION:
        raise TypeError(partition.getClass().getName())
    return [Part(each.filePath().urlEncoded(), each.start(), each.length()) for each in partition.files()]
