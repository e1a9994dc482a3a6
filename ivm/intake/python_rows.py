"""Rows of plain Python values as Arrow data of a table's own types, without a look at what types they might have else.

That is how most programs hand in a row or a few. All that is not plain (see `ivm.intake.plain_values`) goes the general
way, `ivm.intake.ingest`, which infers types and casts, and knows what to say of what does not fit.

Values are written to where Arrow reads them: to a page, which has room for more rows. Those that came are a slice of
it, and nobody writes to them again.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ivm.catalog.schema import Field
from ivm.catalog.types import Kind, SqlType
from ivm.intake.rooms import ENDS, NOT_PLAIN, WRITTEN, Bytes, FullError, Nullable, Room, room_for
from ivm.kernels.memory.exported import BYTES, OFFSET_BYTES
from ivm.kernels.memory.places import ADDRESS, BIT, SIZE, STRIDE, VALIDITY, WORDS
from ivm.trace.columns.arrow import arrow_type
from ivm.trace.columns.column import Ints
from ivm.trace.columns.exported import Located, stride_of, taken_from
from ivm.trace.columns.stand_ins import enum_labels

MOST_ROWS = 1 << 12
"""Beyond so many rows Arrow is the quicker one, whatever it has to find out."""
_PAGE_ROWS, _FEW, _WIDE = 64, 16, 16
"""Rows of a page, or of one with more than so many columns; so many rows at once are few."""
_ROW_BYTES, _LONG = 16, 1 << 8
"""Bytes of text of a row that a page has room for in each column; with more of them rows have a page for themselves."""
_MOST_BYTES = 2**31 - 1
_UUID_SIZE = 36


class _Column(NamedTuple):
    """A column of a page: its type, and Arrow's, the bytes from a value to the next (see `stride_of`), whether some may
    be NULL, and what makes room for so many rows, and bytes.
    """

    type: SqlType
    arrow: pa.DataType
    stride: int
    nullable: bool
    room: Callable[[int, int], Room]

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
        self._writes: list[Callable[[int, Any, bool], bool]] = []
        self._missing: list[tuple[int, int]] = []
        """Of each column which word of its place says that some value is NULL, and what it says then."""
        first, each = np.zeros((2, len(columns), WORDS), np.int64)
        arrays = []
        for place, column in enumerate(columns):
            room, validity, missing = column.room(most, size), None, (OFFSET_BYTES, 0)
            buffers, stride = room.buffers(), column.stride
            either: Room | Nullable = room
            if column.nullable:
                either = Nullable(room, most)
                (validity,) = either.there.buffers()
            if stride:
                first[place, [ADDRESS, STRIDE, SIZE]] = buffers[0].address, stride, stride
                each[place, [ADDRESS, BIT]] = stride, 1
                missing = (VALIDITY, 0 if validity is None else validity.address)
            elif isinstance(room, Bytes):
                ends, data = buffers
                first[place, [ADDRESS, OFFSET_BYTES, BYTES]] = ends.address, ENDS.itemsize, data.address
                each[place, ADDRESS] = ENDS.itemsize
            self._puts.append(either.put)
            self._writes.append(either.write)
            self._missing.append(missing)
            arrays.append(column.array(most, [validity, *buffers]))
        self._batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
        self._places: Ints = first + each * np.arange(most)[:, None, None] if shared else first[None]

    def add(self, count: int, columns: Sequence[Sequence[Any]], stored: Container[int]) -> Located:
        """Write so many rows behind the others, which there is room for; they are there as soon as all are written.

        See `Room.put`.
        """
        at, missing = self.rows, []
        for place, put in enumerate(self._puts):
            if put(at, columns[place], place in stored):
                missing.append(place)
        return self._added(count, missing)

    def write(self, _: int, values: Sequence[Any], stored: Container[int]) -> Located:
        """As `add`, of one row, by its values."""
        at, missing = self.rows, []
        for place, write in enumerate(self._writes):
            if write(at, values[place], place in stored):
                missing.append(place)
        return self._added(1, missing)

    def _added(self, count: int, missing: Iterable[int]) -> Located:
        """So many rows more are there, which have some NULL in these columns."""
        at = self.rows
        self.rows = at + count
        places = self._places[at]
        for place in missing:
            word, said = self._missing[place]
            places[place, word] = said
        return self._batch.slice(at, count), places


class PlainRows:
    """What makes record batches of `fields`, in their order, of columns of plain values.

    Any number of threads may use it. Cost: a microsecond a batch and a third of one a column, where a page begins
    twenty times that.
    """

    def __init__(self, fields: Sequence[Field], rooms: Sequence[Callable[[int, int], Room]]) -> None:
        self._schema = pa.schema([(field.name, arrow_type(field.type)) for field in fields])
        self._columns = [
            _Column(field.type, given, stride_of(given, field.type), field.nullable, room)
            for given, field, room in zip(self._schema.types, fields, rooms, strict=True)
        ]
        self._texts = [(place, field.type.kind) for place, field in enumerate(fields) if field.type.kind in WRITTEN]
        self._idle: list[_Page] = []

    def batch(self, count: int, columns: Sequence[Sequence[Any]], stored: Container[int] = ()) -> Located | None:
        """A batch of columns of so many values, at least one; None if some are not plain.

        Columns that are `stored` have values in physical form, but for texts.
        """
        if count == 1:
            return self.row([value for (value,) in columns], stored)
        return self._added(_Page.add, count, columns, stored)

    def row(self, values: Sequence[Any], stored: Container[int] = ()) -> Located | None:
        """As `batch`, of one row, by its values."""
        return self._added(_Page.write, 1, values, stored)

    def _added(
        self, add: Callable[[_Page, int, Sequence[Any], Container[int]], Located], count: int, given: Sequence[Any],
        stored: Container[int],
    ) -> Located | None:  # fmt: skip
        page = None
        try:
            page = taken_from(self._idle) if count <= _FEW else None
            if page is not None and page.rows + count <= page.most:
                try:
                    return add(page, count, given, stored)
                except FullError:
                    pass
            page = self._page(count, given if add is _Page.add else [(value,) for value in given])
            return add(page, count, given, stored)
        except NOT_PLAIN:
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
    rooms = [room for field in fields if (room := room_for(field.type)) is not None]
    return PlainRows(fields, rooms) if rooms and len(rooms) == len(fields) else None


def _size(value: Any) -> int:
    """The bytes of a text, or of bytes; none of what is neither."""
    if isinstance(value, str) and not value.isascii():
        return len(value.encode())
    return len(value) if isinstance(value, str | bytes) else 0
