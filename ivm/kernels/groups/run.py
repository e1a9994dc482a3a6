"""The run of a table of groups: groups that came in the ascending order of their keys, which no index holds.

See `groups.table`. Keys that go on ascending get the next slots, one after the other, and no hash is taken; what the
run is asked for moves to the index by and by, in proportion to the asking.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.groups.slots import has_place, put_slot, shift_of, tag_of
from ivm.kernels.groups.table import (
    CELLS,
    GONE,
    KNOWN,
    LIVE,
    MELTED,
    NEW,
    PARTITIONS,
    RUN,
    USED,
    begin_batch,
    free_slot,
    goes_on,
    key_order,
    make_group,
    touch,
)
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
    meta: Ints,
    row_cell: Int32s,
    cell_slot: Int32s,
    cell_previous: Int32s,
    cell_time: Ints,
) -> Word:
    """The cells of the rows from `start` on as long as their keys do not fall; the row that it ended at.

    As `open_cells`, for a run that goes on. It ends at a key below the last one, or where there is no slot left.
    Cost: a comparison a row, and the making of a group where its key is new.
    """
    begin_batch(counts, meta)
    cells, slot = meta[CELLS], counts[USED] - 1
    at = np.int64(start)
    while at < len(words):
        if at > start and goes_on(words, times, at):
            row_cell[np.uint64(at)] = row_cell[np.uint64(at - 1)]
            at += 1
            continue
        order = key_order(state, slot, words, at, width) if slot >= 0 else np.int64(-1)
        gone = slot >= 0 and state[slot, width] == GONE
        if order > 0 or (order == 0 and gone) or (order < 0 and slot + 1 == len(state)):
            break
        was = np.int64(KNOWN)
        if order < 0:
            slot += 1
            make_group(slot, words, at, width, state)
            counts[LIVE] += 1
            was = np.int64(NEW)
        cells = touch(at, slot, was, cells, times, width, state, row_cell, cell_slot, cell_previous, cell_time)
        at += 1
    meta[CELLS] = cells
    counts[USED] = counts[RUN] = slot + 1
    return at


@njit(cache=True, nogil=True, fastmath=False)
def melt(
    goal: Word,
    width: Word,
    size: Word,
    directory: Int32s,
    parts: Ints,
    entries: Ints,
    state: Ints,
    counts: Ints,
) -> Word:
    """Move the groups of the run below slot `goal` to the index; slots of those that are gone are free.

    Returns where the run begins then: below `goal` if the index has no room. Cost: a random access each.
    """
    scratch, shift = np.empty(size, np.int64), shift_of(directory)
    while counts[MELTED] < goal:
        slot = counts[MELTED]
        if state[slot, width] == GONE:
            free_slot(slot, width, state, counts)
        else:
            tag = tag_of(slot, width, state)
            if not has_place(tag, shift, size, directory, parts, entries, counts, PARTITIONS, scratch):
                break
            put_slot(tag, slot, shift, size, directory, parts, entries)
        counts[MELTED] = slot + 1
    return counts[MELTED]
