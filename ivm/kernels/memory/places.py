"""Where columns lie: the one form in which kernels are told of them, whoever holds them.

A column's place is a row of WORDS words of int64; the places of a source's columns stand in one array, by number.

* ADDRESS: where the item of row 0 lies. Of a column in pieces, where an int64 for each piece lies, the address that its
  row 0 would have.
* STRIDE: the bytes from an item to the next; 0 of a column that cannot be read by its place, whose other words mean
  nothing then, but for what `ivm.kernels.memory.exported` says of codes.
* VALIDITY: 0 if no value is NULL; else where bits lie, lowest first, that are set where one is not, that of row 0 at
  BIT. Where BIT is below zero they are bytes, -BIT apart. Of a column in pieces two int64 for each piece lie there: the
  address of its bits, or 0, and the bit of its first row.
* SIZE: the bytes of an item, which may be less than STRIDE: 1 of a truth value, 4, 8, or 16 of two words, the low one
  first. What is INT64 may lie there as int32.
* PIECES: 0, or where two words lie: the addresses of `pages` and `starts`, by which the piece of a row is found; see
  `ivm.kernels.memory.in_place`.
* ROOM, VALID_ROOM: how many rows fit there, and in the mask, where a column grows.

A *source* is two words: the address of its places, and that of the int64 by which rows of it are referred to, or 0: a
row is its own number.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.memory.at import (
    MANY,
    address_of,
    bools_at,
    data_of,
    dimensions_of,
    int32s_at,
    ints_at,
    length_of,
    load,
    size_of,
    stride_of,
    words_at,
)
from ivm.kernels.memory.in_place import piece_of
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Bools, Ints

ADDRESS, STRIDE, VALIDITY, BIT, SIZE, PIECES, ROOM, VALID_ROOM = range(8)
WORDS = 8
PLACES, REFERENCES = range(2)
SOURCE = 2
"""The words of a source."""
UNREADABLE = -3
"""The answer where a column cannot be read by its place."""
_ITEMS = object.__basicsize__ + 8
_WORD, _BYTE, _INT = np.int64(0), np.uint8(0), np.int32(0)


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def tell(arrays: Word, none: Word, places: Ints) -> Word:
    """Write down where columns lie.

    `arrays` is the `id` of a list of numpy's arrays, of each column its values and its mask; `none` that of None, which
    stands for a mask where all are valid, and for the values of a column that there is not.

    How many arrays there are that a place cannot tell of: masks that go backwards or do not move, words that lie apart.
    """
    untold = np.int64(0)
    items = load(arrays + _ITEMS, _WORD)
    for column in range(len(places)):
        values, mask = load(items + 16 * column, _WORD), load(items + 16 * column + 8, _WORD)
        place = places[column]
        place[PIECES] = place[VALIDITY] = 0
        if values == none:
            place[ADDRESS] = place[STRIDE] = 0
            continue
        place[ADDRESS], place[STRIDE] = data_of(values), stride_of(values, 0)
        place[SIZE] = 16 if dimensions_of(values) == 2 else size_of(values)
        if dimensions_of(values) == 2:
            untold += np.int64(stride_of(values, 1) != 8 and length_of(values, 0) > 0)
        if mask != none:
            place[VALIDITY], place[BIT] = data_of(mask), -stride_of(mask, 0)
            if length_of(mask, 0) == 0:
                place[BIT] = -1  # what is empty may have no stride
            untold += np.int64(place[BIT] >= 0)
    return untold


@part()
def lay_updates(listed: Word, none: Word, diffs: Word, reads: Ints, sources: Ints) -> bool:
    """Write down sources as `lay_sources` does; whether the columns that are read can be, by their places, and diffs.

    `reads` int64 (columns, 2) has of each column in which source it lies, and under which number there; `diffs` is the
    `id` of an array that can be if it has int64, one behind the other, or 0: all are one.
    """
    if not lay_sources(listed, none, sources) or (diffs != 0 and not is_packed(diffs)):
        return False
    return are_readable(reads, address_of(sources))


@part()
def are_readable(reads: Ints, sources: Word) -> bool:
    """Whether columns can be read by their places; `reads` as in `lay_updates`, of the sources at an address."""
    for column in range(len(reads)):
        if told(place_of(sources, reads[column, 0], reads[column, 1]), STRIDE) == 0:
            return False
    return True


@part()
def lay_sources(listed: Word, none: Word, sources: Ints) -> bool:
    """Write down sources, of each of which a list has an array of its places, and one of its references, or None.

    `listed` is the `id` of the list, `none` that of None. False if references are not int64, one behind the other.
    """
    items = load(listed + _ITEMS, _WORD)
    for at in range(0, len(sources), SOURCE):
        references = load(items + 8 * (at + REFERENCES), _WORD)
        sources[at + PLACES], sources[at + REFERENCES] = data_of(load(items + 8 * (at + PLACES), _WORD)), 0
        if references != none:
            if not is_packed(references):
                return False
            sources[at + REFERENCES] = data_of(references)
    return True


@part(inline=True)
def is_packed(array: Word) -> bool:
    """Whether an array of numpy, of which this is the `id`, has int64 or float64, one behind the other.

    Where there are not two, numpy takes any stride for that, and so do its copies.
    """
    return size_of(array) == 8 and (stride_of(array, 0) == 8 or length_of(array, 0) < 2)


@part(inline=True)
def told(place: Word, which: Word) -> Word:
    """A word of the place at an address."""
    return load(place + 8 * which, _WORD)


@part(inline=True)
def place_of(sources: Word, source: Word, column: Word) -> Word:
    """The address of a column's place, of the sources that stand at an address."""
    return load(sources + 8 * SOURCE * source, _WORD) + 8 * WORDS * column


@part(inline=True)
def references_of(sources: Word, source: Word) -> Word:
    """Where the references of a source lie."""
    return load(sources + 8 * (SOURCE * source + REFERENCES), _WORD)


@part(inline=True)
def is_missing(validity: Word, bit: Word, row: Word) -> bool:
    """Whether a row is NULL, of a column in one piece that has a VALIDITY and a BIT."""
    if bit < 0:
        return load(validity - bit * row, _BYTE) == 0
    return (load(validity + ((bit + row) >> 3), _BYTE) >> np.uint8((bit + row) & 7)) & np.uint8(1) == 0


@part(inline=True)
def integer_at(address: Word, size: Word) -> Word:
    """The integer of so many bytes at an address, of two words the low one; one byte is a truth value."""
    if size >= 8:
        return load(address, _WORD)
    if size == 4:
        return np.int64(load(address, _INT))
    return np.int64(load(address, _BYTE))


@part()
def locate(place: Word, references: Word, first: Word, at: Ints, missing: Ints) -> Word:
    """at[i] = the address of the item of row `first` + i of a column, missing[i] |= 1 where it is NULL.

    How many bytes an item has; UNREADABLE if the column cannot be read so.
    """
    stride, size, validity = told(place, STRIDE), told(place, SIZE), told(place, VALIDITY)
    if stride == 0:
        return np.int64(UNREADABLE)
    address, bit, pieces = told(place, ADDRESS), told(place, BIT), told(place, PIECES)
    for row in range(len(at)):
        at[np.uint64(row)] = first + row
    if references != 0:
        for row in range(len(at)):
            at[np.uint64(row)] = load(references + 8 * (first + row), _WORD)
    if pieces != 0:
        _in_pieces(address, stride, pieces, validity, at, missing)
        return size
    if validity != 0:
        for row in range(len(at)):
            i = np.uint64(row)
            missing[i] |= np.int64(is_missing(validity, bit, at[i]))
    for row in range(len(at)):
        i = np.uint64(row)
        at[i] = address + stride * at[i]
    return size


@part()
def _in_pieces(bases: Word, stride: Word, pieces: Word, validity: Word, at: Ints, missing: Ints) -> None:
    """The addresses of rows of a column in pieces, in place of their numbers; where they are NULL, as `locate` does."""
    pages, starts = int32s_at(load(pieces, _WORD), MANY), ints_at(load(pieces + 8, _WORD), MANY)
    from_base = ints_at(bases, MANY)
    for row in range(len(at)):
        i = np.uint64(row)
        number = at[i]
        piece = piece_of(pages, starts, number)
        at[i] = from_base[piece] + stride * number
        if validity != 0:
            bits = load(validity + 16 * np.int64(piece), _WORD)
            first = load(validity + 16 * np.int64(piece) + 8, _WORD)
            missing[i] |= np.int64(bits != 0 and is_missing(bits, first, number - starts[piece]))


@part(counted=True)
def words_of(place: Word, references: Word, rows: Word, width: Word) -> Ints:
    """The words (rows, width) of a column that can be read, where they lie or copied; of doubles their bits."""
    stride, size = told(place, STRIDE), told(place, SIZE)
    address, in_place = told(place, ADDRESS), (references | told(place, PIECES)) == 0
    if in_place and stride == 8 * width and size == stride:
        return words_at(address, rows, width)
    words = np.empty((rows, width), np.int64)
    if in_place:
        for row in range(rows):
            for w in range(width):
                words[row, w] = integer_at(address + row * stride + 8 * w, size)
        return words
    at, missing = np.empty(rows, np.int64), np.empty(rows, np.int64)
    locate(place, references, np.int64(0), at, missing)
    for row in range(rows):
        for w in range(width):
            words[row, w] = integer_at(at[row] + 8 * w, size)
    return words


@part(counted=True)
def mask_of(place: Word, references: Word, rows: Word) -> Bools:
    """The mask (rows, 1) of a column that can be read, where it lies or copied; of length 0 if all are valid."""
    validity, bit = told(place, VALIDITY), told(place, BIT)
    if validity == 0:
        return bools_at(np.int64(0), 0, 1)
    in_place = (references | told(place, PIECES)) == 0
    if in_place and bit == -1:
        return bools_at(validity, rows, 1)
    valid = np.empty((rows, 1), np.bool_)
    if in_place:
        for row in range(rows):
            valid[row, 0] = not is_missing(validity, bit, np.int64(row))
        return valid
    at, missing = np.empty(rows, np.int64), np.zeros(rows, np.int64)
    locate(place, references, np.int64(0), at, missing)
    for row in range(rows):
        valid[row, 0] = missing[row] == 0
    return valid
