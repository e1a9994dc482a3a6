"""Multiplicities that are kept from falling below zero: a step of distinct rows in one call.

`frame` int64 has numbers, and arrays by their `id`: how many columns a row has, how keys are made of them (see
`hashing.keys`), where these are read (see `memory.places.lay_updates`), and None; then how far its cells are, a list of
the sources, which are written down behind the frame, times, diffs (0: all are one), the fields of the cells, and memory
for what changes, with room for so many rows.

What changes is written, one after the other, as key words, diffs and, if there are many, times.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.groups.block import CELLS, KEY_WORDS, META, PHASE, PUT, ROWS, STATE, TIMES, cells_at
from ivm.kernels.groups.opening import open_keyed
from ivm.kernels.memory.at import address_of, data_if, data_of, int32s_at, ints_at, words_at, words_in
from ivm.kernels.memory.places import lay_updates
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Ints

KEYS, KEY_FORM, READS, NONE = range(4)
AT, LISTED, ROW_TIMES, DIFFS, AFTER, ROOM, CAPACITY = range(4, 11)
LENGTH = 11
NO_SLOTS, NOT_READABLE = -1, -2
"""What is said where there is no room for a group: the step goes on when it is called again, once there is. And where
some column, or the diffs, cannot be read where they lie: nothing is done.
"""


@njit(cache=True, nogil=True, fastmath=False)
def step_multiplicities(block: Ints, memory: Ints, frame: Ints) -> Word:
    """Add the diffs to the rows' multiplicities, and write the changes of max(., 0); how many those are.

    Or why they are not. See `groups.block` for `block` and `memory`. Cost: two random accesses a row, one a cell.
    """
    reads = words_at(data_of(frame[READS]), frame[KEYS], 2)
    if not lay_updates(frame[LISTED], frame[NONE], frame[DIFFS], reads, frame[LENGTH:]):
        return np.int64(NOT_READABLE)
    sources, form, times = address_of(frame) + 8 * LENGTH, frame[KEY_FORM], data_if(frame[ROW_TIMES])
    frame[AT] = open_keyed(block, memory, sources, frame[KEYS], form, times, frame[AT])
    if frame[AT] >= 0:
        return np.int64(NO_SLOTS)
    rows, cells, width, state = memory[ROWS], memory[CELLS], block[KEY_WORDS], words_in(block, STATE)
    row_cell, cell_slot = int32s_at(cells_at(memory, 0), rows), int32s_at(cells_at(memory, 1), cells)
    cell_previous = int32s_at(cells_at(memory, 2), cells)
    after, room, capacity = words_at(data_of(frame[AFTER]), cells, 1), data_of(frame[ROOM]), frame[CAPACITY]
    keys, out_diffs = words_at(room, capacity, width), ints_at(room + 8 * capacity * width, capacity)
    out_times = ints_at(room + 8 * capacity * (width + 1), capacity)
    diffs = ints_at(data_if(frame[DIFFS]), rows)
    for cell in range(cells):
        after[cell, 0] = 0
    for i in range(rows):
        after[row_cell[i], 0] += diffs[i] if frame[DIFFS] else np.int64(1)
    count = np.int64(0)
    for cell in range(cells):
        slot, previous = np.int64(cell_slot[cell]), np.int64(cell_previous[cell])
        before = after[previous, 0] if previous >= 0 else state[slot, width + 1]
        after[cell, 0] += before
        diff = max(after[cell, 0], 0) - max(before, 0)
        if diff != 0:
            for w in range(width):
                keys[count, w] = state[slot, w]
            out_diffs[count] = diff
            if memory[TIMES]:
                out_times[count] = memory[META + cell]
            count += 1
    memory[PHASE] = PUT
    return count
