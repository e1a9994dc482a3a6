"""Consolidation: add up the diffs of equal rows, whose columns are read where they lie.

`frame` int64 tells what is to be done. First come numbers: which rows are to be looked at now, how many distinct ones
there were among those before, how long the hash table is, since when times are told apart, and whether they are at all.
Then arrays by their `id`: the kinds of the columns as `ivm.kernels.hashing.keys` has them, times, diffs (0: all are
one), the table, and what is found. `places` has where the columns lie, in one piece.

The table is uint64, of zeros at first, its length a power of two of at least twice the rows, of which there are less
than 2^32. What is found is int64: for each distinct row its first position, and the sum of its diffs.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.hashing.function import mix_last, mix_word
from ivm.kernels.hashing.keys import DOUBLE, PAIR
from ivm.kernels.memory.at import data_if, data_of, double_bits, ints_at, load, words_at
from ivm.kernels.memory.move import prefetch
from ivm.kernels.memory.places import ADDRESS, BIT, SIZE, STRIDE, VALIDITY, integer_at, is_missing
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Hashes, Ints

BEGIN, END, COUNT, SLOTS, SINCE, TIMED, KINDS, TIMES, DIFFS, TABLE, ROWS, SUMS = range(12)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_AHEAD = 16
_BLOCK = 1024
_NULL = np.int64(-0x61C8864680B583EB)
"""What stands for NULL in a hash."""


@njit(cache=True, nogil=True, fastmath=False)
def sum_equal_rows(frame: Ints, places: Ints) -> Word:
    """Find the distinct rows, in the order of their first positions, and the sums of their diffs; how many there are.

    Rows are equal if all their columns are, NULL equals NULL, NaN equals NaN and -0.0 equals 0.0; and if their times
    are, where these are told apart: all up to SINCE are one. Cost: 1 ns a column, one random access a row, and for one
    that has been met a comparison.
    """
    kinds, slots = ints_at(data_of(frame[KINDS]), len(places)), np.uint64(frame[SLOTS])
    end, count, since, timed = frame[END], frame[COUNT], frame[SINCE], frame[TIMED] != 0
    times = ints_at(data_of(frame[TIMES]) if timed else np.int64(0), end)
    diffs = ints_at(data_if(frame[DIFFS]), end)
    rows, sums = ints_at(data_of(frame[ROWS]), end), ints_at(data_of(frame[SUMS]), end)
    table = words_at(data_of(frame[TABLE]), frame[SLOTS], 1)
    mask, hashes = slots - np.uint64(1), np.empty(_BLOCK, np.uint64)
    for first in range(frame[BEGIN], end, _BLOCK):
        stop = min(first + _BLOCK, end)
        _hash(places, kinds, first, stop, hashes)
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
                    if (not timed or max(times[one], since) == max(times[i], since)) and _same(places, kinds, one, i):
                        sums[found] += diff
                        break
                place = (place + np.uint64(1)) & mask
    frame[COUNT] = count
    return count


@part()
def _hash(places: Ints, kinds: Ints, first: Word, stop: Word, hashes: Hashes) -> None:
    """Hash the rows from `first` to `stop`, a column at a time."""
    for i in range(stop - first):
        hashes[i] = np.uint64(0)
    for c in range(len(kinds)):
        kind, size, stride = kinds[c], places[c, SIZE], places[c, STRIDE]
        address = places[c, ADDRESS] + first * stride
        if places[c, VALIDITY] != 0:
            for i in range(stop - first):
                hashes[i] = mix_word(hashes[i], _word(places[c], kind, first + i))
                if kind == PAIR:
                    hashes[i] = mix_word(hashes[i], _upper(places[c], first + i))
        elif kind == PAIR:
            for i in range(stop - first):
                hashes[i] = mix_word(hashes[i], load(address + i * stride, np.int64(0)))
                hashes[i] = mix_word(hashes[i], load(address + i * stride + 8, np.int64(0)))
        elif kind == DOUBLE:
            for i in range(stop - first):
                hashes[i] = mix_word(hashes[i], double_bits(address + i * stride))
        elif size == 8:
            for i in range(stop - first):
                hashes[i] = mix_word(hashes[i], load(address + i * stride, np.int64(0)))
        else:
            for i in range(stop - first):
                hashes[i] = mix_word(hashes[i], integer_at(address + i * stride, size))


@part(inline=True)
def _is_null(place: Ints, row: Word) -> bool:
    return place[VALIDITY] != 0 and is_missing(place[VALIDITY], place[BIT], row)


@part()
def _word(place: Ints, kind: Word, row: Word) -> Word:
    """The word of a value, of a wide one the lower."""
    if _is_null(place, row):
        return _NULL
    address = place[ADDRESS] + row * place[STRIDE]
    return double_bits(address) if kind == DOUBLE else integer_at(address, place[SIZE])


@part()
def _upper(place: Ints, row: Word) -> Word:
    """The upper word of a wide value."""
    if _is_null(place, row):
        return _NULL
    return load(place[ADDRESS] + row * place[STRIDE] + 8, np.int64(0))


@part()
def _same(places: Ints, kinds: Ints, one: Word, other: Word) -> bool:
    """Whether two rows are equal."""
    for c in range(len(kinds)):
        place = places[c]
        if place[VALIDITY] != 0:
            null = _is_null(place, one)
            if null != _is_null(place, other):
                return False
            if null:
                continue
        if _word(place, kinds[c], one) != _word(place, kinds[c], other):
            return False
        if kinds[c] == PAIR and _upper(place, one) != _upper(place, other):
            return False
    return True
