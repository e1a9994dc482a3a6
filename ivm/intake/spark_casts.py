"""What to write in Spark, where most data of other types comes from, so that a column goes into one of ours."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.types as arrow

from ivm.catalog.schema import Field
from ivm.catalog.types import Kind, SqlType

_NAMES: dict[Kind, str] = {
    Kind.BOOLEAN: "BOOLEAN",
    Kind.TINYINT: "TINYINT",
    Kind.SMALLINT: "SMALLINT",
    Kind.INTEGER: "INT",
    Kind.BIGINT: "BIGINT",
    Kind.HUGEINT: "DECIMAL(38,0)",
    Kind.UTINYINT: "SMALLINT",
    Kind.USMALLINT: "INT",
    Kind.UINTEGER: "BIGINT",
    Kind.UBIGINT: "DECIMAL(20,0)",
    Kind.FLOAT: "FLOAT",
    Kind.DOUBLE: "DOUBLE",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP_NTZ",
    Kind.TIMESTAMP_S: "TIMESTAMP_NTZ",
    Kind.TIMESTAMP_MS: "TIMESTAMP_NTZ",
    Kind.TIMESTAMPTZ: "TIMESTAMP",
    Kind.TIME: "TIME",
    Kind.BLOB: "BINARY",
}
_PLAIN = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def spark_type(type: SqlType) -> str:
    """The type of Spark's that holds all values of `type`; it has no unsigned numbers, and texts for UUID, ENUM and
    what has nanoseconds.
    """
    if type.is_nested:
        return _nested_type(type)
    if type.kind is Kind.DECIMAL:
        return f"DECIMAL({type.precision},{type.scale})"
    return _NAMES.get(type.kind, "STRING")


def cast_to_write(given: pa.Field, field: Field) -> str:
    """The expression of Spark's SQL that makes of a column `given` one that goes into `field`; "" if there is none."""
    name = given.name if _PLAIN.fullmatch(given.name) else quoted(given.name)
    sent, wanted = given.type, spark_type(field.type)
    if arrow.is_nested(sent) and not is_variant(sent):
        return f"to_json({name})" if wanted == "STRING" else ""
    if arrow.is_duration(sent) and field.type.is_numeric:
        return f"CAST(CAST({name} AS INTERVAL SECOND) AS {wanted})"
    if field.type.kind is Kind.UUID and arrow.is_binary(sent):
        return f"hex({name})"
    return f"CAST({name} AS {wanted})"


def quoted(name: str) -> str:
    """A name as Spark's SQL takes any."""
    return "`" + name.replace("`", "``") + "`"


def is_variant(type: pa.DataType) -> bool:
    """Whether a struct is how Spark gives a VARIANT."""
    if not arrow.is_struct(type):
        return False
    marks = [type.field(place).metadata or {} for place in range(type.num_fields)]
    return any(mark.get(b"variant") == b"true" for mark in marks)


def _nested_type(type: SqlType) -> str:
    if type.kind in (Kind.LIST, Kind.ARRAY) and type.element is not None:
        return f"ARRAY<{spark_type(type.element)}>"
    fields = type.fields if type.element is None else type.element.fields
    if type.kind is Kind.MAP:
        return f"MAP<{', '.join(spark_type(field) for _, field in fields)}>"
    return f"STRUCT<{', '.join(f'`{name}`: {spark_type(field)}' for name, field in fields)}>"
