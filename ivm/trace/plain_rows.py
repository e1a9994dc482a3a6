"""Rows of plain Python values as Arrow data of a table's own types, without a look at what types they might have else.

That is how most programs hand in a row or a few. A value is plain if its class is the one that Python has for the
column's type: an int for BIGINT, a date for DATE. All else goes the general way, `ivm.trace.ingest`, which infers types
and casts, and knows what to say of what does not fit.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import accumulate
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from catalog.schema import Field
from catalog.types import Kind, SqlType
from ivm.trace.arrow import arrow_type, item_of

MOST_ROWS = 1 << 12
"""Beyond so many rows Arrow is the quicker one, whatever it has to find out."""
_EPOCH = datetime.datetime(1970, 1, 1)
_EPOCH_DAY = datetime.date(1970, 1, 1).toordinal()
_MICROSECOND = datetime.timedelta(microseconds=1)
_MOST_DIGITS = 40
_INTEGERS = (
    *(Kind.TINYINT, Kind.SMALLINT, Kind.INTEGER, Kind.BIGINT),
    *(Kind.UTINYINT, Kind.USMALLINT, Kind.UINTEGER, Kind.UBIGINT),
)
_NONE: type = type(None)


class _Plain(NamedTuple):
    """How values of some classes become an array: `nothing` stands where there is none; `packed` are the buffers.

    `packed` raises ValueError or OverflowError where a value is not plain, or does not fit.
    """

    arrow: pa.DataType
    classes: frozenset[type]
    nothing: object
    packed: Callable[[Sequence[Any]], tuple[pa.Buffer, ...]]


class PlainRows:
    """What makes record batches of `fields`, in their order, of rows or columns that have exactly those."""

    def __init__(self, fields: Sequence[Field], plain: Sequence[_Plain]) -> None:
        self.schema = pa.schema([(f.name, each.arrow) for f, each in zip(fields, plain, strict=True)])
        self._plain = tuple(plain)
        names = self.schema.names
        self._values: Callable[[Any], Any] = itemgetter(*names) if len(names) > 1 else lambda row: (row[names[0]],)

    def of_rows(self, rows: Sequence[dict[Any, Any]]) -> pa.RecordBatch | None:
        """A batch of some rows, at least one; None if they are not plain."""
        width = len(self._plain)
        if len(rows) > MOST_ROWS or any(len(row) != width for row in rows):
            return None
        try:
            return self._batch(tuple(zip(*map(self._values, rows), strict=True)))
        except KeyError:
            return None

    def of_columns(self, columns: dict[Any, Any]) -> pa.RecordBatch | None:
        """A batch of columns that have these names, in any order; None if they are not plain."""
        values = self._values(columns)
        if any(type(each) is not list and type(each) is not tuple for each in values):
            return None
        length = len(values[0])
        if not 0 < length <= MOST_ROWS or any(len(each) != length for each in values):
            return None
        return self._batch(values)

    def _batch(self, columns: Sequence[Sequence[Any]]) -> pa.RecordBatch | None:
        arrays = []
        for values, plain in zip(columns, self._plain, strict=True):
            array = _array(values, plain)
            if array is None:
                return None
            arrays.append(array)
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def plain_rows(fields: Sequence[Field]) -> PlainRows | None:
    """What makes batches of these fields; None if no class of Python is that of one of their types."""
    plain = [found for field in fields if (found := _plain_for(field.type)) is not None]
    return PlainRows(fields, plain) if plain and len(plain) == len(fields) else None


def _array(values: Sequence[Any], plain: _Plain) -> pa.Array | None:
    classes, validity = set(map(type, values)), None
    if not plain.classes >= classes:
        if not plain.classes >= classes - {_NONE}:
            return None
        there = np.array([value is not None for value in values], np.bool_)
        validity = pa.py_buffer(np.packbits(there, bitorder="little"))
        values = [plain.nothing if value is None else value for value in values]
    try:
        return pa.Array.from_buffers(plain.arrow, len(values), [validity, *plain.packed(values)])
    except (ValueError, OverflowError):
        return None


def _plain_for(type_: SqlType) -> _Plain | None:
    kind = type_.kind
    if kind in (Kind.DECIMAL, Kind.HUGEINT):
        scale = 10**type_.scale if kind is Kind.DECIMAL else 1
        classes = frozenset((int, Decimal) if kind is Kind.DECIMAL else (int,))
        return _Plain(arrow_type(type_), classes, 0, lambda values: _decimals(values, scale))
    if kind in _INTEGERS:
        dtype = np.dtype(item_of(arrow_type(type_)))
        return _Plain(arrow_type(type_), frozenset((int,)), 0, lambda values: (pa.py_buffer(np.array(values, dtype)),))
    found = _OTHERS.get(kind)
    return None if found is None else _Plain(arrow_type(type_), frozenset(found[:1]), *found[1:])


def _decimals(values: Sequence[Any], scale: int) -> tuple[pa.Buffer]:
    words = []
    for value in values:
        if type(value) is Decimal and not -_MOST_DIGITS < value.adjusted() < _MOST_DIGITS:
            raise ValueError("it takes long to write it out")
        number, parts = value.as_integer_ratio()
        scaled, rest = divmod(number * scale, parts)
        if rest:
            raise ValueError("it has more decimals")
        words.append(scaled.to_bytes(16, "little", signed=True))
    return (pa.py_buffer(b"".join(words)),)


def _floats(values: Sequence[float]) -> tuple[pa.Buffer]:
    return (pa.py_buffer(np.array(values, "<f8")),)


def _truths(values: Sequence[bool]) -> tuple[pa.Buffer]:
    return (pa.py_buffer(np.packbits(np.array(values, np.bool_), bitorder="little")),)


def _texts(values: Sequence[str]) -> tuple[pa.Buffer, pa.Buffer]:
    return _bytes([value.encode() for value in values])


def _bytes(values: Sequence[bytes]) -> tuple[pa.Buffer, pa.Buffer]:
    ends = np.array([0, *accumulate(map(len, values))], "<i4")
    return pa.py_buffer(ends), pa.py_buffer(b"".join(values))


def _days(values: Sequence[datetime.date]) -> tuple[pa.Buffer]:
    return (pa.py_buffer(np.array([value.toordinal() - _EPOCH_DAY for value in values], "<i4")),)


def _moments(values: Sequence[datetime.datetime]) -> tuple[pa.Buffer]:
    if any(value.tzinfo is not None for value in values):
        raise ValueError("it has a time zone")
    return (pa.py_buffer(np.array([(value - _EPOCH) // _MICROSECOND for value in values], "<i8")),)


_OTHERS: dict[Kind, tuple[type, object, Callable[[Sequence[Any]], tuple[pa.Buffer, ...]]]] = {
    Kind.BOOLEAN: (bool, False, _truths),
    Kind.DOUBLE: (float, 0.0, _floats),
    Kind.VARCHAR: (str, "", _texts),
    Kind.BLOB: (bytes, b"", _bytes),
    Kind.DATE: (datetime.date, datetime.date(1970, 1, 1), _days),
    Kind.TIMESTAMP: (datetime.datetime, _EPOCH, _moments),
}
