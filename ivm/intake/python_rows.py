"""Rows of plain Python values as Arrow data of a table's own types, without a look at what types they might have else.

That is how most programs hand in a row or a few. All that is not plain (see `ivm.intake.plain_values`) goes the general
way, `ivm.intake.ingest`, which infers types and casts, and knows what to say of what does not fit.

Values are written to where Arrow reads them: to a page, which has room for more rows. Those that came are a slice of
it, and nobody writes to them again.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from struct import Struct
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ivm.catalog.json_texts import is_json
from ivm.catalog.schema import Field
from ivm.catalog.types import MAX_DIGITS, Kind, SqlType
from ivm.intake.plain_values import Makers, makers_of
from ivm.kernels.memory.exported import BYTES, OFFSET_BYTES
from ivm.kernels.memory.places import ADDRESS, BIT, SIZE, STRIDE, VALIDITY, WORDS
from ivm.trace.columns.arrow import arrow_type, item_of
from ivm.trace.columns.column import Array, Ints
from ivm.trace.columns.exported import Located, stride_of, taken_from
from ivm.trace.columns.stand_ins import enum_labels

MOST_ROWS = 1 << 12
"""Beyond so many rows Arrow is the quicker one, whatever it has to find out."""
_PAGE_ROWS, _FEW, _WIDE = 64, 16, 16
"""Rows of a page, or of one with more than so many columns; so many rows at once are few."""
_ROW_BYTES, _LONG = 16, 1 << 8
"""Bytes of text of a row that a page has room for in each column; with more of them rows have a page for themselves."""
_MOST_BYTES = 2**31 - 1
_ENDS = np.dtype(np.int32)
_UUID_SIZE = 36
_PAIR, _LOW = 16, (1 << 64) - 1
_pack = Struct("<Qq").pack_into
_NOT_PLAIN = ValueError, OverflowError, KeyError
"""What a value raises that is not written here: its type is no plain one (see `Makers`), or it does not fit."""


class _FullError(Exception):
    """Bytes do not go into the room that there is."""


class _Numbers:
    """Room in a page for a column of numbers of one size, of values that are made into them."""

    def __init__(self, items: Array, makers: Makers) -> None:
        self._items, self._makers = items, makers

    def put(self, at: int, values: Sequence[Any], is_stored: bool) -> bool:
        """Write values, at least one, from row `at` on: in physical form if that `is_stored`; whether some are NULL.

        One of `_NOT_PLAIN` where a value is not plain, or does not fit; _FullError where the room does not do.
        """
        if len(values) == 1 and not is_stored:
            (value,) = values
            make = self._makers[type(value)]
            self._items[at] = value if make is None else make(value)
            return False
        if not is_stored:
            values = _made(values, self._makers)
        elif None in values:
            raise ValueError("it is NULL")
        elif len(values) == 1:
            self._items[at] = values[0]
            return False
        self._items[at : at + len(values)] = np.array(values, self._items.dtype)
        return False

    def skip(self, at: int) -> None:
        """Row `at` has no value."""
        self._items[at] = 0

    def buffers(self) -> list[pa.Buffer]:
        """What Arrow is to read."""
        return [pa.py_buffer(self._items)]


class _Pairs:
    """Room for numbers of 128 bits that stay below a bound."""

    def __init__(self, rows: int, makers: Makers, bound: int) -> None:
        self._bytes = bytearray(_PAIR * rows)
        self._makers, self._bound = makers, bound

    def put(self, at: int, values: Sequence[Any], is_stored: bool) -> bool:
        """See `_Numbers.put`."""
        bound = self._bound
        for number in values if is_stored else _made(values, self._makers):
            if number is None or not -bound < number < bound:
                raise OverflowError(number)
            _pack(self._bytes, _PAIR * at, number & _LOW, number >> 64)
            at += 1
        return False

    def skip(self, at: int) -> None:
        """See `_Numbers.skip`."""
        _pack(self._bytes, _PAIR * at, 0, 0)

    def buffers(self) -> list[pa.Buffer]:
        """See `_Numbers.buffers`."""
        return [pa.py_buffer(self._bytes)]


class _Bits:
    """Room for truth values, or for which values are there."""

    def __init__(self, rows: int) -> None:
        self._bits = bytearray(rows + 7 >> 3)

    def put(self, at: int, values: Sequence[Any], is_stored: bool) -> bool:
        """See `_Numbers.put`."""
        bits = self._bits
        for place, value in enumerate(values, at):
            if type(value) is not bool:
                raise ValueError(value)
            bit = 1 << (place & 7)
            bits[place >> 3] = bits[place >> 3] & ~bit | (bit if value else 0)
        return False

    def fill(self, at: int, count: int) -> None:
        """So many are true from `at` on."""
        for place in range(at, at + count):
            self._bits[place >> 3] |= 1 << (place & 7)

    def skip(self, at: int) -> None:
        """See `_Numbers.skip`."""
        self.put(at, (False,), True)

    def buffers(self) -> list[pa.Buffer]:
        """See `_Numbers.buffers`."""
        return [pa.py_buffer(self._bits)]


class _Bytes:
    """Room for texts or strings of bytes, one after the other."""

    def __init__(self, rows: int, size: int, makers: Makers) -> None:
        self._ends = np.zeros(rows + 1, _ENDS).data
        self._bytes, self._size = memoryview(bytearray(size)), size
        self._makers = makers

    def put(self, at: int, values: Sequence[Any], is_stored: bool) -> bool:
        """See `_Numbers.put`; what is in physical form otherwise is a text here."""
        ends, begin = self._ends, self._ends[at]
        for value in _made(values, self._makers):
            given = value.encode() if isinstance(value, str) else value
            end = begin + len(given)
            if end > self._size:
                raise _FullError
            self._bytes[begin:end] = given
            at += 1
            ends[at] = begin = end
        return False

    def skip(self, at: int) -> None:
        """See `_Numbers.skip`."""
        self._ends[at + 1] = self._ends[at]

    def buffers(self) -> list[pa.Buffer]:
        """See `_Numbers.buffers`."""
        return [pa.py_buffer(self._ends), pa.py_buffer(self._bytes)]


_Room = _Numbers | _Pairs | _Bits | _Bytes


class _Nullable:
    """Room for values of which some may be NULL."""

    def __init__(self, room: _Room, rows: int) -> None:
        self._room, self.there = room, _Bits(rows)

    def put(self, at: int, values: Sequence[Any], is_stored: bool) -> bool:
        """See `_Numbers.put`."""
        there = [value is not None for value in values]  # `None in values` would ask values of any class
        if False not in there:
            self.there.fill(at, len(values))
            return self._room.put(at, values, is_stored)
        self.there.put(at, there, True)
        for place, value in enumerate(values, at):
            if value is None:
                self._room.skip(place)
            else:
                self._room.put(place, (value,), is_stored)
        return True


class _Column(NamedTuple):
    """A column of a page: its type, and Arrow's, the bytes from a value to the next (see `stride_of`), whether some may
    be NULL, and what makes room for so many rows, and bytes.
    """

    type: SqlType
    arrow: pa.DataType
    stride: int
    nullable: bool
    room: Callable[[int, int], _Room]

    def array(self, rows: int, buffers: Sequence[pa.Buffer | None]) -> pa.Array:
        """An array over these buffers."""
        if self.type.kind is not Kind.ENUM:
            return pa.Array.from_buffers(self.arrow, rows, buffers)
        places = pa.Array.from_buffers(self.arrow.index_type, rows, buffers)
        return pa.DictionaryArray.from_arrays(places, enum_labels(self.type))


class _Page:
    """An Arrow record batch of which the first `rows` rows are there, and where its columns lie (see `Located`)."""

    def __init__(self, schema: pa.Schema, columns: Sequence[_Column], most: int, size: int, *, shared: bool) -> None:
        self.rows, self.most, self.is_shared = 0, most, shared
        self._puts: list[Callable[[int, Sequence[Any], bool], bool]] = []
        self._missing: list[tuple[int, int]] = []
        """Of each column which word of its place says that some value is NULL, and what it says then."""
        first, each = np.zeros((2, len(columns), WORDS), np.int64)
        arrays = []
        for place, column in enumerate(columns):
            room, validity, missing = column.room(most, size), None, (OFFSET_BYTES, 0)
            buffers, put, stride = room.buffers(), room.put, column.stride
            if column.nullable:
                either = _Nullable(room, most)
                put, (validity,) = either.put, either.there.buffers()
            if stride:
                first[place, [ADDRESS, STRIDE, SIZE]] = buffers[0].address, stride, stride
                each[place, [ADDRESS, BIT]] = stride, 1
                missing = (VALIDITY, 0 if validity is None else validity.address)
            elif isinstance(room, _Bytes):
                ends, data = buffers
                first[place, [ADDRESS, OFFSET_BYTES, BYTES]] = ends.address, _ENDS.itemsize, data.address
                each[place, ADDRESS] = _ENDS.itemsize
            self._puts.append(put)
            self._missing.append(missing)
            arrays.append(column.array(most, [validity, *buffers]))
        self._batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
        self._places: Ints = first + each * np.arange(most)[:, None, None] if shared else first[None]

    def add(self, count: int, columns: Iterable[Sequence[Any]], stored: Container[int]) -> Located:
        """Write so many rows behind the others, which there is room for; they are there as soon as all are written.

        See `_Numbers.put`.
        """
        at = self.rows
        missing: list[int] = []
        puts = self._puts
        for place, values in enumerate(columns):
            if puts[place](at, values, place in stored):
                missing.append(place)
        self.rows = at + count
        places = self._places[at]
        for place in missing:
            word, said = self._missing[place]
            places[place, word] = said
        return self._batch.slice(at, count), places


class _Json(_Bytes):
    """Room for texts that are JSON to everybody."""

    def put(self, at: int, values: Sequence[Any], is_stored: bool) -> bool:
        """See `_Numbers.put`."""
        if not all(type(value) is str and is_json(value) for value in values):
            raise ValueError("it takes DuckDB to say whether this is JSON")
        return super().put(at, values, is_stored)


class PlainRows:
    """What makes record batches of `fields`, in their order, of columns of plain values.

    Any number of threads may use it. Cost: a microsecond a batch and a third of one a column, where a page begins
    twenty times that.
    """

    def __init__(self, fields: Sequence[Field], rooms: Sequence[Callable[[int, int], _Room]]) -> None:
        self._schema = pa.schema([(field.name, arrow_type(field.type)) for field in fields])
        self._columns = [
            _Column(field.type, given, stride_of(given, field.type), field.nullable, room)
            for given, field, room in zip(self._schema.types, fields, rooms, strict=True)
        ]
        self._texts = [(place, field.type.kind) for place, field in enumerate(fields) if field.type.kind in _BYTES]
        self._idle: list[_Page] = []

    def batch(self, count: int, columns: Sequence[Sequence[Any]], stored: Container[int] = ()) -> Located | None:
        """A batch of columns of so many values, at least one; None if some are not plain.

        Columns that are `stored` have values in physical form, but for texts.
        """
        page = None
        try:
            page = taken_from(self._idle) if count <= _FEW else None
            if page is not None and page.rows + count <= page.most:
                try:
                    return page.add(count, columns, stored)
                except _FullError:
                    pass
            page = self._page(count, columns)
            return page.add(count, columns, stored)
        except _NOT_PLAIN:
            return None
        finally:
            if page is not None and page.is_shared and page.rows < page.most:
                self._idle.append(page)

    def _page(self, count: int, columns: Sequence[Sequence[Any]]) -> _Page:
        """One that these rows fit in, and more like them if they are few and short."""
        size = sum(_UUID_SIZE if kind is Kind.UUID else _size(v) for place, kind in self._texts for v in columns[place])
        if size > _MOST_BYTES:
            raise OverflowError(size)
        shared, rows = count <= _FEW and size <= _LONG, _PAGE_ROWS if len(self._columns) <= _WIDE else _FEW
        most, room = (rows, _ROW_BYTES * rows) if shared else (count, size)
        return _Page(self._schema, self._columns, most, room, shared=shared)


def plain_rows(fields: Sequence[Field]) -> PlainRows | None:
    """What makes batches of these fields; None if values of one of their types are not written here."""
    rooms = [room for field in fields if (room := _room_for(field.type)) is not None]
    return PlainRows(fields, rooms) if rooms and len(rooms) == len(fields) else None


def _room_for(type_: SqlType) -> Callable[[int, int], _Room] | None:
    kind, makers = type_.kind, makers_of(type_)
    if kind is Kind.BOOLEAN:
        return lambda rows, _: _Bits(rows)
    if makers is None:
        return None
    if kind in (Kind.DECIMAL, Kind.HUGEINT):
        bound = 10 ** (type_.precision if kind is Kind.DECIMAL else MAX_DIGITS)
        return lambda rows, _: _Pairs(rows, makers, bound)
    if kind in _BYTES:
        room = _Json if kind is Kind.JSON else _Bytes
        return lambda rows, size: room(rows, size, makers)
    given = arrow_type(type_)
    dtype = np.dtype(item_of(given.index_type if kind is Kind.ENUM else given))
    return lambda rows, _: _Numbers(np.zeros(rows, dtype), makers)


def _made(values: Sequence[Any], makers: Makers) -> Sequence[Any]:
    """The stored forms of values; one of `_NOT_PLAIN` where one is not plain."""
    if len(values) == 1:
        (value,) = values
        make = makers[type(value)]
        return values if make is None else (make(value),)
    kinds = set(map(type, values))
    if len(kinds) > 1:
        made = {kind: makers[kind] for kind in kinds}
        return [value if (make := made[type(value)]) is None else make(value) for value in values]
    (kind,) = kinds
    make = makers[kind]
    return values if make is None else list(map(make, values))


def _size(value: Any) -> int:
    """The bytes of a text, or of bytes; none of what is neither."""
    if isinstance(value, str) and not value.isascii():
        return len(value.encode())
    return len(value) if isinstance(value, str | bytes) else 0


_BYTES = (Kind.VARCHAR, Kind.JSON, Kind.BLOB, Kind.UUID)
