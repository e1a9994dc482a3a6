"""The end of a time, undoing, and what is left in the end of groups by round. See `groups.round_block`."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.groups.block import DIRECTORY, ENTRIES, KEY_WORDS, LIVE, PARTS, SIZE, STATE
from ivm.kernels.groups.round_block import (
    CELL,
    CELLS,
    CELLS_FROM,
    COMMIT_FROM,
    FIELDS,
    FIRST,
    HEADS,
    HEAP,
    LENGTH,
    MADE,
    MARK,
    NEW,
    OF,
    OPEN,
    OPEN_FROM,
    ROUND,
    SLOT,
    STACK,
    TOUCH,
    TOUCH_FROM,
    TOUCHED,
    WAS_RANK,
    cells_in,
    opened_in,
    touched_in,
)
from ivm.kernels.groups.round_cells import free_cell, unlinked
from ivm.kernels.groups.slots import remove_slot, shift_of
from ivm.kernels.groups.table import free_slot
from ivm.kernels.memory.at import int32s_in, ints_in, words_in
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Ints


@njit(cache=True, nogil=True, fastmath=False)
def close_rounds(table: Ints, block: Ints) -> None:
    """The present time is over: what it has changed is as all else. Once is as good as twice."""
    cells, touched = cells_in(block), touched_in(block)
    for t in range(block[TOUCH_FROM], block[TOUCH + LENGTH]):
        cells[touched[t, CELL], MARK] = 0
    block[CELLS_FROM] = block[CELLS + LENGTH]
    close_groups(table, block)


@njit(cache=True, nogil=True, fastmath=False)
def undo_rounds(table: Ints, block: Ints, groups: Word, notes: Word, kept: Word) -> None:
    """Take back all but the first so many groups that were opened, cells that were touched, and cells that there were.

    Cost: as they cost.
    """
    width, state = table[KEY_WORDS], words_in(table, STATE)
    cells, touched = cells_in(block), touched_in(block)
    for t in range(block[TOUCH + LENGTH] - 1, notes - 1, -1):
        cell = touched[t, CELL]
        cells[cell, MARK] = np.int64(0) if cell < block[COMMIT_FROM] else -touched[t, OF] - 1
        for f in range(block[FIELDS]):
            cells[cell, HEADS + f] = touched[t, TOUCHED + f]
        if touched[t, NEW]:
            _free(block, cells, state, touched[t, OF], width, cell)
    for cell in range(block[CELLS + LENGTH] - 1, kept - 1, -1):
        _unlink(cells, state, -cells[cell, MARK] - 1, width, cell)
    block[CELLS + LENGTH] = block[CELLS_FROM] = min(block[CELLS + LENGTH], kept)
    undo_groups(table, block, groups, notes, state.shape[1] > width + 2)


@njit(cache=True, nogil=True, fastmath=False)
def settle_rounds(table: Ints, block: Ints, always: bool) -> None:
    """All that was noted is final: cells without anything go, and groups without cells, unless they stay `always`."""
    width, state = table[KEY_WORDS], words_in(table, STATE)
    cells, touched = cells_in(block), touched_in(block)
    for t in range(block[TOUCH + LENGTH]):
        cell = touched[t, CELL]
        if cells[cell, ROUND] >= 0 and _is_nothing(cells, cell):
            _free(block, cells, state, touched[t, OF], width, cell)
    for cell in range(block[COMMIT_FROM], block[CELLS + LENGTH]):
        if cells[cell, MARK] < 0 and cells[cell, ROUND] >= 0 and _is_nothing(cells, cell):
            _free(block, cells, state, -cells[cell, MARK] - 1, width, cell)
        cells[cell, MARK] = 0
    block[COMMIT_FROM] = block[CELLS_FROM] = block[CELLS + LENGTH]
    settle_groups(table, block, always)


@part(counted=True)
def _free(block: Ints, cells: Ints, state: Ints, slot: Word, width: Word, cell: Word) -> None:
    """Take a cell from its group, whose place another may have."""
    _unlink(cells, state, slot, width, cell)
    free_cell(block, cells, cell)


@part(counted=True)
def _unlink(cells: Ints, state: Ints, slot: Word, width: Word, cell: Word) -> None:
    """Take a cell from its group; if that is ranked, no cell is known to be touched last."""
    state[slot, width + 1] = unlinked(cells, state[slot, width + 1], cell)
    if state.shape[1] > width + 2:
        state[slot, width + 3] = 0


@part()
def _is_nothing(cells: Ints, cell: Word) -> bool:
    for f in range(HEADS, cells.shape[1]):
        if cells[cell, f] != 0:
            return False
    return True


@part(counted=True)
def close_groups(table: Ints, block: Ints) -> None:
    """The present time is over: its groups are not open any more, and none is due."""
    width, state, opened = table[KEY_WORDS], words_in(table, STATE), opened_in(block)
    for o in range(block[OPEN_FROM], block[OPEN + LENGTH]):
        state[opened[o, SLOT], width] = 0
    block[OPEN_FROM], block[TOUCH_FROM] = block[OPEN + LENGTH], block[TOUCH + LENGTH]
    block[HEAP + LENGTH], block[STACK + LENGTH], block[FIRST] = 0, 0, np.int64(-1)


@part(counted=True)
def undo_groups(table: Ints, block: Ints, groups: Word, notes: Word, is_ranked: bool) -> None:
    """Take back all but the first so many groups that were opened, whose cells are as they were; none is due.

    `is_ranked`: they have a field of which `opened` has what it was.
    """
    width, size, directory = table[KEY_WORDS], table[SIZE], int32s_in(table, DIRECTORY)
    parts, entries, state = words_in(table, PARTS), ints_in(table, ENTRIES), words_in(table, STATE)
    shift, opened = shift_of(directory), opened_in(block)
    for o in range(block[OPEN + LENGTH] - 1, groups - 1, -1):
        slot = opened[o, SLOT]
        state[slot, width] = 0
        if is_ranked:
            state[slot, width + 2] = opened[o, WAS_RANK]
        if opened[o, MADE]:
            remove_slot(slot, width, shift, size, directory, parts, entries, state)
            table[LIVE] -= 1
            free_slot(slot, width, state, table)
    block[TOUCH + LENGTH], block[OPEN + LENGTH] = min(block[TOUCH + LENGTH], notes), min(block[OPEN + LENGTH], groups)
    block[TOUCH_FROM], block[OPEN_FROM] = block[TOUCH + LENGTH], block[OPEN + LENGTH]
    block[HEAP + LENGTH], block[STACK + LENGTH], block[FIRST] = 0, 0, np.int64(-1)


@part(counted=True)
def settle_groups(table: Ints, block: Ints, always: bool) -> None:
    """Groups without cells go, unless they stay `always`; nothing is noted any more."""
    width, size, directory = table[KEY_WORDS], table[SIZE], int32s_in(table, DIRECTORY)
    parts, entries, state = words_in(table, PARTS), ints_in(table, ENTRIES), words_in(table, STATE)
    shift, opened = shift_of(directory), opened_in(block)
    for o in range(block[OPEN + LENGTH]):
        slot = opened[o, SLOT]
        if not always and state[slot, width] == 0 and state[slot, width + 1] == 0:
            remove_slot(slot, width, shift, size, directory, parts, entries, state)
            table[LIVE] -= 1
            free_slot(slot, width, state, table)
    block[TOUCH + LENGTH] = block[OPEN + LENGTH] = block[TOUCH_FROM] = block[OPEN_FROM] = 0
