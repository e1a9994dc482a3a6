"""Casts of Arrow data to the type of a column that keep every value, or fail."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as arrow

from catalog.types import Kind, SqlType
from ivm.trace.arrow import arrow_type, is_direct, is_text

_INTEGER_DIGITS = 20
_WIDEST = 38


def exact_cast(values: pa.ChunkedArray, type: SqlType) -> pa.ChunkedArray:
    """The values as `to_column` takes them for a column of `type`.

    Numbers become any numeric type that holds each of them exactly (a float counts as the shortest decimal that prints
    it; a decimal may become the nearest DOUBLE), dates and timestamps each other, text stays in its encoding. Raises
    TypeError where types do not go together, ValueError where a value does not fit. Nothing to do: no cost.
    """
    given = values.type
    if is_direct(given, type):
        return values
    if arrow.is_dictionary(given) and not is_text(given):
        return exact_cast(values.cast(given.value_type), type)
    if arrow.is_null(given):
        return values.cast(arrow_type(type))
    if not _goes_into(given, type):
        raise TypeError(f"it has Arrow type {given}")
    if type.kind in (Kind.DECIMAL, Kind.HUGEINT):
        return _to_decimal(values, type)
    if type.is_integer and arrow.is_decimal(given):
        values = values.cast(pa.decimal128(_WIDEST, given.scale)) if given.precision <= _WIDEST else values
    cast = values.cast(arrow_type(type))
    if type.kind is Kind.DATE:
        _check_midnight(values, cast)
    return cast


def _goes_into(given: pa.DataType, type: SqlType) -> bool:
    if type.is_numeric:
        return bool(arrow.is_integer(given) or arrow.is_decimal(given) or arrow.is_floating(given))
    if type.kind in (Kind.DATE, Kind.TIMESTAMP):
        return bool(arrow.is_date(given) or (arrow.is_timestamp(given) and given.tz is None))
    return False


def _to_decimal(values: pa.ChunkedArray, type: SqlType) -> pa.ChunkedArray:
    target = arrow_type(type)
    if arrow.is_floating(values.type):
        return values.cast(pa.string()).cast(target)
    if arrow.is_integer(values.type):
        # Arrow asks for room for every integer of the type; whether these values fit shows in the next cast.
        digits = _INTEGER_DIGITS + target.scale
        values = values.cast((pa.decimal128 if digits <= _WIDEST else pa.decimal256)(digits, target.scale))
    return values.cast(target)


def _check_midnight(values: pa.ChunkedArray, dates: pa.ChunkedArray) -> None:
    """Arrow cuts the time of day off in silence."""
    if not pc.all(pc.equal(dates.cast(values.type), values)).as_py() and dates.null_count < len(dates):
        raise ValueError("it has a time of day, which a DATE cannot keep")
