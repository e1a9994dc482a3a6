"""Consolidation: add up the diffs of equal rows, whose columns are read where they lie.

`frame` int64 tells what is to be done. First come numbers: which rows are to be looked at now, how many distinct ones
there were among those before, how long the hash table is, how many columns a row has, since when times are told apart,
and whether they are at all. Then arrays by their `id`: the kinds of the columns as `ivm.kernels.hashing.columns` has
them, times, diffs (0: all are one), the table, and what is found. From COLUMNS on it has the columns.

The table is uint64, of zeros at first, its length a power of two of at least twice the rows, of which there are less
than 2^32. What is found is int64: for each distinct row its first position, and the sum of its diffs.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.hashing.columns import COLUMN, DOUBLE, PAIR, integer_at
from ivm.kernels.hashing.function import mix_last, mix_word
from ivm.kernels.memory.at import data_of, double_bits, ints_at, load, stride_of, words_at
from ivm.kernels.memory.move import prefetch
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Hashes, Ints

BEGIN, END, COUNT, SLOTS, WIDTH, SINCE, TIMED, KINDS, TIMES, DIFFS, TABLE, ROWS, SUMS = range(13)
COLUMNS = 13
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_AHEAD = 16
_BLOCK = 1024
_NULL = np.int64(-0x61C8864680B583EB)
"""What stands for NULL in a hash."""
_ADDRESS, _STRIDE, _SIZE, _STEP, _MASK, _MASK_STRIDE, _KIND = range(7)
_PLACE = 7


@njit(cache=True, nogil=True, fastmath=False)
def sum_equal_rows(frame: Ints) -> Word:
    """Find the distinct rows, in the order of their first positions, and the sums of their diffs; how many there are.

    Rows are equal if all their columns are, NULL equals NULL, NaN equals NaN and -0.0 equals 0.0; and if their times
    are, where these are told apart: all up to SINCE are one. Cost: 1 ns a column, one random access a row, and for one
    that has been met a comparison.
    """
    columns, slots = _columns(frame), np.uint64(frame[SLOTS])
    end, count, since, timed = frame[END], frame[COUNT], frame[SINCE], frame[TIMED] != 0
    times = ints_at(data_of(frame[TIMES]) if timed else np.int64(0), end)
    diffs = ints_at(data_of(frame[DIFFS]) if frame[DIFFS] else np.int64(0), end)
    rows, sums = ints_at(data_of(frame[ROWS]), end), ints_at(data_of(frame[SUMS]), end)
    table = words_at(data_of(frame[TABLE]), frame[SLOTS], 1)
    mask, hashes = slots - np.uint64(1), np.empty(_BLOCK, np.uint64)
    for first in range(frame[BEGIN], end, _BLOCK):
        stop = min(first + _BLOCK, end)
        _hash(columns, first, stop, hashes)
        for i in range(first, stop):
            if timed:
                hashes[i - first] = mix_word(hashes[i - first], max(times[i], since))
            hashes[i - first] = mix_last(hashes[i - first])
        for i in range(first, stop):
            if i + _AHEAD < stop:
                prefetch(table, np.int64(hashes[i - first + _AHEAD] & _LOW & mask))
            # The slot holds half of the hash, so that a row is compared only with one that is very likely equal.
            tag, place = hashes[i - first] >> _HALF, hashes[i - first] & _LOW & mask
            diff = diffs[i] if frame[DIFFS] else np.int64(1)
            while True:
                slot = np.uint64(table[place, 0])
                if slot == 0:
                    table[place, 0] = np.int64((tag << _HALF) | np.uint64(count + 1))
                    rows[count] = i
                    sums[count] = diff
                    count += 1
                    break
                if slot >> _HALF == tag:
                    found = np.int64(slot & _LOW) - 1
                    one = rows[found]
                    if (not timed or max(times[one], since) == max(times[i], since)) and _same(columns, one, i):
                        sums[found] += diff
                        break
                place = (place + np.uint64(1)) & mask
    frame[COUNT] = count
    return count


@part(counted=True)
def _columns(frame: Ints) -> Ints:
    """Where the columns lie, (columns, _PLACE)."""
    columns = np.zeros((frame[WIDTH], _PLACE), np.int64)
    kinds = ints_at(data_of(frame[KINDS]), frame[WIDTH])
    for c in range(len(columns)):
        at = COLUMNS + COLUMN * c
        values, mask = frame[at], frame[at + 2]
        columns[c, _ADDRESS], columns[c, _STRIDE] = data_of(values), stride_of(values, 0)
        columns[c, _SIZE], columns[c, _KIND] = frame[at + 1], kinds[c]
        if kinds[c] == PAIR:
            columns[c, _STEP] = stride_of(values, 1)
        if mask != 0:
            columns[c, _MASK], columns[c, _MASK_STRIDE] = data_of(mask), stride_of(mask, 0)
    return columns


@part()
def _hash(columns: Ints, first: Word, stop: Word, hashes: Hashes) -> None:
    """Hash the rows from `first` to `stop`, a column at a time."""
    for i in range(stop - first):
        hashes[i] = np.uint64(0)
    for c in range(len(columns)):
        kind, size, stride = columns[c, _KIND], columns[c, _SIZE], columns[c, _STRIDE]
        address = columns[c, _ADDRESS] + first * stride
        if columns[c, _MASK] != 0:
            for i in range(stop - first):
                hashes[i] = mix_word(hashes[i], _word(columns, c, first + i))
                if kind == PAIR:
                    hashes[i] = mix_word(hashes[i], _upper(columns, c, first + i))
        elif kind == PAIR:
            step = columns[c, _STEP]
            for i in range(stop - first):
                hashes[i] = mix_word(hashes[i], load(address + i * stride, np.int64(0)))
                hashes[i] = mix_word(hashes[i], load(address + i * stride + step, np.int64(0)))
        elif kind == DOUBLE:
            for i in range(stop - first):
                hashes[i] = mix_word(hashes[i], double_bits(address + i * stride))
        elif size == 8:
            for i in range(stop - first):
                hashes[i] = mix_word(hashes[i], load(address + i * stride, np.int64(0)))
        else:
            for i in range(stop - first):
                hashes[i] = mix_word(hashes[i], integer_at(address + i * stride, size))


@part()
def _word(columns: Ints, c: Word, row: Word) -> Word:
    """The word of a value, of a wide one the lower."""
    mask = columns[c, _MASK]
    if mask != 0 and load(mask + row * columns[c, _MASK_STRIDE], np.uint8(0)) == 0:
        return _NULL
    address = columns[c, _ADDRESS] + row * columns[c, _STRIDE]
    if columns[c, _KIND] == DOUBLE:
        return double_bits(address)
    return integer_at(address, columns[c, _SIZE])


@part()
def _upper(columns: Ints, c: Word, row: Word) -> Word:
    """The upper word of a wide value."""
    mask = columns[c, _MASK]
    if mask != 0 and load(mask + row * columns[c, _MASK_STRIDE], np.uint8(0)) == 0:
        return _NULL
    return load(columns[c, _ADDRESS] + row * columns[c, _STRIDE] + columns[c, _STEP], np.int64(0))


@part()
def _same(columns: Ints, one: Word, other: Word) -> bool:
    """Whether two rows are equal."""
    for c in range(len(columns)):
        mask, stride = columns[c, _MASK], columns[c, _MASK_STRIDE]
        if mask != 0:
            valid = load(mask + one * stride, np.uint8(0)) != 0
            if valid != (load(mask + other * stride, np.uint8(0)) != 0):
                return False
            if not valid:
                continue
        if _word(columns, c, one) != _word(columns, c, other):
            return False
        if columns[c, _KIND] == PAIR and _upper(columns, c, one) != _upper(columns, c, other):
            return False
    return True
