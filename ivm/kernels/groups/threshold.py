"""Multiplicities kept from falling below zero."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Int32s, Ints


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def clamp_cells(
    width: Word,
    state: Ints,
    row_diffs: Ints,
    row_cell: Int32s,
    cell_slot: Int32s,
    cell_previous: Int32s,
    cells: Ints,
    keys: Ints,
    out_cell: Int32s,
    diffs: Ints,
) -> Word:
    """Make `cells` (cells, 1) the multiplicities as of each cell, and write the changes of max(., 0).

    See `groups.table` for groups and cells. Returns the number of changes written to `keys`, `out_cell` and `diffs`,
    which have room for one a cell. Cost: a random access a cell.
    """
    for i in range(len(row_cell)):
        cells[row_cell[i], 0] += row_diffs[i]
    rows = 0
    for cell in range(len(cells)):
        slot, previous = np.int64(cell_slot[cell]), np.int64(cell_previous[cell])
        before = cells[previous, 0] if previous >= 0 else state[slot, width + 1]
        cells[cell, 0] += before
        diff = max(cells[cell, 0], 0) - max(before, 0)
        if diff != 0:
            for w in range(width):
                keys[rows, w] = state[slot, w]
            out_cell[rows] = cell
            diffs[rows] = diff
            rows += 1
    return rows
