"""The run of a table of groups: groups that came in the ascending order of their keys, which no index holds.

See `groups.table`. Keys that go on ascending get the next slots, one after the other, and no hash is taken; what the
run is asked for moves to the index by and by, in proportion to the asking.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.groups.table import (
    CELLS,
    FREE,
    INDEXED,
    LIVE,
    MELTED,
    RUN,
    USED,
    entry_of,
    has_key,
    is_empty,
    key_order,
    make_group,
)
from ivm.kernels.hashing.function import hash_words
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Int32s, Ints


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def open_ascending(
    words: Ints,
    times: Ints,
    start: Word,
    width: Word,
    state: Ints,
    counts: Ints,
    row_cell: Int32s,
    cell_slot: Int32s,
    cell_previous: Int32s,
    cell_time: Ints,
) -> Word:
    """The cells of the rows from `start` on as long as their keys do not fall; the row that it ended at.

    As `open_cells`, for a run that goes on. It ends at a key below the last one, or where there is no slot left.
    Cost: a comparison a row, and the making of a group where its key is new.
    """
    many = len(times) > 1
    cells, slot = counts[CELLS], counts[USED] - 1
    known = slot >= 0 and not is_empty(slot, width, state)
    at = np.int64(start)
    while at < len(words):
        if at > start and has_key(words, at - 1, words, at, width) and (not many or times[at] == times[at - 1]):
            row_cell[np.uint64(at)] = row_cell[np.uint64(at - 1)]
            at += 1
            continue
        order = key_order(state, slot, words, at, width) if slot >= 0 else np.int64(-1)
        if order > 0 or (order == 0 and not known) or (order < 0 and slot + 1 == len(state)):
            break
        if order < 0:
            slot += 1
            make_group(slot, words, at, width, state)
            counts[LIVE] += 1
            known = True
        cell = state[slot, width] - 1
        if cell < 0 or (many and cell_time[cell] != times[at]):
            cell_slot[cells] = slot
            cell_previous[cells] = cell
            if many:
                cell_time[cells] = times[at]
            cell = cells
            cells += 1
            state[slot, width] = cells
        row_cell[np.uint64(at)] = cell
        at += 1
    counts[CELLS] = cells
    counts[USED] = counts[RUN] = slot + 1
    return at


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def melt(count: Word, width: Word, index: Ints, state: Ints, free: Int32s, counts: Ints) -> None:
    """Move the first `count` groups of the run to the index, which has room for them; slots of empty ones are free.

    Cost: a random access each.
    """
    goal = min(counts[MELTED] + count, counts[RUN])
    for slot in range(counts[MELTED], goal):
        if is_empty(slot, width, state):
            free[counts[FREE]] = slot
            counts[FREE] += 1
            continue
        at = entry_of(slot, width, index, state)
        if at < 0:
            tag = np.uint64(hash_words(state, slot, width)) >> np.uint64(32)
            index[-1 - at] = np.int64((tag << np.uint64(32)) | np.uint64(slot + 1))
            counts[INDEXED] += 1
    counts[MELTED] = goal
