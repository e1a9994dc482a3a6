"""Reading rows of a column that lies in many pieces of foreign memory, as the batches of a table do.

Pieces follow each other by row number: piece p holds the rows from `starts[p]` up to `starts[p + 1]`, and
`bases[p]` + row * `stride` is the address of a row's item. `pages[row >> PAGE_BITS]` is the piece of the first row of
that page; the row's own piece is that or, where pieces are small, one of the next.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import operation, part
from ivm.kernels.types import Bools, Int32s, Ints

PAGE_BITS = 10
_ONE = np.uint64(1)
Int = int | np.int64


@operation(None, types.int64, None)
def _load(builder: Any, address: Any, like: Any) -> Any:
    """The item of the type of `like` at an address, wherever it begins; the caller knows that it is there."""
    return builder.load(builder.inttoptr(address, like.type.as_pointer()), align=1)


@part(inline=True)
def _piece_of(pages: Int32s, starts: Ints, row: Int) -> np.uint64:
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
        items[i] = _load(bases[_piece_of(pages, starts, row)] + row * stride, like)


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def gather_bits(pages: Int32s, starts: Ints, maps: Ints, rows: Ints, bits: Bools) -> None:
    """bits[i] = the bit of rows[i] in its piece's bitmap; True where there is none.

    `maps` (pieces, 2) are the address of each, 0 if there is none, and the bit with which it begins.
    """
    for position in range(len(rows)):
        i = np.uint64(position)
        row = rows[i]
        piece = _piece_of(pages, starts, row)
        bits[i] = True
        if maps[piece, 0] != 0:
            bit = maps[piece, 1] + row - starts[piece]
            bits[i] = (_load(maps[piece, 0] + (bit >> 3), np.uint8(0)) >> np.uint8(bit & 7)) & np.uint8(1) != 0
