"""Codes of a dictionary by marks: distinct ones, and freeing those that have none, as nobody refers to them.

For the arrays of a dictionary see `ivm.kernels.texts.dictionary`. `progress` int64 says how far a loop has come, so
that it goes on there: the next code, what it has added up, and where it writes.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.texts.dictionary import LENGTHS, PADDING, Bytes, Int, begin_of, length_of, load_word, store_word
from ivm.kernels.types import Bools, Int32s, Ints

AT, STRINGS, BYTES, LAST = range(4)
PROGRESS = 4
"""The next code; strings and bytes that stay; the last code that does."""

_WORD = 8


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def mark_codes(codes: Int32s, marks: Bytes) -> None:
    """Mark codes, those beyond the marks aside."""
    for code in codes:
        if 0 <= code < len(marks):
            marks[code] = 1


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def move_texts(
    heap: Bytes, places: Ints, marks: Bytes, other: Bytes, to: Ints, free: Int32s, progress: Ints, stop: Int, fuel: Int
) -> Int:
    """Copy the strings of codes below `stop` that stay to the heap `other` and the places `to`; the others go into
    `free`, whose place is 0. Those stay that are marked or beyond the marks.

    Ends where `other` has no room for the next string, or about `fuel` bytes are copied; returns what is left of them.
    """
    for code in range(progress[AT], stop):
        if fuel <= 0:
            return fuel
        if code < len(marks) and marks[code] == 0:
            to[code] = 0
            free[code - progress[STRINGS]] = code
        else:
            place = places[code]
            at, length = progress[BYTES], length_of(place)
            room = (length + _WORD - 1) & ~(_WORD - 1)
            if at + room + PADDING > len(other):
                return fuel
            source = begin_of(place)
            for offset in range(0, room, _WORD):
                store_word(other, at + offset, load_word(heap, source + offset))
            to[code] = ((at >> 3) << 32) | (place & LENGTHS)
            progress[STRINGS] += 1
            progress[BYTES] = at + room
            progress[LAST] = code
            fuel -= room
        fuel -= _WORD
        progress[AT] = code + 1
    return fuel


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def count_codes(codes: Int32s, times: Ints, diffs: Ints, since: Int, sums: Ints, begin: Int, end: Int) -> None:
    """Add the diffs of updates `begin` to `end` to the sums of their codes; a time after `since` counts for itself."""
    for i in range(begin, end):
        sums[codes[i]] += diffs[i] if times[i] <= since else 1 << 32


@njit(cache=True, nogil=True, fastmath=False)
def take_unmarked(codes: Int32s, wanted: Bools, marks: Ints, mark: int) -> Int32s:
    """The distinct codes whose entry of `marks` is 0, in order of appearance; their entries become `mark`.

    `wanted` bool says which rows count, all if it is empty. Cost: a byte looked up for each row.
    """
    found = np.empty(len(codes), np.int32)
    count = 0
    for i in range(len(codes)):
        code = codes[i]
        if marks[code] == 0 and (len(wanted) == 0 or wanted[i]):
            marks[code] = mark
            found[count] = code
            count += 1
    return found[:count].copy()
