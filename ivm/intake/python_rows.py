"""Rows of plain Python values as Arrow data of a table's own types, without a look at what types they might have else.

That is how most programs hand in a row or a few. A value is plain if its class is the one that Python has for the
column's type: an int for BIGINT, a date for DATE. All else goes the general way, `ivm.intake.ingest`, which infers
types and casts, and knows what to say of what does not fit.

Values are written to where Arrow reads them: to a page, which has room for more rows. Those that came are a slice of
it, and nobody writes to them again.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Container, Sequence
from decimal import Decimal
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from catalog.schema import Field
from catalog.types import MAX_DIGITS, Kind, SqlType
from ivm.kernels.memory.exported import BYTES, OFFSET_BYTES
from ivm.kernels.memory.places import ADDRESS, BIT, SIZE, STRIDE, VALIDITY, WORDS
from ivm.trace.columns.arrow import arrow_type, item_of
from ivm.trace.columns.column import Array, Ints
from ivm.trace.columns.exported import Located, stride_of, taken_from

MOST_ROWS = 1 << 12
"""Beyond so many rows Arrow is the quicker one, whatever it has to find out."""
_PAGE_ROWS, _FEW, _WIDE = 64, 16, 16
"""Rows of a page, or of one with more than so many columns; so many rows at once are few."""
_ROW_BYTES, _LONG = 16, 1 << 8
"""Bytes of text of a row that a page has room for in each column; with more of them rows have a page for themselves."""
_MOST_BYTES = 2**31 - 1
_ENDS = np.dtype(np.int32)
_EPOCH = datetime.datetime(1970, 1, 1)
_EPOCH_DAY = datetime.date(1970, 1, 1).toordinal()
_MICROSECOND = datetime.timedelta(microseconds=1)
_MOST_DIGITS = 40
_PAIR = 16


class _Words:
    """Room in a page for a column of numbers of one size, of days or moments."""

    def __init__(self, items: Array) -> None:
        self._items = items

    def put(self, at: int, values: Sequence[Any]) -> bool:
        """Write values, at least one, from row `at` on; ValueError or OverflowError where one does not fit.

        Whether they have gone in: there is room for so many values, but not for strings of any length.
        """
        if len(values) == 1:
            self._items[at] = values[0]
        else:
            self._items[at : at + len(values)] = np.array(values, self._items.dtype)
        return True

    def buffers(self) -> list[pa.Buffer]:
        """What Arrow is to read."""
        return [pa.py_buffer(self._items)]


class _Pairs:
    """Room for numbers of 128 bits that stay below a bound."""

    def __init__(self, rows: int, bound: int) -> None:
        self._bytes = memoryview(bytearray(_PAIR * rows))
        self._bound = bound

    def put(self, at: int, values: Sequence[int]) -> bool:
        """See `_Words.put`."""
        bound, written = self._bound, []
        for value in values:
            if not -bound < value < bound:
                raise OverflowError(value)
            written.append(value.to_bytes(_PAIR, "little", signed=True))
        self._bytes[_PAIR * at : _PAIR * (at + len(values))] = b"".join(written)
        return True

    def buffers(self) -> list[pa.Buffer]:
        """See `_Words.buffers`."""
        return [pa.py_buffer(self._bytes)]


class _Bits:
    """Room for truth values, or for which values are there."""

    def __init__(self, rows: int) -> None:
        self._bits = bytearray(rows + 7 >> 3)

    def put(self, at: int, values: Sequence[bool]) -> bool:
        """See `_Words.put`."""
        bits = self._bits
        for place, value in enumerate(values, at):
            bit = 1 << (place & 7)
            bits[place >> 3] = bits[place >> 3] & ~bit | (bit if value else 0)
        return True

    def buffers(self) -> list[pa.Buffer]:
        """See `_Words.buffers`."""
        return [pa.py_buffer(self._bits)]


class _Bytes:
    """Room for strings of bytes, one after the other."""

    def __init__(self, rows: int, size: int) -> None:
        self._ends = np.zeros(rows + 1, _ENDS)
        self._bytes = memoryview(bytearray(size))

    def put(self, at: int, values: Sequence[bytes]) -> bool:
        """See `_Words.put`."""
        begin, given = self._ends.item(at), values[0] if len(values) == 1 else b"".join(values)
        end = begin + len(given)
        if end > len(self._bytes):
            return False
        self._bytes[begin:end] = given
        if len(values) == 1:
            self._ends[at + 1] = end
        else:
            self._ends[at : at + 1 + len(values)] = list(accumulate(map(len, values), initial=begin))
        return True

    def buffers(self) -> list[pa.Buffer]:
        """See `_Words.buffers`."""
        return [pa.py_buffer(self._ends), pa.py_buffer(self._bytes)]


_Room = _Words | _Pairs | _Bits | _Bytes


class _Plain(NamedTuple):
    """How a column is written: values of some classes, which `stored` brings to the form that the room of so many rows,
    and bytes, takes; `nothing` stands there for None.
    """

    classes: frozenset[type]
    room: Callable[[int, int], _Room]
    stored: Callable[[Sequence[Any]], list[Any]] | None = None
    nothing: object = 0


class _Written(NamedTuple):
    """A column of a page: its Arrow type, the bytes from a value to the next (see `stride_of`), and what it is written
    to.
    """

    arrow: pa.DataType
    stride: int
    nullable: bool
    room: Callable[[int, int], _Room]


_Made = Sequence[tuple[Sequence[Any], Sequence[bool] | None]]
"""Of each column its values as they are stored, and which are there, None if all are."""


class _Page:
    """An Arrow record batch of which the first `rows` rows are there, and where its columns lie (see `Located`)."""

    def __init__(self, schema: pa.Schema, columns: Sequence[_Written], most: int, size: int, *, shared: bool) -> None:
        self.rows, self.most, self.is_shared = 0, most, shared
        self._columns: list[tuple[_Room, _Bits | None, int]] = []
        """Of each what it is written to, where it says which values are there, and the address of that for kernels."""
        first, each = np.zeros((2, len(columns), WORDS), np.int64)
        arrays = []
        for place, column in enumerate(columns):
            room, there = column.room(most, size), _Bits(most) if column.nullable else None
            buffers, stride = room.buffers(), column.stride
            if stride:
                first[place, [ADDRESS, STRIDE, SIZE]] = buffers[0].address, stride, stride
                each[place, [ADDRESS, BIT]] = stride, 1
            elif isinstance(room, _Bytes):
                ends, data = buffers
                first[place, [ADDRESS, OFFSET_BYTES, BYTES]] = ends.address, _ENDS.itemsize, data.address
                each[place, ADDRESS] = _ENDS.itemsize
            validity = None if there is None else there.buffers()[0]
            self._columns.append((room, there, validity.address if validity is not None and stride else 0))
            arrays.append(pa.Array.from_buffers(column.arrow, most, [validity, *buffers]))
        self._batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
        self._places: Ints = first + each * np.arange(most)[:, None, None] if shared else first[None]

    def add(self, count: int, made: _Made) -> Located | None:
        """Write so many rows behind the others; they are there as soon as all are written. None: they do not go in."""
        at = self.rows
        if at + count > self.most:
            return None
        places = self._places[at]
        for place, ((room, there, validity), (values, valid)) in enumerate(zip(self._columns, made, strict=True)):
            if there is not None:
                there.put(at, (True,) * count if valid is None else valid)
            places[place, VALIDITY] = 0 if valid is None else validity
            if valid is not None and not places[place, STRIDE]:
                places[place, OFFSET_BYTES] = 0
            if not room.put(at, values):
                return None
        self.rows += count
        return self._batch.slice(at, count), places


class PlainRows:
    """What makes record batches of `fields`, in their order, of columns of plain values.

    Any number of threads may use it. Cost: a microsecond a batch and one a column, where a page begins ten times that.
    """

    def __init__(self, fields: Sequence[Field], plain: Sequence[_Plain]) -> None:
        self._plain = tuple(plain)
        self._schema = pa.schema([(field.name, arrow_type(field.type)) for field in fields])
        self._columns = [
            _Written(given, stride_of(given, field.type), field.nullable, each.room)
            for given, field, each in zip(self._schema.types, fields, plain, strict=True)
        ]
        self._idle: list[_Page] = []

    def batch(self, columns: Sequence[Sequence[Any]], stored: Container[int] = ()) -> Located | None:
        """A batch of columns of equally many values, at least one; None if some are not plain.

        Columns that are `stored` have values in physical form, but for texts.
        """
        count, page = len(columns[0]), None
        try:
            made = [self._stored(place, values, place in stored) for place, values in enumerate(columns)]
            page = taken_from(self._idle) if count <= _FEW else None
            located = None if page is None else page.add(count, made)
            if located is None:
                page = self._page(count, made)
                located = page.add(count, made)
            return located
        except (ValueError, OverflowError):
            return None
        finally:
            if page is not None and page.is_shared and page.rows < page.most:
                self._idle.append(page)

    def _page(self, count: int, made: _Made) -> _Page:
        """One that these rows fit in, and more like them if they are few and short."""
        texts = [values for (values, _), plain in zip(made, self._plain, strict=True) if plain.nothing == b""]
        size = sum(sum(map(len, values)) for values in texts)
        if size > _MOST_BYTES:
            raise OverflowError(size)
        shared, rows = count <= _FEW and size <= _LONG, _PAGE_ROWS if len(self._plain) <= _WIDE else _FEW
        most, room = (rows, _ROW_BYTES * rows) if shared else (count, size)
        return _Page(self._schema, self._columns, most, room, shared=shared)

    def _stored(
        self, place: int, values: Sequence[Any], is_stored: bool
    ) -> tuple[Sequence[Any], Sequence[bool] | None]:
        """A column's values as they are written, and which are there; ValueError where some value is not plain."""
        plain, given, valid = self._plain[place], values, None
        if None in values if is_stored else not plain.classes.issuperset(map(type, values)):
            given = [value for value in values if value is not None]
            valid = [value is not None for value in values]
            if not self._columns[place].nullable or not (is_stored or plain.classes.issuperset(map(type, given))):
                raise ValueError("it is not plain")
        if plain.stored is not None and (not is_stored or plain.nothing == b""):
            given = plain.stored(given)
        if valid is None or len(given) == len(values):
            return given, valid
        left = iter(given)
        return [next(left) if is_there else plain.nothing for is_there in valid], valid


def plain_rows(fields: Sequence[Field]) -> PlainRows | None:
    """What makes batches of these fields; None if values of one of their types are not written here."""
    plain = [found for field in fields if (found := _plain_for(field.type)) is not None]
    return PlainRows(fields, plain) if plain and len(plain) == len(fields) else None


def _plain_for(type_: SqlType) -> _Plain | None:
    kind = type_.kind
    if kind is Kind.DECIMAL:
        scale, bound = 10**type_.scale, 10**type_.precision
        return _Plain(frozenset((int, Decimal)), lambda rows, _: _Pairs(rows, bound), partial(_decimals, scale))
    if kind is Kind.HUGEINT:
        return _Plain(frozenset((int,)), lambda rows, _: _Pairs(rows, 10**MAX_DIGITS))
    if kind in _BYTES:
        class_, stored = _BYTES[kind]
        return _Plain(frozenset((class_,)), _Bytes, stored, b"")
    if kind is Kind.BOOLEAN:
        return _Plain(frozenset((bool,)), lambda rows, _: _Bits(rows))
    if kind.bits or kind in _WORDS:
        classes, stored = ((int,), None) if kind.bits else _WORDS[kind]
        dtype = np.dtype(item_of(arrow_type(type_)))
        return _Plain(frozenset(classes), lambda rows, _: _Words(np.zeros(rows, dtype)), stored)
    return None


def _decimals(scale: int, values: Sequence[Any]) -> list[int]:
    made = []
    for value in values:
        if type(value) is int:
            made.append(value * scale)
            continue
        if not -_MOST_DIGITS < value.adjusted() < _MOST_DIGITS:
            raise ValueError("it takes long to write it out")
        number, parts = value.as_integer_ratio()
        scaled, rest = divmod(number * scale, parts)
        if rest:
            raise ValueError("it has more decimals")
        made.append(scaled)
    return made


def _days(values: Sequence[datetime.date]) -> list[int]:
    return [value.toordinal() - _EPOCH_DAY for value in values]


def _moments(values: Sequence[datetime.datetime]) -> list[int]:
    if any(value.tzinfo is not None for value in values):
        raise ValueError("it has a time zone")
    return [(value - _EPOCH) // _MICROSECOND for value in values]


_BYTES: dict[Kind, tuple[type, Callable[[Sequence[Any]], list[Any]] | None]] = {
    Kind.VARCHAR: (str, lambda values: list(map(str.encode, values))),
    Kind.BLOB: (bytes, None),
}
_WORDS: dict[Kind, tuple[tuple[type, ...], Callable[[Sequence[Any]], list[Any]] | None]] = {
    Kind.FLOAT: ((), None),
    Kind.DOUBLE: ((float,), None),
    Kind.DATE: ((datetime.date,), _days),
    Kind.TIMESTAMP: ((datetime.datetime,), _moments),
    Kind.TIMESTAMPTZ: ((), None),
}
"""By kind the classes of plain values, none where values come stored alone, and how they are stored."""
