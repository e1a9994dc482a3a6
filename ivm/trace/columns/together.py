"""Small batches that are put together: first what lies alike in all, then other columns, so that no commit waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

import numpy as np
import pyarrow as pa

from ivm.catalog.types import Kind, SqlType
from ivm.kernels.memory.exported import BYTES, OFFSET_BYTES, WIDTH
from ivm.kernels.memory.places import ADDRESS, STRIDE, VALIDITY, WORDS
from ivm.kernels.memory.together import put_together
from ivm.trace.columns.arrow import arrow_type
from ivm.trace.columns.batches import FAN, SEALED, Batches
from ivm.trace.columns.column import Ints
from ivm.trace.columns.in_place import is_readable_in, plain
from ivm.trace.columns.segment import in_one

_FEW = 1 << 13
"""Rows that are copied at once."""
_LARGE = 1 << 13
_AT_ONCE, _BY_ARROW = 5, 5
"""How much a step does: a column that was copied counts as one, one that Arrow puts together as so many."""
_NO_ROOM: Ints = np.empty(0, np.int64)


class Together:
    """`FAN` batches of `rows` from number `first` on, of columns of `types`, by their numbers, as they become one."""

    def __init__(self, rows: Batches, first: int, types: Mapping[int, SqlType]) -> None:
        self.first = first
        self.made: Batches | None = None
        """All batches, with those in one, once they are."""
        self.columns: dict[int, pa.Array] = {}
        self.batches = rows.batches[first : first + FAN]
        """Those that become one, of which some are let go of at a time once it is there."""
        self._types = types
        self._places: Ints | None = None
        self._memory: pa.Buffer | None = None
        self._whole: pa.RecordBatch | None = None

    def go_on(self, rows: Batches) -> Batches | None:
        """Do a little of it; what is `made`, at last. It may be interrupted, and called again."""
        if self._places is None:
            self._places = self._copy(rows)
        elif len(self.columns) < len(self._types):
            self._put_columns(rows, self._places)
        elif self._whole is None:
            names = [str(index) for index in self._types]
            self._whole = pa.RecordBatch.from_arrays([self.columns[index] for index in self._types], names=names)
        else:
            level = rows.levels[self.first] + 1 if self._whole.num_rows < _LARGE else SEALED
            place = None if self._memory is None else self._places
            self.made = rows.with_together(self.first, self._whole, level, place)
        return self.made

    def _copy(self, rows: Batches) -> Ints:
        """Copy the columns of few rows that lie alike in all batches; where the copies lie."""
        first, stop = self.first, self.first + FAN
        starts, known = (
            rows.pieces.starts[first : stop + 1],
            [each for each in rows.places[first:stop] if each is not None],
        )
        if len(known) < FAN or starts[-1] - starts[0] > _FEW:
            return np.zeros((max(self._types, default=0) + 1, WORDS), np.int64)
        places: Ints = np.zeros((len(known[0]), WORDS), np.int64)
        columns = np.array([*self._types], np.int64)
        room: Ints = np.empty(put_together(id(known), columns, starts, _NO_ROOM, places) + 7 >> 3, np.int64)
        put_together(id(known), columns, starts, room, places)
        self._memory = pa.py_buffer(room)
        return places

    def _put_columns(self, rows: Batches, places: Ints) -> None:
        """Make some more of the columns."""
        batches, done = self.batches, 0
        count = rows.pieces.start(self.first + FAN) - rows.pieces.start(self.first)
        for at, (index, type_) in enumerate(self._types.items()):
            if index in self.columns:
                continue
            if done >= _AT_ONCE:
                break
            column = None if self._memory is None else _at(places[index].tolist(), self._memory, count, batches[0], at)
            if column is not None and not _is_kept(column, type_):
                places[index] = 0
                column = as_declared(column, type_)
            done += _BY_ARROW if column is None else 1
            self.columns[index] = _whole([each.column(at) for each in batches], type_) if column is None else column


def _at(place: Sequence[int], memory: pa.Buffer, rows: int, like: pa.RecordBatch, at: int) -> pa.Array | None:
    """The column that was copied to a place in memory, in the form of column `at` of a batch; None if none was."""
    begin, stride, width = place[ADDRESS] - memory.address, place[STRIDE], place[WIDTH]
    if stride:
        bits = memory.slice(place[VALIDITY] - memory.address, rows + 7 >> 3) if place[VALIDITY] else None
        items = memory.slice(begin, rows * stride)
        return pa.Array.from_buffers(like.schema.field(at).type, rows, [bits, items], -1 if bits else 0)
    if not place[OFFSET_BYTES]:
        return None
    if width:
        codes, given = memory.slice(begin, rows * width), like.column(at)
        indices = pa.Array.from_buffers(given.type.index_type, rows, [None, codes], 0)
        return pa.DictionaryArray.from_arrays(indices, given.dictionary, ordered=given.type.ordered, safe=False)
    offsets, texts = memory.slice(begin, 4 * (rows + 1)), memory.slice(place[BYTES] - memory.address)
    return pa.Array.from_buffers(like.schema.field(at).type, rows, [None, offsets, texts], 0)


def as_declared(array: pa.Array, type: SqlType) -> pa.Array:
    """The same values as Arrow has the type; the array itself where that is so."""
    if array.type == arrow_type(type):
        return array
    is_narrow = pa.types.is_decimal64(array.type) or pa.types.is_decimal32(array.type)
    return plain(array, type) if is_narrow else array.cast(arrow_type(type))


def _whole(arrays: Sequence[pa.Array], type: SqlType) -> pa.Array:
    """A column in one piece. It is cast as such: for each of its pieces that would cost more than their rows."""
    with suppress(
        pa.ArrowInvalid, pa.ArrowTypeError
    ):  # types differ, or dictionaries have no place in one of their type
        whole = in_one(pa.chunked_array(arrays))
        return whole if _is_kept(whole, type) else as_declared(whole, type)
    return pa.concat_arrays([as_declared(array, type) for array in arrays])


def _is_kept(whole: pa.Array, type: SqlType) -> bool:
    """Whether a column stays in the form in which its pieces came: texts as codes if few differ."""
    if pa.types.is_dictionary(whole.type):
        return type.kind is Kind.VARCHAR and 2 * len(whole.dictionary) <= len(whole)
    return is_readable_in(whole.type, type) or whole.type == arrow_type(type)
