"""Where the items of a column lie, row by row, whoever holds it and whatever refers to its rows.

A frame tells of a column in WORDS words: its FORM, and up to four words more, as `Source.place` has them:

* PLACED: the `id` of an array int64 (columns, 4 or more), and the column's number there. A row of it is the address of
  the first row's item, the bytes from an item to the next, the address of the bitmap that says what is not NULL (0 if
  all is), and the first row's bit there. An item has at most 8 bytes of its own, or is of two words.
* ARRAY: the `id` of an array of values and the bytes of an item, the `id` of its mask, 0 if all are valid.
* PIECES: the `id` of the bases, the stride, and the `id`s of pages and starts; see `ivm.kernels.memory.in_place`.

ROWS is where the frame tells of the references by which rows of it are found (two words, see `first_of`), 0 if a row
is its own number.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.part import part
from ivm.kernels.memory.at import data_of, int32s_at, ints_at, load, stride_of
from ivm.kernels.memory.in_place import piece_of
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Ints

PLACED, ARRAY, PIECES = range(3)
FORM, ONE, TWO, THREE, FOUR, ROWS = range(6)
WORDS = 6
UNREADABLE = -3
"""The answer where a column is not to be read as it was told."""
_WORD = np.int64(0)
_BYTE = np.uint8(0)
_MANY = np.int64(1) << 40


@part(inline=True)
def first_of(frame: Ints, at: Word) -> Word:
    """The address of the first item of an array of which a frame tells at a place: (address, stride) or (`id`, 0).

    It need not be laid down yet, unlike what `ivm.kernels.memory.frame.array_in` reads.
    """
    return frame[at] if frame[at + 1] != 0 else data_of(frame[at])


@part(inline=True)
def step_of(frame: Ints, at: Word) -> Word:
    """The bytes from an item of such an array to the next."""
    return frame[at + 1] if frame[at + 1] != 0 else stride_of(frame[at], 0)


@part()
def begin_of(frame: Ints, at: Word) -> Word:
    """The address of the first row's item of a column of words whose rows lie `stride_at` apart, none NULL; 0 if not.

    A row is its own number. Where they lie 4 bytes apart, words lie there as int32.
    """
    form, one = frame[at + FORM], frame[at + ONE]
    if frame[at + ROWS] != 0 or form == PIECES:
        return _WORD
    if form == ARRAY:
        return data_of(one) if frame[at + TWO] == 8 and frame[at + THREE] == 0 else _WORD
    place = data_of(one) + frame[at + TWO] * stride_of(one, 0)
    return load(place, _WORD) if load(place + 8, _WORD) != 0 and load(place + 16, _WORD) == 0 else _WORD


@part()
def stride_at(frame: Ints, at: Word) -> Word:
    """The bytes from a row's item to the next, of a column that `begin_of` knows."""
    one = frame[at + ONE]
    if frame[at + FORM] == ARRAY:
        return stride_of(one, 0)
    return load(data_of(one) + frame[at + TWO] * stride_of(one, 0) + 8, _WORD)


@part()
def locate(frame: Ints, at: Word, first: Word, stop: Word, places: Ints, missing: Ints) -> Word:
    """places[i] = the address of the item of row `first` + i of a column, missing[i] = 1 where it is NULL.

    How many bytes an item has; UNREADABLE if it cannot be read there.
    """
    form, one, two, three = frame[at + FORM], frame[at + ONE], frame[at + TWO], frame[at + THREE]
    count, refs = stop - first, frame[at + ROWS]
    if refs == 0:
        for row in range(count):
            places[np.uint64(row)] = first + row
    else:
        address, step = first_of(frame, refs), step_of(frame, refs)
        for row in range(count):
            places[np.uint64(row)] = load(address + (first + row) * step, _WORD)
    if form == PIECES:
        _in_pieces(data_of(one), two, data_of(three), data_of(frame[at + FOUR]), count, places)
        return min(two, 8)
    if form == ARRAY:
        if three != 0:
            _note_unmasked(data_of(three), stride_of(three, 0), count, places, missing)
        _in_one(data_of(one), stride_of(one, 0), count, places)
        return two
    place = data_of(one) + two * stride_of(one, 0)
    stride, bits = load(place + 8, _WORD), load(place + 16, _WORD)
    if stride == 0:
        return np.int64(UNREADABLE)
    if bits != 0:
        _note_unset(bits, load(place + 24, _WORD), count, places, missing)
    _in_one(load(place, _WORD), stride, count, places)
    return min(stride, 8)


@part()
def _in_one(address: Word, stride: Word, count: Word, places: Ints) -> None:
    """The addresses of rows, in place of their numbers."""
    for row in range(count):
        i = np.uint64(row)
        places[i] = address + stride * places[i]


@part()
def _in_pieces(bases: Word, stride: Word, pages: Word, starts: Word, count: Word, places: Ints) -> None:
    """The same of a column in pieces."""
    of_page, begins, from_base = int32s_at(pages, _MANY), ints_at(starts, _MANY), ints_at(bases, _MANY)
    for row in range(count):
        i = np.uint64(row)
        places[i] = from_base[piece_of(of_page, begins, places[i])] + stride * places[i]


@part()
def _note_unmasked(mask: Word, stride: Word, count: Word, rows: Ints, missing: Ints) -> None:
    for row in range(count):
        i = np.uint64(row)
        missing[i] |= np.int64(load(mask + stride * rows[i], _BYTE) == 0)


@part()
def _note_unset(bits: Word, first: Word, count: Word, rows: Ints, missing: Ints) -> None:
    for row in range(count):
        i = np.uint64(row)
        bit = first + rows[i]
        missing[i] |= np.int64((load(bits + (bit >> 3), _BYTE) >> np.uint8(bit & 7)) & np.uint8(1) == 0)
