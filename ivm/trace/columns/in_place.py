"""Columns of numbers, dates and timestamps that are read where their Arrow batches lie, without a copy."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np
import pyarrow as pa

from ivm.catalog.types import MAX_NARROW_DIGITS, Kind, Physical, SqlType
from ivm.kernels.memory.in_place import COUNT, PAGE_BITS, PAGES, PIECES_OF, STARTS, gather_bits, gather_items
from ivm.kernels.memory.places import ADDRESS, PIECES, ROOM, SIZE, STRIDE, VALID_ROOM, VALIDITY, WORDS
from ivm.trace.columns.arrow import arrow_type, is_direct, numbers_from, to_arrow, to_column, view_at
from ivm.trace.columns.column import DTYPES, Array, Column, Ints, readonly
from ivm.trace.columns.growable import Growable
from ivm.trace.text.dictionary import TextDictionary

_READABLE = (
    *(Kind.INTEGER, Kind.BIGINT, Kind.HUGEINT, Kind.DECIMAL, Kind.DOUBLE, Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ),
    *(Kind.TIMESTAMP_S, Kind.TIMESTAMP_MS, Kind.TIMESTAMP_NS, Kind.TIME),
)
_PAGE = 1 << PAGE_BITS
_NO_TEXT = TextDictionary()
_MOST_SHORT, _MOST_LONG = 1 << 7, 1 << 15
_SHORT_DIGITS, _WORD_BITS = 9, 64


def is_readable(type: SqlType) -> bool:
    """Whether the values of a column of this type have their physical form in an Arrow array."""
    return type.kind in _READABLE


def is_readable_in(given: pa.DataType, type: SqlType) -> bool:
    """Whether the values of an array of type `given` have the physical form of a column of this type."""
    return is_readable(type) and is_direct(given, type)


_NO_PIECES: Ints = readonly(np.zeros(1, np.int64))
_NOWHERE: Ints = np.zeros(WORDS, np.int64)
"""The place of columns that nobody was told of."""


class Pieces:
    """Where the batches of a store begin, by row number. Size: 8 bytes a batch, 4 bytes for each 1024 rows.

    `block` tells kernels where pages and starts are (see `ivm.kernels.memory.places`), and how many pieces there are,
    which nobody else keeps.
    """

    def __init__(self, starts: Ints = _NO_PIECES) -> None:
        self.block: Ints = np.zeros(PIECES_OF, np.int64)
        self.address: int = self.block.ctypes.data
        self._pages: Growable[np.int32] = Growable(np.dtype(np.int32), block=self.block, at=PAGES, behind=2)
        self._starts: Growable[np.int64] = Growable(np.dtype(np.int64), block=self.block, at=STARTS, behind=2)
        self._starts.append(starts)
        self.block[COUNT] = len(starts) - 1

    def __len__(self) -> int:
        return self.block.item(COUNT)

    @property
    def rows(self) -> int:
        """The rows of all pieces."""
        return self.start(len(self))

    @property
    def starts(self) -> Ints:
        """The first row of each piece, and behind the last one the number of rows, int64 (pieces + 1,)."""
        return self._starts.array[: len(self) + 1]

    @property
    def arguments(self) -> tuple[Any, Any]:
        """`pages` and `starts`, as kernels find the piece of a row."""
        return self._pages.array, self._starts.array

    def start(self, piece: int) -> int:
        """The first row of a piece."""
        return self._starts.array.item(piece)

    def first(self, pieces: int) -> Pieces:
        """The first `pieces`, which do not change when these do."""
        return _pieces(self._starts.array[: pieces + 1])

    def joined(self, first: int, count: int) -> Pieces:
        """The same rows, where `count` pieces from number `first` on are one."""
        before, page = self.starts, _pages_before(self.start(first))
        made = Pieces(np.concatenate([before[: first + 1], before[first + count :]]))
        made._pages.append(self._pages.array[: _pages_before(self.rows)])
        rest = made._pages.view()[page:]  # these begin in one of those pieces, or behind them
        np.maximum(rest - (count - 1), first, out=rest)
        return made

    def push(self, rows: int) -> None:
        """One more piece, of so many rows, at least one."""
        self.make_room(rows)
        piece, before = len(self), self.rows
        self._starts.array[piece + 1] = before + rows
        self._pages.array[_pages_before(before) : _pages_before(before + rows)] = piece
        self.block[COUNT] = piece + 1

    def make_room(self, rows: int) -> None:
        """Room for one more piece, of so many rows."""
        self._starts.length, self._pages.length = len(self) + 1, _pages_before(self.rows)
        self._starts.reserve(len(self) + 2)
        self._pages.reserve(_pages_before(self.rows + rows))

    def truncate(self, pieces: int) -> None:
        """Forget all but the first `pieces`."""
        self.block[COUNT] = min(len(self), pieces)

    def piece_of(self, row: int) -> int:
        """The piece that a row lies in."""
        first, stop = self._pages.array.item(row >> PAGE_BITS), len(self) + 1
        return bisect_right(self._starts.array, row, first, stop) - 1


class InPlace:
    """A column of `type`, for which `is_readable`, over the arrays of `pieces`, which its owner keeps alive.

    BIGINT and decimals of at most 18 digits take as many bytes each as in the first array: 4, 8, or 16 of decimals.
    Values under NULL read as zero. Size: 8 bytes a piece, 24 where some values are NULL.
    """

    def __init__(self, type: SqlType, pieces: Pieces) -> None:
        self._type = type
        self.pieces = pieces
        self._wide = type.physical is Physical.WIDE
        self._dtype = DTYPES[type.physical]
        self._arrow = arrow_type(type)
        self.stride = self._arrow.bit_width // 8
        self._least = 0
        self._read: pa.DataType | None = None
        self._bases: Growable[np.int64] = Growable(np.dtype(np.int64))
        self._maps: Growable[np.int64] = Growable(np.dtype(np.int64), 2)
        self._place: Ints | None = None

    def __len__(self) -> int:
        return self._bases.length

    @property
    def growing(self) -> list[Growable[np.int64]]:
        """What is as long as there are pieces."""
        return [self._bases, self._maps] if self._maps.length else [self._bases]

    @property
    def _is_short(self) -> bool:
        """Whether values lie there as int32 though their form is int64."""
        return self.stride < self._dtype.itemsize

    def tell(self, place: Ints) -> None:
        """From now on `place` tells where the arrays are that were added; a column without any has no stride there."""
        if self._place is not place:
            place[STRIDE] = 0
            self._bases.tell(place, ADDRESS, ROOM - ADDRESS)
            place[VALIDITY] = 0
            place[PIECES] = self.pieces.address
            self._place = place
        if self._maps.length:
            self._maps.fill(0, len(self))
            if not place[VALIDITY]:
                self._maps.tell(place, VALIDITY, VALID_ROOM - VALIDITY)
        else:
            place[VALIDITY] = 0
        place[SIZE], place[STRIDE] = self.stride, self.stride if len(self) else 0

    def add(self, array: pa.Array) -> pa.Array | None:
        """The array of the next piece; the one to be kept alive for it, which is another if this one does not fit.

        An array fits if its values have the form there that they have in the first one. None, and nothing is done, if
        some value takes more bytes than that has; see `wider`. Cost: constant, else a pass.
        """
        given, made = array.type, array
        if given is not self._read:
            direct = is_direct(given, self._type)
            if direct and not self._wide and not len(self) and given.bit_width >= self._least:
                self._arrow, self.stride = given, given.bit_width // 8
            if given == self._arrow or (direct and given.bit_width == self._arrow.bit_width):
                self._read = given
            else:
                made = self._made_anew(array)
        if made is not None and made.buffers()[1] is None:
            made = self._made_anew(array)
        if made is None:
            return None
        piece, (validity, data) = len(self), made.buffers()
        if validity is not None and made.null_count:
            self._maps.truncate(piece)
            self._maps.fill(0, piece)
            self._maps.append(np.array([[validity.address, made.offset]]))
        self._bases.fill(data.address + (made.offset - self.pieces.start(piece)) * self.stride, piece + 1)
        return made

    def add_at(self, places: Ints, index: int) -> bool:
        """As `add`, of an array behind the first one that lies at a place, if it fits as it is, and none is NULL."""
        bases, stride = self._bases, self.stride
        piece = bases.length
        if places.item(index, STRIDE) != stride or places.item(index, VALIDITY) or not piece:
            return False
        bases.push(places.item(index, ADDRESS) - self.pieces.start(piece) * stride)
        if self._maps.length and self._place is not None:
            self._maps.fill(0, piece + 1)
        return True

    def tells(self, rows: int) -> bool:
        """Whether what `tell` was given tells where the first `rows` rows lie."""
        place = self._place
        return place is not None and place.item(STRIDE) != 0 and self.pieces.start(self._bases.length) >= rows

    def wider(self) -> InPlace:
        """The same column without any array yet, of at least 8 bytes a value, as every value of it fits."""
        made = InPlace(self._type, self.pieces)
        made._least = _WORD_BITS
        if pa.types.is_decimal(made._arrow):
            made._arrow = pa.decimal64(self._type.precision, self._type.scale)
            made.stride = made._arrow.bit_width // 8
        return made

    def truncate(self, pieces: int) -> None:
        """Forget all but the first `pieces` arrays."""
        self._bases.truncate(pieces)
        self._maps.truncate(pieces)

    def can_join(self, end: int, whole: pa.Array) -> bool:
        """Whether an array fits as it is in the place of several before number `end`, all of which are there."""
        fits = is_direct(whole.type, self._type) and whole.type.bit_width == 8 * self.stride
        return fits and len(self) >= end and whole.buffers()[1] is not None

    def join(self, first: int, count: int, whole: pa.Array | None, pieces: Pieces) -> None:
        """Let an array stand in the place of `count` others from number `first` on, over other pieces that say so.

        None: those from there on are forgotten. Whoever was told where the others lie finds the same values all along.
        """
        lengths, place = (self._bases.length, self._maps.length), _NOWHERE if self._place is None else self._place
        if whole is not None and lengths[1]:
            self._maps.fill(0, lengths[0])
        self.truncate(first)  # so that what is interrupted is looked at again
        if whole is None:
            place[PIECES], self.pieces = pieces.address, pieces
            return
        validity, data = whole.buffers()
        base, gap = data.address + (whole.offset - pieces.start(first)) * self.stride, (0, 0)
        if whole.null_count:
            gap = validity.address, whole.offset
        last, new, b, m = lengths[0] - count + 1, slice(first, first + 1), self._bases.array, self._maps.array
        to, rest, told = slice(first + 1, last), slice(first + count, lengths[0]), pieces.address
        # In one line, for nothing is raised between stores: kernels find the old pieces with what is of them, or these.
        b[first], b[to], m[new], m[to], place[PIECES], self.pieces = base, b[rest], gap, m[rest], told, pieces
        self._bases.length, self._maps.length = last, last if lengths[1] else 0

    def first(self, count: int, pieces: Pieces) -> InPlace:
        """The first `count` of these arrays, over other pieces that agree with these so far."""
        made = InPlace(self._type, pieces)
        made._arrow, made.stride, made._least = self._arrow, self.stride, self._least
        made._read = self._read
        made._bases.append(self._bases.view()[:count])
        made._maps.append(self._maps.view()[:count])
        return made

    def gather(self, rows: Array) -> Column:
        """The values of `rows`. Cost: one random access a row, as of an array in one piece."""
        pages, starts = self.pieces.arguments
        rows = np.ascontiguousarray(rows, np.int64)
        values: Any = np.empty((len(rows), 2) if self._wide else len(rows), self._dtype)
        # What is copied are bits, whatever they stand for: one kernel for all items of a size.
        items = values
        if self._wide:
            items = values.view(np.complex128).reshape(-1)
        elif self._dtype == np.float64:
            items = values.view(np.int64)
        elif self._is_short:
            items = np.empty(len(rows), np.int32)
        gather_items(pages, starts, self._bases.array, self.stride, rows, items)
        if self._is_short:
            values[...] = items
        if not self._maps.length:
            return Column(values)
        self._maps.fill(0, len(self))
        valid = np.empty(len(rows), np.bool_)
        gather_bits(pages, starts, self._maps.array, rows, valid)
        values[~valid] = 0
        return Column(values, valid)

    def _made_anew(self, array: pa.Array) -> pa.Array | None:
        made = plain(array, self._type)
        if not self._is_short:
            return narrow(made) if pa.types.is_decimal64(self._arrow) else made
        try:
            return made.cast(short_type(made.type))
        except pa.ArrowInvalid:
            return None


def narrow(array: pa.Array, *, short: bool = False) -> pa.Array:
    """The same values in the least bytes in which a table reads them as quickly; the array itself, where that is so.

    Decimals of at most 18 digits take 8 bytes each, indexes of a dictionary one or two where they fit; `short`: these
    decimals, and BIGINT, are known to fit into 4, pa.ArrowInvalid where one does not. Cost: a pass.
    """
    given = array.type
    if pa.types.is_dictionary(given):
        return _with_short_indexes(array)
    if pa.types.is_int64(given):
        return array.cast(short_type(given)) if short else array
    if not pa.types.is_decimal128(given) or given.precision > MAX_NARROW_DIGITS:
        return array
    target = short_type(given) if short else pa.decimal64(given.precision, given.scale)
    if array.null_count or not len(array):
        return array.cast(target)
    words = view_at(array, array.buffers()[1].address + 16 * array.offset, "<i8", (len(array),), (16,))
    numbers = numbers_from(words)
    return pa.Array.from_buffers(target, len(array), (numbers.cast(pa.int32()) if short else numbers).buffers(), 0)


def short_type(given: pa.DataType) -> pa.DataType:
    """The type of 4 bytes for BIGINT or decimals whose values fit there."""
    return pa.decimal32(min(given.precision, _SHORT_DIGITS), given.scale) if pa.types.is_decimal(given) else pa.int32()


def plain(array: pa.Array, type: SqlType) -> pa.Array:
    """The array of a column for which `is_readable` as Arrow has its type. Cost: a pass."""
    return to_arrow(to_column(array, type, _NO_TEXT), type, _NO_TEXT.now())


def _with_short_indexes(array: pa.DictionaryArray) -> pa.Array:
    indexes, texts = array.indices, array.dictionary
    short = pa.int8() if len(texts) <= _MOST_SHORT else pa.int16() if len(texts) <= _MOST_LONG else indexes.type
    if indexes.type.bit_width <= short.bit_width:
        return array
    return pa.DictionaryArray.from_arrays(indexes.cast(short), texts, ordered=array.type.ordered, safe=False)


def _pieces(starts: Ints) -> Pieces:
    made = Pieces(starts)
    firsts = np.arange(_pages_before(made.rows), dtype=np.int64) << PAGE_BITS
    made._pages.append((np.searchsorted(starts, firsts, side="right") - 1).astype(np.int32))
    return made


def _pages_before(row: int) -> int:
    """How many pages begin before a row."""
    return (row + _PAGE - 1) >> PAGE_BITS
