"""Texts of a few rows where they lie: their codes, and what is remembered of functions of them, by one call.

Where the texts of a column lie is said by a place, as `ivm.kernels.memory.exported` has it for texts and for codes of
Arrow's dictionaries.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.memory.append import store
from ivm.kernels.memory.at import (
    MANY,
    address_of,
    bytes_at,
    data_of,
    hashes_at,
    int32s_at,
    ints_at,
    length_of,
    load,
)
from ivm.kernels.memory.exported import BYTES, OFFSET_BYTES, OFFSETS, WIDTH
from ivm.kernels.memory.in_place import piece_of
from ivm.kernels.memory.places import ADDRESS, BIT, PIECES, SIZE, STRIDE, VALIDITY, WORDS, told
from ivm.kernels.numbers.wide import Word
from ivm.kernels.texts.dictionary import code_of
from ivm.kernels.types import Ints

COLUMN, TO, MEMO, ITEM = range(4)
WANTED = 4
"""What is said of each that is wanted: the column; of which number the place is that is to tell of it; and of a
function where its memo's words stand, and the bytes of a value. Of the codes themselves, which stand before the
functions of their column and have its place, MEMO is 0."""
STATES, VALUES, KNOWN = range(3)
MEMO_WORDS = 3
"""What a memo tells: where states (uint8) and values by code lie, which are truth values if there are no values, 0; and
of how many codes."""
NULL, FALSE, TRUE = 1, 2, 3
"""What a state says that is known: NULL, or a value; of truth values which one."""
SLOTS, OLD, HEAP, BEGINS, MARKS, META = range(6)
DICTIONARY = 6
"""The arrays of a dictionary (see `ivm.kernels.texts.dictionary`), of each the `id`."""
_WORD, _INT, _BYTE, _SHORT = np.int64(0), np.int32(0), np.uint8(0), np.uint16(0)


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def read_texts(wanted: Ints, rows: Ints, lies: Ints, pieces: Ints, dictionary: Ints, room: Ints, places: Ints) -> None:
    """Write down codes of texts, and values of functions of them, as far as they are known of all rows.

    `wanted` int64 (n, WANTED). `rows` int64 are numbers of rows in `pieces` (see `ivm.kernels.memory.places`); lies[0]
    is where the address of the places of each piece stands. `pieces` of length 0: there is one, whose `places` are
    given. `dictionary` int64 (DICTIONARY,); who reads has its lock. What is found comes into `room`, and `places` tell
    of it; what they tell of already stays, and what is not known keeps no stride there. Cost: 20 ns a text.
    """
    to, codes, count = address_of(room), _WORD, len(rows)
    for i in range(len(wanted)):
        place = places[wanted[i, TO]]
        if wanted[i, MEMO] == 0:
            codes = _WORD
            if place[STRIDE] != 0:
                if place[STRIDE] == 4 and place[VALIDITY] == 0 and place[PIECES] == 0:
                    codes = place[ADDRESS]
            elif _look_up(wanted[i, COLUMN], place, rows, lies, pieces, dictionary, to):
                codes = to
                _tell(place, codes, np.int64(4))
                to += (4 * count + 7) >> 3 << 3
        elif codes != 0 and place[STRIDE] == 0 and _values(wanted[i], codes, count, to):
            _tell(place, to, wanted[i, ITEM])
            to += (wanted[i, ITEM] * count + 7) >> 3 << 3


@part()
def _tell(place: Ints, address: Word, size: Word) -> None:
    """Here items lie, one behind the other."""
    place[VALIDITY] = place[PIECES] = 0
    place[ADDRESS], place[STRIDE], place[SIZE], place[BIT] = address, size, size, -1


@part()
def _look_up(column: Word, place: Ints, rows: Ints, lies: Ints, pieces: Ints, dictionary: Ints, codes: Word) -> bool:
    """Write down the codes of a column's texts; whether all are known."""
    slots = hashes_at(data_of(dictionary[SLOTS]), length_of(dictionary[SLOTS], 0))
    old = hashes_at(data_of(dictionary[OLD]), length_of(dictionary[OLD], 0))
    heap = bytes_at(data_of(dictionary[HEAP]), length_of(dictionary[HEAP], 0))
    begins = ints_at(data_of(dictionary[BEGINS]), length_of(dictionary[BEGINS], 0))
    marks = bytes_at(data_of(dictionary[MARKS]), length_of(dictionary[MARKS], 0))
    meta = ints_at(data_of(dictionary[META]), length_of(dictionary[META], 0))
    piece = address_of(place)
    for i in range(len(rows)):
        row = rows[i]
        if len(pieces) > 0:
            pages, starts = int32s_at(pieces[0], MANY), ints_at(pieces[1], MANY)
            number = np.int64(piece_of(pages, starts, row))
            row -= starts[number]
            piece = load(lies[0] + 8 * number, _WORD) + 8 * WORDS * column
        if told(piece, OFFSET_BYTES) == 0:
            return False
        begin, end = _bounds(piece, row)
        code = code_of(bytes_at(begin, end - begin), end - begin, slots, old, heap, begins, meta)
        if code < 0:
            return False
        if code < len(marks):
            marks[code] = 1
        store(codes + 4 * i, np.int32(code))
    return True


@part()
def _bounds(piece: Word, row: Word) -> tuple[Word, Word]:
    """The addresses where a text begins and where it ends."""
    width, size, data = told(piece, WIDTH), told(piece, OFFSET_BYTES), told(piece, BYTES)
    first, at = told(piece, ADDRESS), row
    if width != 0:
        if width == 1:
            at = np.int64(load(first + row, _BYTE))
        elif width == 2:
            at = np.int64(load(first + 2 * row, _SHORT))
        else:
            at = np.int64(load(first + 4 * row, _INT))
        first = told(piece, OFFSETS)
    if size == 4:
        return data + np.int64(load(first + 4 * at, _INT)), data + np.int64(load(first + 4 * at + 4, _INT))
    return data + load(first + 8 * at, _WORD), data + load(first + 8 * at + 8, _WORD)


@part()
def _values(wanted: Ints, codes: Word, count: Word, to: Word) -> bool:
    """Write down what is remembered of codes; whether that is something of each, and no NULL."""
    memo, item = ints_at(wanted[MEMO], MEMO_WORDS), wanted[ITEM]
    states, values = memo[STATES], memo[VALUES]
    for i in range(count):
        code = np.int64(load(codes + 4 * i, _INT))
        if code >= memo[KNOWN]:
            return False
        state = load(states + code, _BYTE)
        if state < FALSE or state > TRUE:
            return False
        if values == 0:
            store(to + i, np.uint8(state == TRUE))
        elif item == 4:
            store(to + 4 * i, load(values + 4 * code, _INT))
        else:
            for word in range(0, item, 8):
                store(to + item * i + word, load(values + item * code + word, _WORD))
    return True
