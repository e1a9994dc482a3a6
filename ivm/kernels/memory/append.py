"""Rows copied to the end of columns, of all in one call. See `ivm.kernels.memory.places` for both.

`reads` int64 (columns, 2) tells of each column in which of the sources it is read that rows come from, and under which
number there; NOTHING comes to a column, which is left alone, where that is below zero.

`given` int64 has the length so far; how many rows come, and their time; the `id` of their times and of their diffs, 0
where they have all that time, or one; the `id` of a list of sources (see `places.lay_sources`), and that of None. The
sources are written down behind that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import operation, part
from ivm.kernels.memory.at import address_of, data_of, ints_at, load, scratch, stride_of
from ivm.kernels.memory.places import (
    ADDRESS,
    BIT,
    PIECES,
    SIZE,
    SOURCE,
    STRIDE,
    UNREADABLE,
    VALIDITY,
    WORDS,
    integer_at,
    lay_sources,
    locate,
    place_of,
    references_of,
    told,
)
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Ints

LENGTH, ROWS, TIME, TIMES, DIFFS, LISTED, NONE = range(7)
GIVEN = 7
"""The words of `given`, and how many there are before the sources."""
NOTHING = -1
DONE, NO_MASK = -1, -16
"""What is said where all can be done; and for the last column, for those before it further down, where NULL comes to it
and it has no mask. UNREADABLE: some column cannot be read where it lies.
"""
_BLOCK = 256
_scratch: Any = scratch(2 * _BLOCK)
_memcpy: Any = cgutils.raw_memcpy


@operation(types.void, types.int64, None)
def store(builder: Any, address: Any, value: Any) -> None:
    """Write an item to an address, wherever it begins."""
    builder.store(value, builder.inttoptr(address, value.type.as_pointer()), align=1)


@operation(types.void, types.int64, types.int64, types.intp)
def copy_bytes(builder: Any, to: Any, source: Any, count: Any) -> None:
    """Copy bytes from an address to another one; they do not overlap."""
    _memcpy(builder, builder.inttoptr(to, cgutils.voidptr_t), builder.inttoptr(source, cgutils.voidptr_t), count, 1)


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def append_updates(columns: Ints, reads: Ints, given: Ints) -> Word:
    """Copy updates behind what is there, where there is room; how many diffs are below zero, or what is wrong.

    The last two columns are times and diffs. Nothing is done if a column has no mask for its NULLs, or UNREADABLE.
    """
    if not laid(reads, given, 0):
        return np.int64(UNREADABLE)
    times, time_step = _lies(given[TIMES])
    diffs, diff_step = _lies(given[DIFFS])
    return add_updates(
        columns, reads, address_of(given) + 8 * GIVEN, given[LENGTH], given[ROWS], given[TIME], times, time_step, diffs,
        diff_step,
    )  # fmt: skip


@part()
def _lies(array: Word) -> tuple[Word, Word]:
    """Where the items of an array of numpy lie, of which this is the `id`, and how far apart; zeros of none."""
    if array == 0:
        return np.int64(0), np.int64(0)
    return data_of(array), stride_of(array, 0)


@part()
def add_updates(
    columns: Ints, reads: Ints, sources: Word, length: Word, rows: Word, time: Word, times: Word, time_step: Word,
    diffs: Word, diff_step: Word,
) -> Word:  # fmt: skip
    """What `append_updates` does, of sources that stand at an address.

    So do times and diffs, int64 so many bytes apart; 0: all have this time, or are one.
    """
    count = len(columns) - 2
    reads = reads[:count]
    wrong = lacking(columns[:count], reads, sources)
    if wrong != DONE:
        return wrong
    append_all(columns[:count], reads, sources, length, rows)
    _numbers(columns[count, ADDRESS] + 8 * length, rows, times, time_step, time)
    to = columns[count + 1, ADDRESS] + 8 * length
    _numbers(to, rows, diffs, diff_step, np.int64(1))
    retracted = np.int64(0)
    if diffs != 0:
        for row in range(rows):
            retracted += np.int64(load(to + 8 * row, np.int64(0)) < 0)
    return retracted


@part()
def _numbers(to: Word, rows: Word, source: Word, stride: Word, each: Word) -> None:
    """Copy int64 that lie at an address, so many bytes apart, or `each` so often if that is 0."""
    if source == 0:
        _fill(to, rows, 8, each)
        return
    for row in range(rows):
        store(to + 8 * row, load(source + stride * row, np.int64(0)))


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def copy_rows(source: Ints, rows: Ints, columns: Ints, room: Ints, places: Ints) -> None:
    """Copy `rows` of these columns of those that lie at `source` (columns, WORDS), as far as they can be read.

    They come into `room`, and `places` tell where each copy lies, whose items are of the same size. Others have no
    stride there, if they had none.
    """
    to, references, count = address_of(room), address_of(rows), len(rows)
    for c in columns:
        if source[c, STRIDE] == 0:
            continue
        to = lay(places[c], to, source[c, SIZE], count, source[c, VALIDITY] != 0)
        _gather(places[c], address_of(source[c]), references, np.int64(0), count)


@part()
def lay(place: Ints, to: Word, size: Word, rows: Word, may_be_missing: bool) -> Word:
    """Write down that so many items of a size lie from an address on, one behind the other, and behind them bytes that
    say which are NULL, if some may be. The address behind all that.
    """
    place[ADDRESS], place[STRIDE], place[SIZE], place[PIECES] = to, size, size, 0
    place[VALIDITY], place[BIT] = 0, -1
    to += (size * rows + 7) >> 3 << 3
    if may_be_missing:
        place[VALIDITY] = to
        to += (rows + 7) >> 3 << 3
    return to


@part()
def laid(reads: Ints, given: Ints, least: Word) -> bool:
    """Write the sources down, `least` or more; False if some cannot be read."""
    count = np.int64(least)
    for c in range(len(reads)):
        count = max(count, reads[c, 0] + 1)
    return lay_sources(given[LISTED], given[NONE], given[GIVEN : GIVEN + SOURCE * count])


@part()
def lacking(columns: Ints, reads: Ints, sources: Word) -> Word:
    """DONE, UNREADABLE, or what says which column has no mask."""
    wrong = np.int64(DONE)
    for c in range(len(reads)):
        if reads[c, 0] < 0:
            continue
        place = place_of(sources, reads[c, 0], reads[c, 1])
        if told(place, STRIDE) == 0:
            return np.int64(UNREADABLE)
        if columns[c, VALIDITY] == 0 and told(place, VALIDITY) != 0:
            wrong = np.int64(NO_MASK - c)
    return wrong


@part()
def append_all(columns: Ints, reads: Ints, sources: Word, length: Word, rows: Word) -> None:
    """Copy the values that come to each column, and which of them are NULL."""
    for c in range(len(reads)):
        source = reads[c, 0]
        if source < 0:
            continue
        place, references = place_of(sources, source, reads[c, 1]), references_of(sources, source)
        has_bytes = told(place, VALIDITY) == 0 or told(place, BIT) == -1
        if references == 0 and told(place, PIECES) == 0 and has_bytes:
            _append(columns[c], ints_at(place, WORDS), length, rows)
        else:
            _gather(columns[c], place, references, length, rows)


@part()
def _gather(column: Ints, place: Word, references: Word, length: Word, rows: Word) -> None:
    """Copy the values of the rows that are referred to; NULL is zero."""
    width, mask, scratched = column[STRIDE], column[VALIDITY], _scratch()
    for first in range(0, rows, _BLOCK):
        count = min(rows - first, _BLOCK)
        at, missing = ints_at(scratched, count), ints_at(scratched + 8 * _BLOCK, count)
        for row in range(count):
            missing[row] = 0
        size = locate(place, references, first, at, missing)
        to = column[ADDRESS] + (length + first) * width
        if width == 16:
            for row in range(count):
                store(to + 16 * row, load(at[row], np.int64(0)))
                store(to + 16 * row + 8, load(at[row] + 8, np.int64(0)))
        elif width == 8:
            for row in range(count):
                store(to + 8 * row, integer_at(at[row], size))
        elif width == 4:
            for row in range(count):
                store(to + 4 * row, np.int32(integer_at(at[row], size)))
        else:
            for row in range(count):
                store(to + row, np.uint8(integer_at(at[row], size) != 0))
        if mask != 0:
            for row in range(count):
                if missing[row] != 0:
                    for byte in range(width):
                        store(to + row * width + byte, np.uint8(0))
                store(mask + length + first + row, np.uint8(missing[row] == 0))


@part(inline=True)
def _fill(to: Word, rows: Word, each: Word, item: Any) -> None:
    for row in range(rows):
        store(to + row * each, item)


@part()
def _append(column: Ints, coming: Ints, length: Word, rows: Word) -> None:
    """Copy the values that come to a column, and which of them are NULL, which bytes side by side say."""
    source, stride, size = coming[ADDRESS], coming[STRIDE], coming[SIZE]
    width = column[STRIDE]
    to = column[ADDRESS] + length * width
    if size == width and stride == size:
        copy_bytes(to, source, size * rows)
    elif width == 16:
        for row in range(rows):
            store(to + 16 * row, load(source + stride * row, np.int64(0)))
            store(to + 16 * row + 8, load(source + stride * row + 8, np.int64(0)))
    elif width == 8:
        for row in range(rows):
            store(to + 8 * row, integer_at(source + stride * row, size))
    elif width == 4:
        for row in range(rows):
            store(to + 4 * row, np.int32(integer_at(source + stride * row, size)))
    else:
        for row in range(rows):
            store(to + row, np.uint8(integer_at(source + stride * row, size) != 0))
    if column[VALIDITY] == 0:
        return
    mask = column[VALIDITY] + length
    if coming[VALIDITY] == 0:
        _fill(mask, rows, 1, np.uint8(1))
    else:
        copy_bytes(mask, coming[VALIDITY], rows)
