"""A table of groups: key words to slots, each with a row of state; and the cells that a batch touches.

`state` is int64 (capacity, width + 1 + fields): a group's key words, its mark, its fields; the first field is its
multiplicity. The mark is 0, or the group's last open cell + 1, or that of a slot without a group: GONE in the run, else
LAST_FREE - 1 - the next free slot, LAST_FREE if there is none. A cell is a group at one of the batch's times, numbered
in the order of their times; `previous` links a cell to the same group's cell before it, or says what its group was
before the batch: KNOWN, NEW or GONE. For `directory`, `parts` and `entries` see `groups.slots`.

`counts` is int64 (COUNTS): slots ever used, the first free slot + 1, free slots, groups, where the run ends, whether it
goes on; where the run begins, partitions of the index. The run: groups that came in the ascending order of their keys
got the next slots, one after the other, so that no hash was taken and no index holds them. The slots from
`counts[MELTED]` up to `counts[RUN]` are found by a binary search; what the run is asked for moves to the index by and
by, in proportion to the asking.

`meta` is int64 (META): how far a batch has come, its cells, how many keys were searched for in the run, how many groups
it left empty, and what the first of `counts` were before. So what a kernel has done is known, and can be undone,
wherever an exception comes.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.groups.slots import find_slot, guess, has_place, put_slot, remove_slot, shift_of, tag_of
from ivm.kernels.hashing.slots import same_key
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Int32s, Ints

USED, FREE, FREED, LIVE, RUN, OPEN = range(6)
MELTED, PARTITIONS = 6, 7
STEPPED, COUNTS = 6, 8
"""How many of the counts a batch changes, of how many in all."""

PHASE, CELLS, SEARCHED, EMPTIED, BEFORE = range(5)
META = BEFORE + STEPPED
UNTOUCHED, OPENED, FOLDED, UNDONE = range(4)
"""The phases of a batch: its fields are nowhere, still its own, the groups' (which have left theirs in their place)."""

KNOWN, GONE, NEW = -1, -2, -3
LAST_FREE = -3
BLOCK = 64


@njit(cache=True, nogil=True, fastmath=False)
def open_cells(
    words: Ints,
    times: Ints,
    start: Word,
    width: Word,
    size: Word,
    directory: Int32s,
    parts: Ints,
    entries: Ints,
    state: Ints,
    counts: Ints,
    meta: Ints,
    row_cell: Int32s,
    cell_slot: Int32s,
    cell_previous: Int32s,
    cell_time: Ints,
) -> Word:
    """Find or make the cell of each row from `start` on; the row that did not fit, or the number of rows.

    `words` (n, width) are the keys; `times` (n,) ascends, or has length 1 if all are the same. Cost: two random
    accesses a row, plus the making of a group where its key is new.
    """
    tags, slots, scratch = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.int64), np.empty(size, np.int64)
    begin_batch(counts, meta)
    shift, cells = shift_of(directory), meta[CELLS]
    for first in range(start, len(words), BLOCK):
        stop = min(first + BLOCK, len(words))
        guess(words, first, stop, width, shift, size, directory, entries, state, tags, slots)
        for i in range(first, stop):
            if i > first and goes_on(words, times, i):
                row_cell[np.uint64(i)] = row_cell[np.uint64(i - 1)]
                continue
            slot, was = slots[np.uint64(i - first)], np.int64(KNOWN)
            if slot < 0 or (width > 1 and not same_key(words, i, state, slot)):
                tag = tags[np.uint64(i - first)]
                slot = find_slot(tag, words, i, shift, size, directory, entries, state)
                if slot < 0 and is_in_run(words, i, width, state, counts):
                    meta[SEARCHED] += 1
                    slot = find_in_run(words, i, width, state, counts)
                    if slot >= 0 and state[slot, width] == GONE:
                        state[slot, width] = 0
                        counts[LIVE] += 1
                        was = np.int64(GONE)
                if slot < 0:
                    is_next = _is_next(words, i, width, state, counts)
                    if not is_next:
                        full = counts[FREE] == 0 and counts[USED] == len(state)
                        if full or not has_place(
                            tag, shift, size, directory, parts, entries, counts, PARTITIONS, scratch
                        ):
                            meta[CELLS] = cells
                            return np.int64(i)
                    slot = _new_slot(is_next, width, state, counts)
                    make_group(slot, words, i, width, state)
                    was = np.int64(NEW)
                    if not is_next:
                        put_slot(tag, slot, shift, size, directory, parts, entries)
            cells = touch(i, slot, was, cells, times, width, state, row_cell, cell_slot, cell_previous, cell_time)
    meta[CELLS] = cells
    return np.int64(len(words))


@part()
def begin_batch(counts: Ints, meta: Ints) -> None:
    """Note what there was before the first rows of a batch."""
    if meta[PHASE] == UNTOUCHED:
        for c in range(STEPPED):
            meta[BEFORE + c] = counts[c]
        meta[PHASE] = OPENED


@part(inline=True)
def goes_on(words: Ints, times: Ints, i: Word) -> bool:
    """Whether row i has the key and the time of the row before it, as rows that come together often do."""
    return same_key(words, i - 1, words, i) and (len(times) == 1 or times[i] == times[i - 1])


@part(inline=True)
def touch(
    i: Word, slot: Word, was: Word, cells: Word, times: Ints, width: Word, state: Ints, row_cell: Int32s,
    cell_slot: Int32s, cell_previous: Int32s, cell_time: Ints,
) -> Word:  # fmt: skip
    """Note the cell of row i, a new one if its group has none at its time; how many cells there are then."""
    many, cell = len(times) > 1, state[np.uint64(slot), np.uint64(width)] - 1
    if cell < 0 or (many and cell_time[cell] != times[i]):
        cell_slot[cells] = slot
        cell_previous[cells] = cell if cell >= 0 else was
        if many:
            cell_time[cells] = times[i]
        cell = cells
        cells += 1
        state[slot, width] = cells
    row_cell[np.uint64(i)] = cell
    return cells


@part()
def make_group(slot: Word, words: Ints, i: Word, width: Word, state: Ints) -> None:
    """Let a slot be the group of key i, with nothing in it."""
    for w in range(width):
        state[slot, w] = words[i, w]
    for f in range(width, state.shape[1]):
        state[slot, f] = 0


@part()
def is_empty(slot: Word, width: Word, state: Ints) -> bool:
    """Whether there is a group in a slot that has no open cell, and all of whose fields are zero."""
    for f in range(width, state.shape[1]):
        if state[slot, f] != 0:
            return False
    return True


@part()
def key_order(state: Ints, slot: Word, words: Ints, i: Word, width: Word) -> Word:
    """-1, 0 or 1 as the key in a slot is below, equal to or above key i of `words`, in the order of the words."""
    for w in range(width):
        if state[slot, w] != words[i, w]:
            return np.int64(-1) if state[slot, w] < words[i, w] else np.int64(1)
    return np.int64(0)


@part()
def is_in_run(words: Ints, i: Word, width: Word, state: Ints, counts: Ints) -> bool:
    """Whether key i lies within the run's borders."""
    low, high = counts[MELTED], min(counts[RUN], np.int64(len(state)))
    return (
        low < high
        and key_order(state, high - 1, words, i, width) >= 0
        and key_order(state, low, words, i, width) <= 0
    )  # fmt: skip


@part()
def find_in_run(words: Ints, i: Word, width: Word, state: Ints, counts: Ints) -> Word:
    """The slot of key i in the run, or -1; a binary search."""
    low, high = counts[MELTED], min(counts[RUN], np.int64(len(state)))
    end = high
    while low < high:
        middle = (low + high) // 2
        if key_order(state, middle, words, i, width) < 0:
            low = middle + 1
        else:
            high = middle
    return low if low < end and key_order(state, low, words, i, width) == 0 else np.int64(-1)


@part()
def _is_next(words: Ints, i: Word, width: Word, state: Ints, counts: Ints) -> bool:
    """Whether the run goes on, and key i is above all there were."""
    last = counts[USED] - 1
    return counts[OPEN] != 0 and last + 1 < len(state) and (last < 0 or key_order(state, last, words, i, width) < 0)


@part()
def _new_slot(in_run: bool, width: Word, state: Ints, counts: Ints) -> Word:
    """A slot at the end of the run, or any other, whereupon the run does not go on."""
    counts[LIVE] += 1
    if not in_run:
        counts[OPEN] = 0
        if counts[FREE] != 0:
            slot = counts[FREE] - 1
            counts[FREE] = LAST_FREE - state[slot, width]
            counts[FREED] -= 1
            return slot
    counts[USED] += 1
    if in_run:
        counts[RUN] = counts[USED]
    return counts[USED] - 1


@part()
def free_slot(slot: Word, width: Word, state: Ints, counts: Ints) -> None:
    """Let a slot outside of the run be used again."""
    state[slot, width] = LAST_FREE - counts[FREE]
    counts[FREE] = slot + 1
    counts[FREED] += 1


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def fold_cells(width: Word, state: Ints, after: Ints, meta: Ints, cell_slot: Int32s) -> None:
    """Give the groups of an open batch the fields `after` of their last cells, which get in exchange what they had.

    Cost: one random access a cell.
    """
    if meta[PHASE] != OPENED:
        return
    for cell in range(meta[CELLS]):
        _exchange(cell, width, state, after, cell_slot)
        meta[EMPTIED] += is_empty(np.int64(cell_slot[cell]), width, state)
    meta[PHASE] = FOLDED


@part()
def _exchange(cell: Word, width: Word, state: Ints, after: Ints, cell_slot: Int32s) -> None:
    """Exchange the fields of a cell and of its group if it is the group's last, and close it."""
    slot = np.int64(cell_slot[cell])
    if state[slot, width] == cell + 1:
        for f in range(after.shape[1]):
            field = state[slot, width + 1 + f]
            state[slot, width + 1 + f] = after[cell, f]
            after[cell, f] = field
        state[slot, width] = 0


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def undo_cells(
    width: Word,
    size: Word,
    directory: Int32s,
    parts: Ints,
    entries: Ints,
    state: Ints,
    counts: Ints,
    after: Ints,
    meta: Ints,
    cell_slot: Int32s,
    cell_previous: Int32s,
) -> None:
    """Take a batch back, folded or not, the last one that there is; its new groups go. Once is as good as twice.

    Cost: one random access a cell.
    """
    if meta[PHASE] == FOLDED:
        for cell in range(meta[CELLS]):
            state[cell_slot[cell], width] = cell + 1
        for cell in range(meta[CELLS]):
            _exchange(cell, width, state, after, cell_slot)
        meta[PHASE] = OPENED
    if meta[PHASE] != OPENED:
        return
    shift = shift_of(directory)
    # From the last one on, so that free slots are in the order in which they were.
    for cell in range(meta[CELLS] - 1, -1, -1):
        slot, previous = np.int64(cell_slot[cell]), cell_previous[cell]
        state[slot, width] = 0
        if previous == GONE:
            state[slot, width] = GONE
        elif previous == NEW:
            remove_slot(slot, width, shift, size, directory, parts, entries, state)
            if slot < meta[BEFORE + USED]:
                free_slot(slot, width, state, counts)
    for c in range(STEPPED):
        counts[c] = meta[BEFORE + c]
    meta[PHASE] = UNDONE


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def release_empty(
    slots: Int32s,
    width: Word,
    size: Word,
    directory: Int32s,
    parts: Ints,
    entries: Ints,
    state: Ints,
    counts: Ints,
) -> None:
    """Forget those of the groups in the given slots that are empty; their slots are free unless they are in the run.

    Cost: one random access each.
    """
    shift = shift_of(directory)
    for s in range(len(slots)):
        slot = np.int64(slots[s])
        if not is_empty(slot, width, state):
            continue
        remove_slot(slot, width, shift, size, directory, parts, entries, state)
        counts[LIVE] -= 1
        if counts[MELTED] <= slot < counts[RUN]:
            state[slot, width] = GONE
        else:
            free_slot(slot, width, state, counts)
    # What is at the end of the run and gone need never have been.
    while counts[OPEN] != 0 and counts[USED] > counts[MELTED] and state[counts[USED] - 1, width] == GONE:
        counts[USED] -= 1
        counts[RUN] = counts[USED]


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
