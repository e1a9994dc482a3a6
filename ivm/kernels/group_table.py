"""A table of groups: key words to slots, each with a row of state; and the cells that a batch touches.

`state` is int64 (capacity, width + 1 + fields): a group's key words, its open cell + 1 (0 between batches), its
fields; the first field is its multiplicity. A cell is a group at one of the batch's times, numbered in the order of
their times; `previous` links a cell to the same group's cell before it, -1 if there is none. `index` is int64, open
addressing: the high half of a key's hash and slot + 1, 0 where nothing is; positions follow the hash, so growth is
one pass in order. `counts` is int64 (4): slots ever used, slots on the stack `free`, live groups, open cells.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ivm.kernels.hashing import hash_word, hash_words
from ivm.kernels.types import Hashes, Int32s, Ints
from ivm.kernels.wide import Word

USED, FREE, LIVE, CELLS = 0, 1, 2, 3
BLOCK = 64


@njit(cache=True, nogil=True, fastmath=False)
def home(tag: Word, capacity: Word) -> Word:
    """Where an entry with this high half of a hash belongs."""
    return np.int64((tag * np.uint64(capacity)) >> np.uint64(32))


@njit(cache=True, nogil=True, fastmath=False)
def open_cells(
    words: Ints,
    times: Ints,
    start: Word,
    width: Word,
    index: Ints,
    state: Ints,
    free: Int32s,
    counts: Ints,
    row_cell: Int32s,
    cell_slot: Int32s,
    cell_previous: Int32s,
    cell_time: Ints,
) -> Word:
    """Find or make the cell of each row from `start` on; the row that did not fit, or the number of rows.

    `words` (n, width) are the keys; `times` (n,) ascends, or has length 1 if all are the same. Cost: two random
    accesses a row, plus the making of a group where its key is new.
    """
    capacity = len(index)
    many = len(times) > 1
    cells = counts[CELLS]
    tags, slots = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.int64)
    for first in range(start, len(words), BLOCK):
        stop = min(first + BLOCK, len(words))
        guess(words, first, stop, width, index, state, tags, slots)
        for i in range(first, stop):
            # Rows of one key often come together.
            if i > first and has_key(words, i - 1, words, i, width) and (not many or times[i] == times[i - 1]):
                row_cell[np.uint64(i)] = row_cell[np.uint64(i - 1)]
                continue
            slot = slots[np.uint64(i - first)]
            if slot < 0 or (width > 1 and not has_key(state, slot, words, i, width)):
                tag = tags[i - first]
                at = home(tag, capacity)
                slot = np.int64(-1)
                while index[at] != 0:
                    entry = np.uint64(index[at])
                    if entry >> np.uint64(32) == tag:
                        slot = np.int64(entry & np.uint64(0xFFFFFFFF)) - 1
                        if has_key(state, slot, words, i, width):
                            break
                        slot = np.int64(-1)
                    at += 1
                    if at == capacity:
                        at = 0
                if slot < 0:
                    if 3 * counts[LIVE] + 3 > 2 * capacity or (counts[FREE] == 0 and counts[USED] == len(state)):
                        counts[CELLS] = cells
                        return np.int64(i)
                    slot = _take_slot(free, counts)
                    index[at] = np.int64((tag << np.uint64(32)) | np.uint64(slot + 1))
                    for w in range(width):
                        state[slot, w] = words[i, w]
                    for f in range(width, state.shape[1]):
                        state[slot, f] = 0
            cell = state[np.uint64(slot), np.uint64(width)] - 1
            if cell < 0 or (many and cell_time[cell] != times[i]):
                cell_slot[cells] = slot
                cell_previous[cells] = cell
                if many:
                    cell_time[cells] = times[i]
                cell = cells
                cells += 1
                state[slot, width] = cells
            row_cell[np.uint64(i)] = cell
    counts[CELLS] = cells
    return np.int64(len(words))


@njit(cache=True, nogil=True, fastmath=False)
def guess(
    words: Ints, first: Word, stop: Word, width: Word, index: Ints, state: Ints, tags: Hashes, slots: Ints
) -> None:
    """For rows [first, stop): the high half of the hash, and the slot named at its home, -1 unless it may be the key's.

    Loops this short have many random accesses under way at once, and what they touch is at hand for what comes next.
    Indexes are unsigned, since numba lets a negative one count from the end, which costs a test for each access.
    """
    capacity = len(index)
    if width == 1:
        for k in range(stop - first):
            tags[np.uint64(k)] = np.uint64(hash_word(words[np.uint64(first + k), 0])) >> np.uint64(32)
    else:
        for i in range(first, stop):
            tags[i - first] = np.uint64(hash_words(words, i, width)) >> np.uint64(32)
    size = np.uint64(capacity)
    for k in range(stop - first):
        at = np.uint64(k)
        entry = np.uint64(index[(tags[at] * size) >> np.uint64(32)])
        slot = np.int64(entry & np.uint64(0xFFFFFFFF)) - 1
        slots[at] = slot if entry >> np.uint64(32) == tags[at] else np.int64(-1)
    for k in range(stop - first):
        at = np.uint64(k)
        if slots[at] >= 0 and state[np.uint64(slots[at]), 0] != words[np.uint64(first) + at, 0]:
            slots[at] = np.int64(-1)


@njit(cache=True, nogil=True, fastmath=False)
def has_key(state: Ints, slot: Word, words: Ints, i: Word, width: Word) -> bool:
    """Whether the group in a slot has key i of `words`."""
    for w in range(width):
        if state[slot, w] != words[i, w]:
            return False
    return True


@njit(cache=True, nogil=True, fastmath=False)
def _take_slot(free: Int32s, counts: Ints) -> Word:
    counts[LIVE] += 1
    if counts[FREE] > 0:
        counts[FREE] -= 1
        return np.int64(free[counts[FREE]])
    counts[USED] += 1
    return counts[USED] - 1


@njit(cache=True, nogil=True, fastmath=False)
def rebuild_index(old: Ints, new: Ints) -> None:
    """Move the entries to a larger, empty index; no key is touched. Cost: one pass over both."""
    capacity = len(new)
    for i in range(len(old)):
        if old[i] != 0:
            at = home(np.uint64(old[i]) >> np.uint64(32), capacity)
            while new[at] != 0:
                at += 1
                if at == capacity:
                    at = 0
            new[at] = old[i]


@njit(cache=True, nogil=True, fastmath=False)
def _release(slot: Word, width: Word, index: Ints, state: Ints, free: Int32s, counts: Ints) -> None:
    """Forget a group: take its entry out of the index and close the gap, put its slot on the stack."""
    capacity = len(index)
    at = home(np.uint64(hash_words(state, slot, width)) >> np.uint64(32), capacity)
    while np.int64(np.uint64(index[at]) & np.uint64(0xFFFFFFFF)) != slot + 1:
        at += 1
        if at == capacity:
            at = 0
    gap = at
    while True:
        at += 1
        if at == capacity:
            at = 0
        if index[at] == 0:
            break
        wanted = home(np.uint64(index[at]) >> np.uint64(32), capacity)
        # The entry may move back unless its home lies, cyclically, behind the gap.
        if (at - wanted) % capacity >= (at - gap) % capacity:
            index[gap] = index[at]
            gap = at
    index[gap] = 0
    free[counts[FREE]] = slot
    counts[FREE] += 1
    counts[LIVE] -= 1


@njit(cache=True, nogil=True, fastmath=False)
def close_cells(
    keep: bool, cell_slot: Int32s, after: Ints, width: Word, index: Ints, state: Ints, free: Int32s, counts: Ints
) -> None:
    """End a batch: write the fields `after` (cells, fields) of each group's last cell if `keep`, forget empty groups.

    A group all of whose fields are zero is empty. Cost: one random access a cell.
    """
    fields = state.shape[1] - width - 1
    for cell in range(counts[CELLS]):
        slot = np.int64(cell_slot[cell])
        if keep and state[slot, width] == cell + 1:
            for f in range(fields):
                state[slot, width + 1 + f] = after[cell, f]
        elif keep or state[slot, width] == 0:
            continue
        state[slot, width] = 0
        empty = True
        for f in range(fields):
            if state[slot, width + 1 + f] != 0:
                empty = False
                break
        if empty:
            _release(slot, width, index, state, free, counts)
    counts[CELLS] = 0
