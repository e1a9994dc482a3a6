"""Rows copied to the end of columns, of all in one call. See `ivm.kernels.memory.places` for both.

What comes lies in one piece. A column that nothing comes to has no stride there, and is left alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import operation, part
from ivm.kernels.memory.at import data_of, load, stride_of
from ivm.kernels.memory.places import (
    ADDRESS,
    BIT,
    ROOM,
    SIZE,
    STRIDE,
    VALID_ROOM,
    VALIDITY,
    integer_at,
    is_missing,
)
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Ints

DONE = -1
"""What `append_columns` says in place of the number of a column."""
NO_MASK = -1
"""What `append_updates` says in place of how many take something back."""
_memcpy: Any = cgutils.raw_memcpy


@operation(types.void, types.int64, None)
def _store(builder: Any, address: Any, value: Any) -> None:
    """Write an item to an address, wherever it begins."""
    builder.store(value, builder.inttoptr(address, value.type.as_pointer()), align=1)


@operation(types.void, types.int64, types.int64, types.intp)
def _copy_bytes(builder: Any, to: Any, source: Any, count: Any) -> None:
    """Copy bytes from an address to another one; they do not overlap."""
    _memcpy(builder, builder.inttoptr(to, cgutils.voidptr_t), builder.inttoptr(source, cgutils.voidptr_t), count, 1)


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def append_updates(columns: Ints, coming: Ints, given: Ints) -> Word:
    """Copy updates behind what is there, where there is room; how many diffs are below zero.

    The last two columns are times and diffs. `given` has the length so far; how many rows come, and their time; then
    the `id` of their times and of their diffs, 0 where they have all that time, or one. Nothing is done if there is
    NO_MASK for the NULLs of some column.
    """
    length, rows, count = given[0], given[1], len(columns) - 2
    for c in range(count):
        if coming[c, VALIDITY] != 0 and columns[c, VALIDITY] == 0:
            return np.int64(NO_MASK)
    for c in range(count):
        _append(columns[c], coming[c], length, rows)
    _numbers(columns[count, ADDRESS] + 8 * length, rows, given[3], given[2])
    diffs = columns[count + 1, ADDRESS] + 8 * length
    _numbers(diffs, rows, given[4], np.int64(1))
    retracted = np.int64(0)
    if given[4] != 0:
        for row in range(rows):
            retracted += np.int64(load(diffs + 8 * row, np.int64(0)) < 0)
    return retracted


@part()
def _numbers(to: Word, rows: Word, array: Word, each: Word) -> None:
    """Copy the int64 of an array of numpy, of which `array` is the `id`, or `each` so often if that is 0."""
    if array == 0:
        _fill(to, rows, 8, each)
        return
    source, stride = data_of(array), stride_of(array, 0)
    for row in range(rows):
        _store(to + 8 * row, load(source + stride * row, np.int64(0)))


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def append_columns(columns: Ints, coming: Ints, given: Ints) -> Word:
    """Copy what comes behind what is there, and say DONE, or do nothing: the number of a column without room for it.

    `given` has the length so far, and how many rows come. Columns to which a NULL comes have a mask.
    """
    length, rows = given[0], given[1]
    for c in range(len(columns)):
        if coming[c, STRIDE] == 0:
            continue
        if columns[c, ROOM] < length + rows or (columns[c, VALIDITY] != 0 and columns[c, VALID_ROOM] < length + rows):
            return np.int64(c)
    for c in range(len(columns)):
        _append(columns[c], coming[c], length, rows)
    return np.int64(DONE)


@part(inline=True)
def _fill(to: Word, rows: Word, each: Word, item: Any) -> None:
    for row in range(rows):
        _store(to + row * each, item)


@part()
def _append(column: Ints, coming: Ints, length: Word, rows: Word) -> None:
    """Copy the values that come to a column, and which of them are NULL."""
    source, stride, size = coming[ADDRESS], coming[STRIDE], coming[SIZE]
    if stride == 0:
        return
    width = column[STRIDE]
    to = column[ADDRESS] + length * width
    if size == width and stride == size:
        _copy_bytes(to, source, size * rows)
    elif width == 16:
        for row in range(rows):
            _store(to + 16 * row, load(source + stride * row, np.int64(0)))
            _store(to + 16 * row + 8, load(source + stride * row + 8, np.int64(0)))
    elif width == 8:
        for row in range(rows):
            _store(to + 8 * row, integer_at(source + stride * row, size))
    elif width == 4:
        for row in range(rows):
            _store(to + 4 * row, np.int32(integer_at(source + stride * row, size)))
    else:
        for row in range(rows):
            _store(to + row, np.uint8(integer_at(source + stride * row, size) != 0))
    if column[VALIDITY] == 0:
        return
    mask, validity, bit = column[VALIDITY] + length, coming[VALIDITY], coming[BIT]
    if validity == 0:
        _fill(mask, rows, 1, np.uint8(1))
    elif bit == -1:
        _copy_bytes(mask, validity, rows)
    else:
        for row in range(rows):
            _store(mask + row, np.uint8(not is_missing(validity, bit, row)))
