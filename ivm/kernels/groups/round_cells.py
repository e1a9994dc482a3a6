"""Cells of rounds: made, and taken out of the list that they are in. See `groups.round_block`."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.part import part
from ivm.kernels.groups.round_block import CELLS, FREE_CELL, FREE_CELLS, LENGTH, NEXT, ROUND
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Ints


@part(counted=True)
def new_cell(block: Ints, cells: Ints, number: Word) -> Word:
    """A cell + 1 of a round, with nothing in it."""
    if block[FREE_CELL] != 0:
        at = block[FREE_CELL]
        block[FREE_CELL] = cells[at - 1, NEXT]
        block[FREE_CELLS] -= 1
    else:
        block[CELLS + LENGTH] += 1
        at = block[CELLS + LENGTH]
    for f in range(cells.shape[1]):
        cells[at - 1, f] = 0
    cells[at - 1, ROUND] = number
    return at


@part(counted=True)
def unlinked(cells: Ints, head: Word, cell: Word) -> Word:
    """Take a cell out of the list of cells that begins with a first + 1: what it begins with then."""
    at, before = head, np.int64(0)
    while at != cell + 1:
        before, at = at, cells[at - 1, NEXT]
    following = cells[cell, NEXT]
    if before == 0:
        return following
    cells[before - 1, NEXT] = following
    return head


@part()
def free_cell(block: Ints, cells: Ints, cell: Word) -> None:
    """Let another have the place of a cell that is in no list."""
    cells[cell, ROUND], cells[cell, NEXT], block[FREE_CELL] = np.int64(-1), block[FREE_CELL], cell + 1
    block[FREE_CELLS] += 1
