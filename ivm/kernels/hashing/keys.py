"""Key words: how columns, where they lie, become the words that hash tables compare and keep.

`form` int64 (parts, FORM) says of each part of a key of which source its column is (see `ivm.kernels.memory.places`),
which of its columns it is, and what KIND of values it has; where it lies in the words: from a WORD on, or in a HALF
word only, -1 if not; and in which half word (NULL) which bit says that it is NULL, -1 if it never is, or is not told
of. Half word 2w is the low half of word w. A part that is not in a half word takes the whole word, a PAIR two.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.memory.at import address_of, double_bits, int32s_at, ints_at, load, scratch
from ivm.kernels.memory.places import (
    ADDRESS,
    PIECES,
    PLACES,
    REFERENCES,
    SIZE,
    SOURCE,
    STRIDE,
    UNREADABLE,
    VALIDITY,
    integer_at,
    locate,
    place_of,
    references_of,
    told,
)
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Int32s, Ints

SOURCE_NUMBER, COLUMN, KIND, WORD, HALF, NULL, NULL_BIT = range(7)
FORM = 7
INTEGER, DOUBLE, PAIR = range(3)
BLOCK = 256
"""How many rows go together through each part of the work, so that what they wait for overlaps."""
COMPLETE, WITH_NULLS = 0, 1
"""What `pack_all` finds: no value is NULL; some are."""
_WORD, _INT = np.int64(0), np.int32(0)
_block, _source = scratch(BLOCK), scratch(SOURCE)


@part()
def pack_block(form: Ints, sources: Word, first: Word, words: Ints, missing: Ints) -> bool:
    """words[i] = the key of row `first` + i, missing[i] other than 0 if a part of it is NULL, for up to BLOCK rows.

    `sources` stand at an address. False if a part cannot be read by its place. Where NULLs are told of, the value is
    zero; so is a key without parts.
    """
    count = len(words)
    zeroed = len(form) == 0
    for row in range(count):
        missing[np.uint64(row)] = 0
    for each in range(len(form)):
        zeroed |= form[each, NULL] >= 0
    if zeroed:
        words[:] = 0
    halves = int32s_at(address_of(words), 2 * count * words.shape[1])
    at = ints_at(_block(), count)
    for each in range(len(form)):
        place = place_of(sources, form[each, SOURCE_NUMBER], form[each, COLUMN])
        references, validity = references_of(sources, form[each, SOURCE_NUMBER]), told(place, VALIDITY)
        kind, word, half = form[each, KIND], np.uint64(form[each, WORD]), form[each, HALF]
        if (references | validity | told(place, PIECES)) == 0 and kind == INTEGER:
            if told(place, STRIDE) == 0:
                return False
            if half < 0:
                _take_integers(place, first, words, word)
            else:
                _take_halves(place, first, halves[half:], 2 * words.shape[1], count)
            continue
        size = locate(place, references, first, at, missing)
        if size == UNREADABLE:
            return False
        if half >= 0:
            step = 2 * words.shape[1]
            for row in range(count):
                halves[np.uint64(row * step + half)] = np.int32(integer_at(at[np.uint64(row)], size))
        elif kind == DOUBLE:
            for row in range(count):
                words[np.uint64(row), word] = double_bits(at[np.uint64(row)])
        elif size >= 8:
            for row in range(count):
                words[np.uint64(row), word] = load(at[np.uint64(row)], _WORD)
        else:
            for row in range(count):
                words[np.uint64(row), word] = integer_at(at[np.uint64(row)], size)
        if kind == PAIR:
            for row in range(count):
                words[np.uint64(row), word + np.uint64(1)] = load(at[np.uint64(row)] + 8, _WORD)
        if validity != 0:
            _put_nulls(form, each, words, halves, missing)
    return True


@part()
def _take_integers(place: Word, first: Word, words: Ints, word: np.uint64) -> None:
    """Integers that lie in one piece, none NULL, one row behind the other."""
    stride, size = told(place, STRIDE), told(place, SIZE)
    address = told(place, ADDRESS) + first * stride
    if size == 8:
        for row in range(len(words)):
            words[np.uint64(row), word] = load(address + row * stride, _WORD)
    elif size == 4:
        for row in range(len(words)):
            words[np.uint64(row), word] = load(address + row * stride, _INT)
    else:
        for row in range(len(words)):
            words[np.uint64(row), word] = integer_at(address + row * stride, size)


@part()
def _take_halves(place: Word, first: Word, halves: Int32s, step: Word, count: Word) -> None:
    """The same, of a part in half words, which are `step` apart."""
    stride, size = told(place, STRIDE), told(place, SIZE)
    address = told(place, ADDRESS) + first * stride
    if size == 4:
        for row in range(count):
            halves[np.uint64(row * step)] = load(address + row * stride, _INT)
    else:
        for row in range(count):
            halves[np.uint64(row * step)] = np.int32(integer_at(address + row * stride, size))


@part()
def _put_nulls(form: Ints, each: Word, words: Ints, halves: Ints, missing: Ints) -> None:
    """Tell of a part's NULLs in the words. `missing` has them in its lowest bit, and then in the one above."""
    word, half, step = form[each, WORD], form[each, HALF], 2 * words.shape[1]
    null, bit = form[each, NULL], np.int32(1) << np.int32(form[each, NULL_BIT])
    for row in range(len(words)):
        if missing[row] & 1 == 0:
            continue
        missing[row] = 2
        if null < 0:
            continue
        if half >= 0:
            halves[row * step + half] = 0
        else:
            words[row, word] = 0
            if form[each, KIND] == PAIR:
                words[row, word + 1] = 0
        halves[row * step + null] |= bit


@part()
def pack_all(form: Ints, sources: Word, first: Word, words: Ints) -> Word:
    """Make the words of all rows from `first` on; COMPLETE, WITH_NULLS, or UNREADABLE."""
    missing, found = ints_at(_block(), BLOCK), np.int64(COMPLETE)
    for begin in range(0, len(words), BLOCK):
        stop = min(begin + BLOCK, len(words))
        if not pack_block(form, sources, first + begin, words[begin:stop], missing[: stop - begin]):
            return np.int64(UNREADABLE)
        if are_any(missing, stop - begin):
            found = np.int64(WITH_NULLS)
    return found


@part()
def are_any(missing: Ints, rows: Word) -> bool:
    """Whether some key has a NULL."""
    found = np.int64(0)
    for row in range(rows):
        found |= missing[np.uint64(row)]
    return found != 0


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def pack_keys(form: Ints, places: Ints, words: Ints, missing: Ints) -> bool:
    """Make words (n, W) of the keys of all rows, and missing[i] other than 0 if a part of key i is NULL.

    They are of one source, whose `places` these are. Whether all could be read.
    """
    source = ints_at(_source(), SOURCE)
    source[PLACES], source[REFERENCES] = address_of(places), 0
    for begin in range(0, len(words), BLOCK):
        stop = min(begin + BLOCK, len(words))
        if not pack_block(form, address_of(source), begin, words[begin:stop], missing[begin:stop]):
            return False
    return True
