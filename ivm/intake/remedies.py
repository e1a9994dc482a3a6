"""What to do about a column of another type, said to those who gave it: as Python's values, a data frame, Arrow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.types as arrow

from ivm.catalog.names import key, quoted
from ivm.catalog.schema import Field
from ivm.catalog.types import TIMESTAMPS, Kind
from ivm.intake.spark_casts import cast_to_write

Remedy = Callable[[pa.Field, Field], str]
"""What is said of a column as it was given that does not go into a field: what it is, and what to do."""

_TAKEN: dict[Kind, str] = {
    Kind.BOOLEAN: "bool",
    Kind.DECIMAL: "Decimal, int, or text such as '1.50'",
    Kind.DATE: "date, or text such as '2020-02-29'",
    **dict.fromkeys(
        (type_.kind for type_ in TIMESTAMPS), "datetime without a time zone, or text such as '2020-02-29 12:00:00'"
    ),
    Kind.TIMESTAMPTZ: "datetime with a time zone, or text such as '2020-02-29 12:00:00Z'",
    Kind.TIME: "time without a time zone, or text such as '12:00:00'",
    Kind.INTERVAL: "timedelta, or text such as '1 month 2 days'",
    Kind.VARCHAR: "str",
    Kind.ENUM: "str",
    Kind.UUID: "UUID or str",
    Kind.JSON: "str, or dict or list",
    Kind.BLOB: "bytes",
}
_CALLED: tuple[tuple[Callable[[pa.DataType], bool], str], ...] = (
    (arrow.is_boolean, "bool"),
    (arrow.is_integer, "int"),
    (arrow.is_floating, "float"),
    (arrow.is_decimal, "Decimal"),
    (arrow.is_string, "str"),
    (arrow.is_binary, "bytes"),
    (arrow.is_date, "date"),
    (arrow.is_timestamp, "datetime"),
    (arrow.is_time, "time"),
    (arrow.is_duration, "timedelta"),
)
_NUMBER = "int, float or Decimal"


def of_values(given: pa.Field, field: Field) -> str:
    """Of values in dicts and lists."""
    known = (name for is_so, name in _CALLED if is_so(given.type))
    taken = _TAKEN.get(field.type.kind, _NUMBER)
    return f"they are {next(known, f'of Arrow type {given.type}')}; give {taken}"


def of_arrow(given: pa.Field, field: Field) -> str:
    """Of a table or batch of Arrow, as Spark's `toArrow` gives one too."""
    cast = cast_to_write(given, field)
    return f"it has Arrow type {given.type}; convert it first" + (
        f"; where it comes from Spark, by {cast}" if cast else ""
    )


def _of_duckdb(given: pa.Field, field: Field) -> str:
    name = quoted(given.name)
    is_nested = arrow.is_nested(given.type) and field.type.is_text
    cast = f"to_json({name})" if is_nested else f"CAST({name} AS {field.type})"
    return f"it has Arrow type {given.type}; convert it first, by {cast}"


def _of_frame(given: pa.Field, field: Field) -> str:
    return f"it has Arrow type {given.type}; convert it first, where the frame is made"


def of_columns(data: Mapping[Any, Any]) -> Remedy:
    """Of a dict of columns, which may be Arrow's arrays too, or columns of data frames."""
    arrays = {key(str(name)): of_frame(each) for name, each in data.items() if hasattr(each, "__arrow_c_stream__")}
    arrays |= {key(str(name)): of_frame(each) for name, each in data.items() if hasattr(each, "__arrow_c_array__")}
    return lambda given, field: arrays.get(key(given.name), of_values)(given, field)


_FRAMES: Mapping[str, Remedy] = {"duckdb": _of_duckdb, "_duckdb": _of_duckdb, "pyarrow": of_arrow}


def of_frame(data: Any) -> Remedy:
    """Of whatever gives a stream of Arrow's."""
    return _FRAMES.get(type(data).__module__.partition(".")[0], _of_frame)
