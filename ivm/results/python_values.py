"""Arrow's values as Python's, and what is done with days and moments that Python has not: it knows the years 1 to 9999.

Arrow itself raises for some of these, and takes 24:00:00 for midnight in silence.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as arrow

from catalog.calendar import DAY, date_text, day_of, time_text, timestamp_text
from catalog.errors import TypeMismatchError
from catalog.intervals import MONTH_DAYS, NANOS, interval_text, packed
from ivm.trace.columns.intervals import INTERVAL

_FIRST, _END = day_of(1, 1, 1), day_of(10000, 1, 1)
_TIME = pa.time64("us")


def python_values(column: pa.ChunkedArray, name: str) -> list[Any]:
    """The values of a column called `name`; TypeMismatchError for a day or moment that Python has not."""
    values = _converted(column)
    if values is None:
        raise not_python(name, _first_far(column))
    return values


def not_python(name: str, shown: str) -> TypeMismatchError:
    """The error of a column in which Python has not all values."""
    return TypeMismatchError(
        f"cannot give column {name!r} as values of Python: it holds {shown}, and Python has dates of the years 1 to "
        "9999, times before 24:00 and spans below 10^9 days; read it with .arrow(), or cast it to VARCHAR in the query"
    )


def values_or_texts(column: pa.ChunkedArray) -> list[Any]:
    """The values of a column; what Python has not, in lists too, as the text that DuckDB writes."""
    values = _converted(column)
    if values is not None:
        return values
    if arrow.is_list(column.type):
        return [None if each.values is None else values_or_texts(pa.chunked_array([each.values])) for each in column]
    if column.type == INTERVAL:
        return [None if value is None else _span_or_text(value) for value in column.to_pylist()]
    write, first, end = _form(column.type)
    numbers = numbers_of(column)
    near = pa.array([n if n is not None and first <= n < end else None for n in numbers.to_pylist()], numbers.type)
    pairs = zip(near.cast(column.type).to_pylist(), numbers.to_pylist(), strict=True)
    return [write(number) if value is None and number is not None else value for value, number in pairs]


def numbers_of(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Days, and moments and times of day in their unit, as whole numbers; in lists too. All else as it is."""
    kind, depth = column.type, 0
    while arrow.is_list(kind):
        kind, depth = kind.value_type, depth + 1
    if not (arrow.is_date32(kind) or arrow.is_timestamp(kind) or arrow.is_time64(kind)):
        return column
    target = pa.int32() if arrow.is_date32(kind) else pa.int64()
    for _ in range(depth):
        target = pa.list_(target)
    return column.cast(target)


def _span_or_text(value: Any) -> timedelta | str:
    months, days, nanos = value
    try:
        return timedelta(days=months * MONTH_DAYS + days, microseconds=nanos // NANOS)
    except OverflowError:
        return interval_text(packed(months, days, nanos // NANOS))


def _converted(column: pa.ChunkedArray) -> list[Any] | None:
    """What Arrow makes of the values; None if Python has not all of them."""
    flat = _flat(column)
    if flat.type == INTERVAL:
        try:
            return [_span(value) for value in column.to_pylist()]
        except OverflowError:
            return None
    if flat.type == _TIME and pc.any(pc.equal(numbers_of(flat), DAY)).as_py():
        return None
    try:
        return list(column.to_pylist())
    except (OverflowError, ValueError):
        return None


def _span(value: Any) -> Any:
    """An interval, in lists too, as DuckDB gives it: a timedelta, in which a month has 30 days."""
    if value is None:
        return None
    if isinstance(value, list):
        return [_span(each) for each in value]
    months, days, nanos = value
    return timedelta(days=months * MONTH_DAYS + days, microseconds=nanos // NANOS)


def _flat(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The elements of lists, however deep; else the column."""
    while arrow.is_list(column.type):
        column = pa.chunked_array([chunk.flatten() for chunk in column.chunks], column.type.value_type)
    return column


def _first_far(column: pa.ChunkedArray) -> str:
    flat = _flat(column)
    if flat.type == INTERVAL:
        return next(found for v in flat.to_pylist() if v is not None and isinstance(found := _span_or_text(v), str))
    if arrow.is_nested(flat.type):
        return "a date or moment"
    write, first, end = _form(flat.type)
    return next(write(n) for n in numbers_of(flat).to_pylist() if n is not None and not first <= n < end)


def _form(kind: pa.DataType) -> tuple[Callable[[int], str], int, int]:
    """How a day or moment is written, and from where to where Python has them."""
    if arrow.is_date32(kind):
        return date_text, _FIRST, _END
    if kind == _TIME:
        return time_text, 0, DAY
    size = {"s": DAY // 1_000_000, "ms": DAY // 1000, "us": DAY, "ns": DAY * 1000}[kind.unit]
    zone = "" if kind.tz is None else "+00"
    return lambda number: f"{timestamp_text(number * DAY // size)}{zone}", _FIRST * size, _END * size
