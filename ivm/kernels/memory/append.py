"""Rows copied to the end of columns, of all in one call.

`append_columns` takes columns in the form of `ivm.kernels.hashing.packing`, none of which has a NULL. `given` begins
with how many rows there are, how many come, and to how many columns; then for each of these it has its number, the `id`
of the array of what comes, and how many bytes each item has.

`append_updates` appends to a log, whose rows have times and diffs.

`kept` int64 (columns + 2, KEPT) says for each column where its values lie, how many bytes a row of it takes, and where
its mask lies, 0 if it has none; behind the columns the same of times and diffs. `given` begins with how many rows there
are, how many come, and their time; then it has what comes as `ivm.kernels.hashing.columns` reads it, with the `id` 0
for times that are all the same, and for diffs that are all one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import operation, part
from ivm.kernels.hashing.columns import COLUMN, integer_at
from ivm.kernels.hashing.packing import ADDRESS, ROOM, STRIDE
from ivm.kernels.memory.at import data_of, load, stride_of
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Ints

KEPT = 3
_VALUES, _BYTES, _MASK = range(KEPT)
HEAD = 3
_LENGTH, _ROWS, _TIME = range(HEAD)
_COUNT = _TIME
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
def append_updates(kept: Ints, given: Ints) -> Word:
    """Copy what is given behind what is there, where there is room for it; how many diffs are below zero."""
    length, rows, columns = given[_LENGTH], given[_ROWS], len(kept) - 2
    for c in range(columns):
        values, bytes_each, mask = kept[c, _VALUES], kept[c, _BYTES], kept[c, _MASK]
        at = HEAD + COLUMN * c
        _append(values + length * bytes_each, bytes_each, given[at], given[at + 1], rows)
        if mask != 0:
            if given[at + 2] != 0:
                _append(mask + length, 1, given[at + 2], 1, rows)
            else:
                _fill(mask + length, rows, 1, np.uint8(1))
    at = HEAD + COLUMN * columns
    times, diffs = kept[columns, _VALUES] + 8 * length, kept[columns + 1, _VALUES] + 8 * length
    if given[at] != 0:
        _append(times, 8, given[at], 8, rows)
    else:
        _fill(times, rows, 8, given[_TIME])
    retracted = np.int64(0)
    if given[at + COLUMN] != 0:
        _append(diffs, 8, given[at + COLUMN], 8, rows)
        for row in range(rows):
            retracted += np.int64(load(diffs + 8 * row, np.int64(0)) < 0)
    else:
        _fill(diffs, rows, 8, np.int64(1))
    return retracted


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def append_columns(columns: Ints, given: Ints) -> Word:
    """Copy what is given behind what is there; -1. Where there is no room in a column nothing is done: its number."""
    length, rows, end = given[_LENGTH], given[_ROWS], HEAD + COLUMN * given[_COUNT]
    for at in range(HEAD, end, COLUMN):
        if columns[given[at], ROOM] < length + rows:
            return given[at]
    for at in range(HEAD, end, COLUMN):
        address, bytes_each = columns[given[at], ADDRESS], columns[given[at], STRIDE]
        _append(address + length * bytes_each, bytes_each, given[at + 1], given[at + 2], rows)
    return np.int64(-1)


@part(inline=True)
def _fill(to: Word, rows: Word, each: Word, item: Any) -> None:
    for row in range(rows):
        _store(to + row * each, item)


@part()
def _append(to: Word, bytes_each: Word, array: Word, size: Word, rows: Word) -> None:
    """Copy the items of an array, of which `array` is the `id` and `size` the bytes of an item."""
    source, stride = data_of(array), stride_of(array, 0)
    if bytes_each == 16:
        step = stride_of(array, 1)
        if step == 8 and stride == 16:
            _copy_bytes(to, source, 16 * rows)
            return
        for row in range(rows):
            _store(to + 16 * row, load(source + stride * row, np.int64(0)))
            _store(to + 16 * row + 8, load(source + stride * row + step, np.int64(0)))
    elif size == bytes_each and stride == size:
        _copy_bytes(to, source, size * rows)
    elif bytes_each == 8:
        for row in range(rows):
            _store(to + 8 * row, integer_at(source + stride * row, size))
    elif bytes_each == 4:
        for row in range(rows):
            _store(to + 4 * row, np.int32(integer_at(source + stride * row, size)))
    else:
        for row in range(rows):
            _store(to + row, np.uint8(integer_at(source + stride * row, size) != 0))
