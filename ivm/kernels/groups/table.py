"""A table of groups: key words to slots, each with a row of state; and the cells that a batch touches.

`state` is int64 (capacity, width + 1 + fields): a group's key words, its open cell + 1 (0 between batches), its
fields; the first field is its multiplicity. A cell is a group at one of the batch's times, numbered in the order of
their times; `previous` links a cell to the same group's cell before it, -1 if there is none. `index` is int64, open
addressing: the high half of a key's hash and slot + 1, 0 where nothing is; positions follow the hash, so growth is
one pass in order. `counts` is int64 (9): slots ever used, slots on the stack `free`, live groups, open cells; entries
of the index; the borders of the run, whether it goes on, and how many keys were searched for in it.

The run: as long as groups come in the ascending order of their keys, their slots are in that order too and need no
index. The slots from `counts[MELTED]` up to `counts[RUN]` are found by a binary search, but for those that the index
knows already; an empty group among them keeps its slot. See `groups.run`.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.hashing.function import hash_word, hash_words
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Hashes, Int32s, Ints

USED, FREE, LIVE, CELLS, INDEXED, MELTED, RUN, OPEN, SEARCHED = range(9)
COUNTS = 9
BLOCK = 64


@part()
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
                    if 3 * counts[INDEXED] + 3 > 2 * capacity or (counts[FREE] == 0 and counts[USED] == len(state)):
                        counts[CELLS] = cells
                        return np.int64(i)
                    slot = find_in_run(words, i, width, state, counts)
                    goes_on = slot < 0 and _is_next(words, i, width, state, counts)
                    if slot < 0:
                        slot = _new_slot(goes_on, free, counts)
                        make_group(slot, words, i, width, state)
                    elif is_empty(slot, width, state):
                        counts[LIVE] += 1
                    if not goes_on:
                        index[at] = np.int64((tag << np.uint64(32)) | np.uint64(slot + 1))
                        counts[INDEXED] += 1
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


@part()
def make_group(slot: Word, words: Ints, i: Word, width: Word, state: Ints) -> None:
    """Let a slot be the group of key i, with nothing in it."""
    for w in range(width):
        state[slot, w] = words[i, w]
    for f in range(width, state.shape[1]):
        state[slot, f] = 0


@part()
def is_empty(slot: Word, width: Word, state: Ints) -> bool:
    """Whether a slot has no open cell, and all of its fields are zero."""
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
def find_in_run(words: Ints, i: Word, width: Word, state: Ints, counts: Ints) -> Word:
    """The slot of key i in the run, or -1; a binary search, counted where the key lies within the run's borders."""
    low, high = counts[MELTED], counts[RUN]
    if low >= high or key_order(state, high - 1, words, i, width) < 0 or key_order(state, low, words, i, width) > 0:
        return np.int64(-1)
    counts[SEARCHED] += 1
    while low < high:
        middle = (low + high) // 2
        if key_order(state, middle, words, i, width) < 0:
            low = middle + 1
        else:
            high = middle
    return low if key_order(state, low, words, i, width) == 0 else np.int64(-1)


@part()
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


@part()
def has_key(state: Ints, slot: Word, words: Ints, i: Word, width: Word) -> bool:
    """Whether the group in a slot has key i of `words`."""
    for w in range(width):
        if state[slot, w] != words[i, w]:
            return False
    return True


@part()
def _is_next(words: Ints, i: Word, width: Word, state: Ints, counts: Ints) -> bool:
    """Whether the run goes on, and key i is above all there were."""
    last = counts[USED] - 1
    return counts[OPEN] != 0 and last + 1 < len(state) and (last < 0 or key_order(state, last, words, i, width) < 0)


@part()
def _new_slot(in_run: bool, free: Int32s, counts: Ints) -> Word:
    """A slot at the end of the run, or any other, whereupon the run does not go on."""
    counts[LIVE] += 1
    if not in_run:
        counts[OPEN] = 0
        if counts[FREE] > 0:
            counts[FREE] -= 1
            return np.int64(free[counts[FREE]])
    counts[USED] += 1
    if in_run:
        counts[RUN] = counts[USED]
    return counts[USED] - 1


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
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


@part()
def entry_of(slot: Word, width: Word, index: Ints, state: Ints) -> Word:
    """Where the index has its entry for a slot; where it would put one, as -1 - position, if it has none."""
    capacity = len(index)
    at = home(np.uint64(hash_words(state, slot, width)) >> np.uint64(32), capacity)
    while index[at] != 0:
        if np.int64(np.uint64(index[at]) & np.uint64(0xFFFFFFFF)) == slot + 1:
            return at
        at += 1
        if at == capacity:
            at = 0
    return -1 - at


@part()
def _release(slot: Word, width: Word, index: Ints, state: Ints, free: Int32s, counts: Ints) -> None:
    """Forget a group: take its entry out of the index and close the gap; its slot is free unless it is in the run."""
    gap = entry_of(slot, width, index, state)
    if gap >= 0:
        _remove_entry(gap, index)
        counts[INDEXED] -= 1
    if slot < counts[MELTED] or slot >= counts[RUN]:
        free[counts[FREE]] = slot
        counts[FREE] += 1
    counts[LIVE] -= 1


@part()
def _remove_entry(gap: Word, index: Ints) -> None:
    capacity, at = len(index), gap
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


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
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
        if is_empty(slot, width, state):
            _release(slot, width, index, state, free, counts)
    counts[CELLS] = 0
    # What was at the end of the run and is empty never was; as when a batch is undone.
    while counts[OPEN] != 0 and counts[USED] > counts[MELTED] and is_empty(counts[USED] - 1, width, state):
        counts[USED] -= 1
        counts[RUN] = counts[USED]
