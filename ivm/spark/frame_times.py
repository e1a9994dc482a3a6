"""The logical times of rows that come as DataFrames, of which the driver sees only the first and the last."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegralType

from ivm.catalog.errors import ConstraintError, TypeMismatchError
from ivm.catalog.schema import Table
from ivm.intake.as_it_is import TIME
from ivm.intake.incoming import check_times


def timed(
    frames: Mapping[str, DataFrame], tables: Mapping[str, Table], present: int
) -> tuple[dict[str, DataFrame], int]:
    """Frames of tables, of which each row that has a `_time` is checked to be later than `present`; the last of all.

    0 if none has one. ConstraintError for a time that is NULL, or not later, TypeMismatchError for one that is no
    number. Cost: a Spark job for each frame with times. A frame that gives other rows when it is used again may fail
    then, but never has rows of times that were not looked at.
    """
    found, last = {}, 0
    for name, frame in frames.items():
        found[name] = frame
        if TIME in frame.columns and TIME not in [field.name for field in tables[name].fields]:
            first, until = _span(tables[name], frame, present)
            last = max(last, until)
            told = F.raise_error(F.lit(f"table {name}: a _time is none of those that there were at first"))
            found[name] = frame.withColumn(TIME, F.when(F.col(TIME).between(first, until), F.col(TIME)).otherwise(told))
    return found, last


def _span(table: Table, frame: DataFrame, present: int) -> tuple[int, int]:
    """The first and the last time of a frame's rows; without rows some that no row has."""
    type_ = frame.schema[TIME].dataType
    if not isinstance(type_, IntegralType):
        raise TypeMismatchError(
            f"cannot apply changes to table {table.name}: column {TIME!r} has Spark's type {type_.simpleString()}, and "
            f"must be a whole number; write CAST({TIME} AS BIGINT)"
        )
    row = frame.agg(F.min(TIME), F.max(TIME), F.count(TIME), F.count(F.lit(1))).first()
    assert row is not None, "without groups there is always a row"
    first, last, timed_, rows = row
    if timed_ < rows:
        raise ConstraintError(
            f"cannot apply changes to table {table.name}: _time is NULL in {rows - timed_} rows; give each row a time, "
            "or leave the column out"
        )
    if not rows:
        return present + 1, present + 1
    check_times(table, np.array([first, last], np.int64), present)
    return first, last
