"""The end of a time, undoing, and what is left in the end of values by round. See `groups.value_block`."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.groups.block import KEY_WORDS, STATE
from ivm.kernels.groups.round_block import (
    CELL,
    FREE_CELL,
    FREE_CELLS,
    LENGTH,
    MARK,
    OF,
    ROUND,
    TOUCH,
    TOUCH_FROM,
)
from ivm.kernels.groups.round_block import NEW as IS_NEW
from ivm.kernels.groups.round_end import close_groups, settle_groups, undo_groups
from ivm.kernels.groups.treap import remove
from ivm.kernels.groups.value_block import COUNT, LEFT, WAS, changed_in, values_in
from ivm.kernels.memory.at import words_in
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Ints


@njit(cache=True, nogil=True, fastmath=False)
def close_values(table: Ints, block: Ints) -> None:
    """The present time is over: what it has changed is as all else. Once is as good as twice."""
    values, touched = values_in(block), changed_in(block)
    for t in range(block[TOUCH_FROM], block[TOUCH + LENGTH]):
        values[touched[t, CELL], MARK] = 0
    close_groups(table, block)


@njit(cache=True, nogil=True, fastmath=False)
def undo_values(table: Ints, block: Ints, groups: Word, notes: Word) -> None:
    """Take back all but the first so many groups that were opened, and cells that were touched. Cost: as they cost."""
    width, state = table[KEY_WORDS], words_in(table, STATE)
    values, touched = values_in(block), changed_in(block)
    for t in range(block[TOUCH + LENGTH] - 1, notes - 1, -1):
        cell = touched[t, CELL]
        values[cell, MARK], values[cell, COUNT] = np.int64(0), touched[t, WAS]
        if touched[t, IS_NEW]:
            _free(block, values, state, touched[t, OF], width, cell)
    undo_groups(table, block, groups, notes, False)


@njit(cache=True, nogil=True, fastmath=False)
def settle_values(table: Ints, block: Ints) -> None:
    """All that was noted is final: cells without anything go, and groups without cells."""
    width, state = table[KEY_WORDS], words_in(table, STATE)
    values, touched = values_in(block), changed_in(block)
    for t in range(block[TOUCH + LENGTH]):
        cell = touched[t, CELL]
        if values[cell, ROUND] >= 0 and values[cell, COUNT] == 0:
            _free(block, values, state, touched[t, OF], width, cell)
    settle_groups(table, block, False)


@part(counted=True)
def _free(block: Ints, values: Ints, state: Ints, slot: Word, width: Word, cell: Word) -> None:
    """Take a cell out of its group, whose place another may have."""
    state[slot, width + 1] = remove(values, state[slot, width + 1], cell + 1)
    values[cell, ROUND], values[cell, LEFT], block[FREE_CELL] = np.int64(-1), block[FREE_CELL], cell + 1
    block[FREE_CELLS] += 1
