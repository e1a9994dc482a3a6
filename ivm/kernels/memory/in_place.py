"""Loops over what lies in Arrow's memory: whole arrays, and rows of a column in many pieces, as a table's batches are.

Pieces follow each other by row number: piece p holds the rows from `starts[p]` up to `starts[p + 1]`, and
`bases[p]` + row * `stride` is the address of a row's item. `pages[row >> PAGE_BITS]` is the piece of the first row of
that page; the row's own piece is that or, where pieces are small, one of the next.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.memory.at import load
from ivm.kernels.types import Bools, Int32s, Ints

PAGE_BITS = 10
PAGES, STARTS, PAGES_ROOM, STARTS_ROOM, COUNT = range(5)
PIECES_OF = 5
"""The words of pieces: where both arrays lie, for how many items there is room, and how many pieces there are."""
_ONE = np.uint64(1)
Int = int | np.int64


@part(inline=True)
def piece_of(pages: Int32s, starts: Ints, row: Int) -> np.uint64:
    """The piece that a row lies in."""
    piece = np.uint64(pages[np.uint64(row >> PAGE_BITS)])
    while starts[piece + _ONE] <= row:
        piece += _ONE
    return piece


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def gather_items(pages: Int32s, starts: Ints, bases: Ints, stride: int, rows: Ints, items: Ints) -> None:
    """items[i] = the item of rows[i], int32, int64 or, for two words, complex128 as it lies there."""
    like = items.dtype.type(0)
    for position in range(len(rows)):
        i = np.uint64(position)
        row = rows[i]
        items[i] = load(bases[piece_of(pages, starts, row)] + row * stride, like)


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def gather_bits(pages: Int32s, starts: Ints, maps: Ints, rows: Ints, bits: Bools) -> None:
    """bits[i] = the bit of rows[i] in its piece's bitmap; True where there is none.

    `maps` (pieces, 2) are the address of each, 0 if there is none, and the bit with which it begins.
    """
    for position in range(len(rows)):
        i = np.uint64(position)
        row = rows[i]
        piece = piece_of(pages, starts, row)
        bits[i] = True
        if maps[piece, 0] != 0:
            bit = maps[piece, 1] + row - starts[piece]
            bits[i] = (load(maps[piece, 0] + (bit >> 3), np.uint8(0)) >> np.uint8(bit & 7)) & np.uint8(1) != 0


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def decimals_fit(words: Ints, bound: int) -> bool:
    """Whether all 128-bit integers of `words` int64 (n, 2), low words first, lie between -bound and bound (below
    2^62), both excluded.
    """
    span = np.uint64(2 * bound - 2)
    wrong = np.int64(0)
    for row in range(len(words)):
        i = np.uint64(row)
        low = words[i, 0]
        wrong |= words[i, 1] ^ (low >> np.int64(63))
        wrong |= np.int64(np.uint64(low + np.int64(bound - 1)) > span)
    return wrong == 0


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def all_within(values: Ints, first: int, last: int) -> bool:
    """Whether all values, integers of any width, lie between `first` and `last`, both included."""
    wrong = False
    for row in range(len(values)):
        value = values[np.uint64(row)]
        wrong |= (value < first) | (value > last)
    return not wrong


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def look_up(table: Ints, places: Ints, found: Ints) -> None:
    """found[i] = table[places[i]], codes as int32; the places are known to lie there: three times as fast as numpy."""
    for row in range(len(places)):
        i = np.uint64(row)
        found[i] = table[np.uint64(places[i])]


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def pick(table: Ints, address: int, width: int, found: Ints) -> None:
    """found[i] = the value of the table at the place that is the integer number i at an address, of `width` bytes: 1, 2
    or 4. The places are known to lie there.
    """
    for row in range(len(found)):
        i = np.uint64(row)
        if width == 4:
            found[i] = table[np.uint64(load(address + 4 * row, np.int32(0)))]
        elif width == 1:
            found[i] = table[np.uint64(load(address + row, np.int8(0)))]
        else:
            found[i] = table[np.uint64(load(address + 2 * row, np.int16(0)))]
