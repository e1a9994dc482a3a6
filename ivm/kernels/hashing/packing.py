"""Key words made of columns where these lie, wherever that is.

`sources` is int64 (columns, 4): of each column at ADDRESS that of the value of row 0; at STRIDE the bytes from a value
to the next, 0 for what cannot be read so, 4 for what is INT64 but lies there as int32; at NULLS something else than 0
if some values are NULL. The word at ROOM means nothing here: where columns grow it says how many rows fit.
`form` is int64 (parts, 4): of each part of a key its column, its KIND, the word that it lies in, and the half of that
word, or -1: it takes all of it.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.part import part
from ivm.kernels.memory.at import double_bits, load
from ivm.kernels.memory.in_place import Int
from ivm.kernels.types import Ints

ADDRESS, STRIDE, NULLS, ROOM = range(4)
INT32, INT64, FLOAT64, BOOL, WIDE = range(5)
_LOW_HALF = np.int64(0xFFFFFFFF)
_HALF = np.int64(32)


@part()
def pack_rows(form: Ints, sources: Ints, first: Int, words: Ints) -> bool:
    """Make words (n, W) of the rows from `first` on; False if some value is NULL, or cannot be read.

    Cost: a pass for each part.
    """
    for each in range(len(form)):
        column = form[each, 0]
        if sources[column, STRIDE] == 0 or sources[column, NULLS] != 0:
            return False
    for row in range(len(words)):
        for w in range(words.shape[1]):
            words[row, w] = 0
    for each in range(len(form)):
        column, kind, word, half = form[each, 0], form[each, 1], np.uint64(form[each, 2]), form[each, 3]
        stride = sources[column, STRIDE]
        address = sources[column, ADDRESS] + first * stride
        if half >= 0:
            _pack_half(address, stride, kind == BOOL, half == 1, word, words)
        elif kind == INT64 and stride == 4:
            _pack_shorts(address, stride, word, words)
        elif kind in (INT64, WIDE):
            _pack_words(address, stride, word, words)
            if kind == WIDE:
                _pack_words(address + 8, stride, word + np.uint64(1), words)
        elif kind == FLOAT64:
            for row in range(len(words)):
                words[np.uint64(row), word] = double_bits(address + row * stride)
        elif kind == BOOL:
            for row in range(len(words)):
                words[np.uint64(row), word] = load(address + row * stride, np.int8(0))
        else:
            _pack_shorts(address, stride, word, words)
    return True


@part()
def _pack_words(address: Int, stride: Int, word: np.uint64, words: Ints) -> None:
    for row in range(len(words)):
        words[np.uint64(row), word] = load(address + row * stride, np.int64(0))


@part()
def _pack_shorts(address: Int, stride: Int, word: np.uint64, words: Ints) -> None:
    for row in range(len(words)):
        words[np.uint64(row), word] = load(address + row * stride, np.int32(0))


@part()
def _pack_half(address: Int, stride: Int, is_bool: bool, high: bool, word: np.uint64, words: Ints) -> None:
    by = _HALF if high else np.int64(0)
    if is_bool:
        for row in range(len(words)):
            words[np.uint64(row), word] |= np.int64(load(address + row * stride, np.int8(0))) << by
        return
    for row in range(len(words)):
        value = np.int64(load(address + row * stride, np.int32(0))) & _LOW_HALF
        words[np.uint64(row), word] |= value << by
