"""Moving the chains of a hash index to a bigger table, and to rows of other numbers. See `hashing.index`."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.hashing.function import hash_words
from ivm.kernels.hashing.index import MOVED, USED
from ivm.kernels.hashing.slots import EMPTY, GONE, find_slot
from ivm.kernels.types import Int32s, Ints


@part()
def _survives(following: Int32s, died: Ints, head: int, since: int) -> bool:
    """Whether the chain that begins with `head` (row number + 1) holds a row that had not died by `since`."""
    row = head - 1
    while row >= 0:
        if len(died) == 0 or died[row] > since:
            return True
        row = following[row]
    return False


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def count_keys(slots: Ints, following: Int32s, died: Ints, since: int, most: int) -> int:
    """How many keys of the first `most` slots have a row that had not died by `since`. Cost: a pass over them."""
    keys = 0
    for slot in range(min(most, len(slots))):
        keys += _survives(following, died, slots[slot, slots.shape[1] - 1], since)
    return keys


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def move_keys(
    slots: Ints, old: Ints, counts: Ints, following: Int32s, died: Ints, since: int, forget: bool, most: int
) -> bool:
    """Move the keys of the next `most` slots of `old` to `slots`, which is in the order of hashes too; whether all are.

    Keys without a row that lived after `since` stay behind, those whose chains are empty only where it may `forget`
    them: where no row can come back to one. Cost: a pass from front to back over each table.
    """
    width = np.uint64(slots.shape[1] - 1)
    goal = min(counts[MOVED] + most, len(old))
    for each in range(counts[MOVED], goal):
        place = np.uint64(each)
        head = old[place, width]
        if head == EMPTY:
            continue
        slot = find_slot(slots, old, place, hash_words(old, each, slots.shape[1] - 1))
        if slots[slot, width] != EMPTY:
            continue
        if (head == GONE and forget) or (head > 0 and not _survives(following, died, head, since)):
            continue
        for w in range(slots.shape[1]):
            slots[slot, np.uint64(w)] = old[place, np.uint64(w)]
        counts[USED] += 1
    counts[MOVED] = goal
    return goal == len(old)


@part()
def _reaches(following: Int32s, row: int, low: int, high: int) -> bool:
    """Whether the chain that begins with `row` has one from `low` on and below `high`."""
    while row >= high:
        row = following[row]
    return row >= low


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def count_chains(slots: Ints, old: Ints, counts: Ints, following: Int32s, low: int, high: int) -> int:
    """How many chains have a row from `low` on and below `high`. Cost: a pass over the tables."""
    width = np.uint64(slots.shape[1] - 1)
    chains = 0
    for slot in range(len(slots)):
        chains += _reaches(following, slots[np.uint64(slot), width] - 1, low, high)
    for slot in range(counts[MOVED], len(old)):
        place = np.uint64(slot)
        moved = find_slot(slots, old, place, hash_words(old, slot, slots.shape[1] - 1))
        if slots[moved, width] == EMPTY:
            chains += _reaches(following, old[place, width] - 1, low, high)
    return chains
