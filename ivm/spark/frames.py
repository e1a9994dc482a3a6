"""Columns as Spark's DataFrames have them, which know no unsigned numbers and no ENUM."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from ivm.catalog.schema import Field
from ivm.catalog.types import Kind
from ivm.intake.spark_casts import quoted, spark_type

_TIME = "spark.sql.timeType.enabled"


def frame_type(fields: Iterable[Field], session: SparkSession) -> StructType:
    """The type of a session's DataFrame with the rows of a table or view; TIME is text where Spark refuses it."""
    has_time = session.conf.get(_TIME, "false") == "true"
    types = [
        (each.name, "STRING" if each.type.kind is Kind.TIME and not has_time else spark_type(each.type))
        for each in fields
    ]
    found = StructType.fromDDL(", ".join(f"{quoted(name)} {type_}" for name, type_ in types))
    assert isinstance(found, StructType), "columns make a row"
    return found


def sent_as(type_: StructType) -> pa.Schema:
    """What workers make of rows that a DataFrame of this type is to have."""
    return to_arrow_schema(type_, timezone="UTC")
