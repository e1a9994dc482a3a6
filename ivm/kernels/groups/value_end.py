"""The end of a time, undoing, and what is left in the end of values by round. See `groups.value_block`."""

from __future__ import annotations

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.groups.block import KEY_WORDS, STATE
from ivm.kernels.groups.round_block import (
    CELL,
    LENGTH,
    MARK,
    NEW,
    NEXT,
    OF,
    ROUND,
    TOUCH,
    TOUCH_FROM,
    cells_in,
)
from ivm.kernels.groups.round_cells import unlinked
from ivm.kernels.groups.round_end import close_groups, settle_groups, undo_groups
from ivm.kernels.groups.treap import remove
from ivm.kernels.groups.value_block import (
    CHANGED,
    COUNT,
    FREE_VALUE,
    HEAD,
    LEFT,
    NODE,
    ROUND_CELL,
    WAS,
    changed_in,
    values_in,
)
from ivm.kernels.memory.at import words_in
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Ints


@njit(cache=True, nogil=True, fastmath=False)
def close_values(table: Ints, block: Ints) -> None:
    """The present time is over: what it has changed is as all else. Once is as good as twice."""
    cells, values, touched = cells_in(block), values_in(block), changed_in(block)
    for t in range(block[TOUCH_FROM], block[TOUCH + LENGTH]):
        cells[touched[t, CELL], MARK] = cells[touched[t, ROUND_CELL], MARK] = values[touched[t, NODE], CHANGED] = 0
    close_groups(table, block)


@njit(cache=True, nogil=True, fastmath=False)
def undo_values(table: Ints, block: Ints, groups: Word, notes: Word) -> None:
    """Take back all but the first so many groups that were opened, and cells that were touched. Cost: as they cost."""
    width, state = table[KEY_WORDS], words_in(table, STATE)
    cells, values, touched = cells_in(block), values_in(block), changed_in(block)
    for t in range(block[TOUCH + LENGTH] - 1, notes - 1, -1):
        cell, node = touched[t, CELL], touched[t, NODE]
        cells[cell, MARK] = cells[touched[t, ROUND_CELL], MARK] = values[node, CHANGED] = 0
        cells[cell, COUNT] = touched[t, WAS]
        if touched[t, NEW]:
            _free(block, cells, values, state, touched[t, OF], width, node, cell)
    undo_groups(table, block, groups, notes, False)


@njit(cache=True, nogil=True, fastmath=False)
def settle_values(table: Ints, block: Ints) -> None:
    """All that was noted is final: cells without anything go, values without cells, and groups without values."""
    width, state = table[KEY_WORDS], words_in(table, STATE)
    cells, values, touched = cells_in(block), values_in(block), changed_in(block)
    for t in range(block[TOUCH + LENGTH]):
        cell = touched[t, CELL]
        if cells[cell, ROUND] >= 0 and cells[cell, COUNT] == 0:
            _free(block, cells, values, state, touched[t, OF], width, touched[t, NODE], cell)
    settle_groups(table, block, False)


@part(counted=True)
def _free(
    block: Ints, cells: Ints, values: Ints, state: Ints, slot: Word, width: Word, node: Word, cell: Word
) -> None:  # fmt: skip
    """Take a cell out of its value, and what it was the last of out of the group."""
    number = cells[cell, ROUND]
    values[node, HEAD] = unlinked(block, cells, values[node, HEAD], cell)
    if values[node, HEAD] == 0:
        state[slot, width + 1] = remove(values, state[slot, width + 1], node + 1)
        values[node, LEFT], block[FREE_VALUE] = block[FREE_VALUE], node + 1
    at = state[slot, width + 2]
    while cells[at - 1, ROUND] != number:
        at = cells[at - 1, NEXT]
    cells[at - 1, COUNT] -= 1
    if cells[at - 1, COUNT] == 0:
        state[slot, width + 2] = unlinked(block, cells, state[slot, width + 2], at - 1)
