"""Arrow's values as Python's, and what is done with days and moments that Python has not: it knows the years 1 to 9999.

Arrow itself raises for some of these, and takes 24:00:00 for midnight in silence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as arrow

from ivm.catalog.calendar import DAY, date_text, day_of, time_text, timestamp_text
from ivm.catalog.errors import TypeMismatchError
from ivm.catalog.intervals import MONTH_DAYS, NANOS, interval_text, packed
from ivm.catalog.types import HUGEINT, SqlType
from ivm.trace.columns.arrow import arrow_type, is_list
from ivm.trace.columns.intervals import INTERVAL

_FIRST, _END = day_of(1, 1, 1), day_of(10000, 1, 1)
_TIME, _NANOS = pa.time64("us"), pa.timestamp("ns")


def python_values(column: pa.ChunkedArray, name: str) -> list[Any]:
    """The values of a column called `name`; TypeMismatchError for a day or moment that Python has not.

    What is finer than a microsecond is cut off, towards 1970, as by DuckDB.
    """
    values = _converted(_in_micros(column))
    if values is None:
        raise not_python(name, _first_far(column))
    return values


def values_of(column: pa.Array | pa.ChunkedArray, type: SqlType, name: str) -> list[Any]:
    """As `python_values`, of a type; those of a HUGEINT are whole numbers."""
    values = python_values(column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column]), name)
    return [None if value is None else int(value) for value in values] if type == HUGEINT else values


def array_of(values: Sequence[Any], type: SqlType) -> pa.Array:
    """The Arrow array of a type whose `values_of` these are. ArrowException for what is no such value."""
    if type.is_nested:
        values = [_items(value) for value in values]
    return pa.array(values, arrow_type(type))


def _items(value: Any) -> Any:
    """A value in which maps that are dicts are pairs, as Arrow takes these; it takes a struct as pairs, too."""
    if isinstance(value, dict):
        return [(key, _items(each)) for key, each in value.items()]
    return [_items(each) for each in value] if isinstance(value, list | tuple) else value


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
    if arrow.is_nested(column.type):
        return [_nested_value(each) for each in column]
    if column.type == INTERVAL:
        return [None if value is None else _span_or_text(value) for value in column.to_pylist()]
    write, first, end = _form(column.type)
    numbers, step = numbers_of(column), NANOS if column.type == _NANOS else 1
    near = [n if n is not None and first <= n < end and n % step == 0 else None for n in numbers.to_pylist()]
    values = _in_micros(pa.chunked_array([pa.array(near, numbers.type).cast(column.type)])).to_pylist()
    pairs = zip(values, numbers.to_pylist(), strict=True)
    return [write(number) if value is None and number is not None else value for value, number in pairs]


def _nested_value(value: Any) -> Any:
    """A list, struct or map, within which Python has not all values."""
    if not value.is_valid:
        return None
    if arrow.is_struct(value.type):
        return {
            name: _nested_value(each) if arrow.is_nested(each.type) else _value(each) for name, each in value.items()
        }
    found = values_or_texts(pa.chunked_array([value.values]))
    return {each["key"]: each["value"] for each in found} if arrow.is_map(value.type) else found


def _value(value: pa.Scalar) -> Any:
    return values_or_texts(pa.chunked_array([pa.array([value], value.type)]))[0]


def numbers_of(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Days, and moments and times of day in their unit, as whole numbers. All else as it is."""
    kind = column.type
    if not (arrow.is_date32(kind) or arrow.is_timestamp(kind) or arrow.is_time64(kind)):
        return column
    return column.cast(pa.int32() if arrow.is_date32(kind) else pa.int64())


def _span_or_text(value: Any) -> timedelta | str:
    months, days, nanos = value
    try:
        return timedelta(days=months * MONTH_DAYS + days, microseconds=nanos // NANOS)
    except OverflowError:
        return interval_text(packed(months, days, nanos // NANOS))


def _converted(column: pa.ChunkedArray) -> list[Any] | None:
    """What Arrow makes of the values; None if Python has not all of them."""
    flats = list(_flat(column))
    if any(flat.type == INTERVAL for flat in flats):
        try:
            return [_span(value) for value in _listed(column)]
        except OverflowError:
            return None
    if any(flat.type == _NANOS for flat in flats):
        whole = _in_micros(column)
        if not whole.cast(column.type).equals(column):
            return None
        column = whole
    if any(flat.type == _TIME and pc.any(pc.equal(numbers_of(flat), DAY)).as_py() for flat in flats):
        return None
    try:
        return _listed(column)
    except (OverflowError, ValueError):
        return None


def _listed(column: pa.ChunkedArray) -> list[Any]:
    try:
        return list(column.to_pylist(maps_as_pydicts="strict"))
    except TypeError:  # keys that are lists cannot be those of a dict
        return list(column.to_pylist())


def _in_micros(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Moments in nanoseconds, in lists too, in microseconds: of the former Arrow makes values of pandas'."""
    kind = _coarser(column.type)
    return column if kind == column.type else column.cast(kind, safe=False)


def _coarser(kind: pa.DataType) -> pa.DataType:
    if arrow.is_map(kind):
        return pa.map_(_coarser(kind.key_type), _coarser(kind.item_type))
    if is_list(kind):
        return pa.list_(_coarser(kind.value_type), getattr(kind, "list_size", -1))
    if arrow.is_struct(kind):
        return pa.struct([field.with_type(_coarser(field.type)) for field in kind])
    return pa.timestamp("us") if kind == _NANOS else kind


def _span(value: Any) -> Any:
    """An interval, in lists too, as DuckDB gives it: a timedelta, in which a month has 30 days."""
    if value is None:
        return None
    if isinstance(value, list):
        return [_span(each) for each in value]
    if isinstance(value, dict):
        return {_span(name): _span(each) for name, each in value.items()}
    if not isinstance(value, pa.MonthDayNano):  # itself a tuple, as what a map without dicts is made of
        return tuple(map(_span, value)) if isinstance(value, tuple) else value
    months, days, nanos = value
    return timedelta(days=months * MONTH_DAYS + days, microseconds=nanos // NANOS)


def _flat(column: pa.ChunkedArray) -> Iterator[pa.ChunkedArray]:
    """What lists, structs and maps are made of, however deep; else the column."""
    kind = column.type
    if arrow.is_struct(kind):
        for place, field in enumerate(kind):
            yield from _flat(pa.chunked_array([chunk.flatten()[place] for chunk in column.chunks], field.type))
    elif arrow.is_map(kind):
        yield from _flat(pa.chunked_array([chunk.keys for chunk in column.chunks], kind.key_type))
        yield from _flat(pa.chunked_array([chunk.items for chunk in column.chunks], kind.item_type))
    elif is_list(kind):
        yield from _flat(pa.chunked_array([chunk.flatten() for chunk in column.chunks], kind.value_type))
    else:
        yield column


def _first_far(column: pa.ChunkedArray) -> str:
    for flat in _flat(column):
        if flat.type == INTERVAL:
            spans = (_span_or_text(value) for value in flat.to_pylist() if value is not None)
            return next(span for span in spans if isinstance(span, str))
        if arrow.is_temporal(flat.type):
            write, first, end = _form(flat.type)
            far = (write(n) for n in numbers_of(flat).to_pylist() if n is not None and not first <= n < end)
            if (found := next(far, None)) is not None:
                return found
    return "a date or moment"


def _form(kind: pa.DataType) -> tuple[Callable[[int], str], int, int]:
    """How a day or moment is written, and from where to where Python has them."""
    if arrow.is_date32(kind):
        return date_text, _FIRST, _END
    if kind == _TIME:
        return time_text, 0, DAY
    size = {"s": DAY // 1_000_000, "ms": DAY // 1000, "us": DAY, "ns": DAY * 1000}[kind.unit]
    zone = "" if kind.tz is None else "+00"
    return lambda number: f"{timestamp_text(number, size)}{zone}", _FIRST * size, _END * size
