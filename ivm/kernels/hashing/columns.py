"""Columns where they lie, as many as a control block tells of, and the key words that are made of them.

From some place on a block has for each column COLUMN words: the `id` of the array of its values, how many bytes each
of them has, and the `id` of its mask, 0 if all are valid. `layout` int64 (parts, LAYOUT) says for each column of a key
what it is, and where it lies in the words: from a word on, or in a half word only, -1 if not; and in which half word
which bit says that it is NULL, -1 if it never is. Half word 2w is the low half of word w.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.part import part
from ivm.kernels.memory.at import address_of, bools_at, data_of, double_bits, int32s_at, load, stride_of, words_at
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Bools, Ints

COLUMN = 3
_VALUES, _BYTES, _MASK = range(COLUMN)
LAYOUT = 5
_KIND, _WORD, _HALF, _NULL, _BIT = range(LAYOUT)
INTEGER, DOUBLE, PAIR = range(3)


@part()
def integer_at(address: Word, size: Word) -> Word:
    """The integer of so many bytes at an address; one byte is a truth value."""
    if size == 8:
        return load(address, np.int64(0))
    if size == 4:
        return np.int64(load(address, np.int32(0)))
    return np.int64(load(address, np.uint8(0)))


@part(counted=True)
def words_of(block: Ints, at: Word, first: Word, rows: Word, width: Word) -> Ints:
    """The words of a column from row `first` on, (rows, width), the bits of doubles among them: there, or a copy."""
    values, size = block[at + _VALUES], block[at + _BYTES]
    stride = stride_of(values, 0)
    address = data_of(values) + first * stride
    if size == 8 and stride == 8 * width and (width == 1 or stride_of(values, 1) == 8):
        return words_at(address, rows, width)
    words = np.empty((rows, width), np.int64)
    step = stride_of(values, 1) if width > 1 else np.int64(0)
    for row in range(rows):
        for w in range(width):
            words[row, w] = integer_at(address + row * stride + w * step, size)
    return words


@part(counted=True)
def mask_of(block: Ints, at: Word, first: Word, rows: Word) -> Bools:
    """The mask of a column from row `first` on, (rows, 1), of length 0 if all are valid: where it lies, or a copy."""
    mask = block[at + _MASK]
    if mask == 0:
        return bools_at(np.int64(0), 0, 1)
    stride = stride_of(mask, 0)
    address = data_of(mask) + first * stride
    if stride == 1:
        return bools_at(address, rows, 1)
    valid = np.empty((rows, 1), np.bool_)
    for row in range(rows):
        valid[row, 0] = load(address + row * stride, np.uint8(0)) != 0
    return valid


@part(counted=True)
def key_words(block: Ints, at: Word, layout: Ints, rows: Word, width: Word) -> Ints:
    """The words (rows, width) of a key with a column for each part of `layout`, where NULL is a value like another."""
    if len(layout) == 1 and layout[0, _NULL] < 0 and layout[0, _KIND] == INTEGER:
        return words_of(block, at, np.int64(0), rows, width)
    words = np.empty((rows, width), np.int64)
    for p in range(len(layout)):
        if layout[p, _NULL] >= 0:
            words[:] = 0
            break
    halves = int32s_at(address_of(words), 2 * rows * width)
    for p in range(len(layout)):
        column = at + p * COLUMN
        _put_part(block, column, layout, p, words, halves)
        mask = block[column + _MASK]
        if mask != 0 and layout[p, _NULL] >= 0:
            _put_nulls(mask, layout, p, words, halves)
    return words


@part()
def _put_part(block: Ints, at: Word, layout: Ints, p: Word, words: Ints, halves: Ints) -> None:
    values, size = block[at + _VALUES], block[at + _BYTES]
    address, stride = data_of(values), stride_of(values, 0)
    kind, word, half = layout[p, _KIND], np.uint64(layout[p, _WORD]), layout[p, _HALF]
    if kind == DOUBLE:
        for row in range(len(words)):
            words[np.uint64(row), word] = double_bits(address + row * stride)
    elif kind == PAIR:
        step = stride_of(values, 1)
        for row in range(len(words)):
            words[np.uint64(row), word] = load(address + row * stride, np.int64(0))
            words[np.uint64(row), word + np.uint64(1)] = load(address + row * stride + step, np.int64(0))
    elif half < 0:
        for row in range(len(words)):
            words[np.uint64(row), word] = integer_at(address + row * stride, size)
    else:
        each = 2 * words.shape[1]
        for row in range(len(words)):
            halves[np.uint64(row * each + half)] = np.int32(integer_at(address + row * stride, size))


@part()
def _put_nulls(mask: Word, layout: Ints, p: Word, words: Ints, halves: Ints) -> None:
    """Let the values under NULL be zero, and set the bit that says so."""
    address, stride = data_of(mask), stride_of(mask, 0)
    word, half, each = layout[p, _WORD], layout[p, _HALF], 2 * words.shape[1]
    for row in range(len(words)):
        if load(address + row * stride, np.uint8(0)) != 0:
            continue
        if half >= 0:
            halves[row * each + half] = 0
        else:
            words[row, word] = 0
            if layout[p, _KIND] == PAIR:
                words[row, word + 1] = 0
        halves[row * each + layout[p, _NULL]] |= np.int32(1) << np.int32(layout[p, _BIT])
