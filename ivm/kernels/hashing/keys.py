"""Key words of rows of a delta, made of columns where they lie.

Of each part of a key a frame says, in PART words, its KIND, the word that it lies in, and the half of that word, or -1
if it takes all of it (see `ivm.kernels.hashing.packing`); then where its column lies (see `ivm.kernels.memory.places`).
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.part import part
from ivm.kernels.hashing.columns import integer_at
from ivm.kernels.hashing.packing import FLOAT64, INT64, WIDE
from ivm.kernels.memory.at import double_bits, load, stride_of
from ivm.kernels.memory.places import ARRAY, FORM, ONE, UNREADABLE, WORDS, begin_of, locate, stride_at
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Ints

KIND, WORD, HALF, COLUMN = range(4)
PART = COLUMN + WORDS
_LOW_HALF = np.int64(0xFFFFFFFF)
_HALF = np.int64(32)


@part()
def pack_block(
    frame: Ints, at: Word, parts: Word, first: Word, stop: Word, words: Ints, places: Ints, missing: Ints
) -> bool:
    """words[i] = the key of row `first` + i, missing[i] = 1 if a part of it is NULL; False if a part is unreadable."""
    count = stop - first
    for row in range(count):
        missing[np.uint64(row)] = 0
    if parts == 1 and _take_integers(frame, at, first, count, words):
        return True
    for row in range(count):
        for w in range(words.shape[1]):
            words[np.uint64(row), np.uint64(w)] = 0
    for each in range(parts):
        here = at + PART * each
        size = locate(frame, here + COLUMN, first, stop, places, missing)
        if size == UNREADABLE:
            return False
        kind, half, word = frame[here + KIND], frame[here + HALF], np.uint64(frame[here + WORD])
        if half >= 0:
            _put_half(size, half == 1, word, count, places, words)
        elif kind == FLOAT64:
            for row in range(count):
                words[np.uint64(row), word] = double_bits(places[np.uint64(row)])
        elif size == 8:
            for row in range(count):
                words[np.uint64(row), word] = load(places[np.uint64(row)], np.int64(0))
        else:
            for row in range(count):
                words[np.uint64(row), word] = integer_at(places[np.uint64(row)], size)
        if kind == WIDE:
            step = np.int64(8)
            if frame[here + COLUMN + FORM] == ARRAY:
                step = stride_of(frame[here + COLUMN + ONE], 1)
            for row in range(count):
                words[np.uint64(row), word + np.uint64(1)] = load(places[np.uint64(row)] + step, np.int64(0))
    return True


@part()
def _take_integers(frame: Ints, at: Word, first: Word, count: Word, words: Ints) -> bool:
    """Take the key from the one column of int64 that it is, if that has its rows one behind the other, without NULL."""
    address = begin_of(frame, at + COLUMN) if frame[at + KIND] == INT64 else np.int64(0)
    if address == 0:
        return False
    step = stride_at(frame, at + COLUMN)
    address += first * step
    if step == 4:
        for row in range(count):
            words[np.uint64(row), np.uint64(0)] = load(address + row * step, np.int32(0))
        return True
    for row in range(count):
        words[np.uint64(row), np.uint64(0)] = load(address + row * step, np.int64(0))
    return True


@part()
def _put_half(size: Word, high: bool, word: np.uint64, count: Word, places: Ints, words: Ints) -> None:
    by = _HALF if high else np.int64(0)
    for row in range(count):
        value = integer_at(places[np.uint64(row)], size) & _LOW_HALF
        words[np.uint64(row), word] |= value << by
