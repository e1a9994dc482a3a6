"""Groups as of a time: the state that their latest cell not too late left behind, else that from before the batch.

See `groups.table` for groups and cells. A lookup brings a limit, the number of cells that are not too late for it;
cells are numbered in the order of their times, so the group's state is that of its last cell below the limit.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.groups.table import BLOCK, find_in_run, guess, has_key, home
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Bools, Int32s, Ints


@njit(cache=True, nogil=True, fastmath=False)
def link_back(previous: Int32s, jumps: Int32s) -> None:
    """For each cell an earlier one of the same group, or -1, such that any earlier one is a logarithm of steps away.

    A cell jumps over two jumps of equal length where its predecessor begins such a pair, else to its predecessor.
    Cost: two random accesses a cell.
    """
    depths = np.empty(len(previous), np.int32)
    for cell in range(len(previous)):
        before = np.int64(previous[cell])
        if before < 0:
            depths[cell] = 1
            jumps[cell] = -1
            continue
        first = np.int64(jumps[before])
        second = np.int64(jumps[first]) if first >= 0 else np.int64(-1)
        middle = depths[first] if first >= 0 else 0
        end = depths[second] if second >= 0 else 0
        depths[cell] = depths[before] + 1
        jumps[cell] = second if depths[before] - middle == middle - end else before


@njit(cache=True, nogil=True, fastmath=False)
def look_up_groups(
    words: Ints,
    dropped: Bools,
    limits: Ints,
    always: bool,
    width: Word,
    index: Ints,
    state: Ints,
    counts: Ints,
    previous: Int32s,
    jumps: Int32s,
    after: Ints,
    positions: Ints,
    fields: Ints,
) -> Word:
    """Copy the fields of each key's group as of its limit to `fields`, the key's position to `positions`; how many.

    `words` (n, width); keys with a True in `dropped`, of length 0 if there are none, find nothing; `limits` has
    length 1 if all are the same; `after` are the fields of the cells. A group is there if its multiplicity is not
    zero, or `always`; fields of one that never was are zero. Cost: two random accesses a key, a third where the batch
    has touched its group, and a logarithm where it has done so at many times.
    """
    capacity, size = len(index), state.shape[1] - width - 1
    tags, slots = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.int64)
    found = 0
    for first in range(0, len(words), BLOCK):
        stop = min(first + BLOCK, len(words))
        guess(words, first, stop, width, index, state, tags, slots)
        for i in range(first, stop):
            if len(dropped) > 0 and dropped[i]:
                continue
            slot = slots[i - first]
            if slot < 0 or (width > 1 and not has_key(state, slot, words, i, width)):
                slot = _search(tags[i - first], words, i, width, index, state, capacity)
                if slot < 0:
                    slot = find_in_run(words, i, width, state, counts)
            cell = np.int64(-1)
            if slot >= 0:
                cell = _last_below(state[slot, width] - 1, limits[i if len(limits) > 1 else 0], previous, jumps)
            multiplicity = np.int64(0)
            if cell >= 0:
                multiplicity = after[cell, 0]
            elif slot >= 0:
                multiplicity = state[slot, width + 1]
            if multiplicity == 0 and not always:
                continue
            for f in range(size):
                if cell >= 0:
                    fields[found, f] = after[cell, f]
                else:
                    fields[found, f] = state[slot, width + 1 + f] if slot >= 0 else 0
            positions[found] = i
            found += 1
    return found


@part()
def _search(tag: Word, words: Ints, i: Word, width: Word, index: Ints, state: Ints, capacity: Word) -> Word:
    """The slot of a key that is not at its home; -1 if it has none."""
    at = home(tag, capacity)
    while index[at] != 0:
        entry = np.uint64(index[at])
        if entry >> np.uint64(32) == tag:
            slot = np.int64(entry & np.uint64(0xFFFFFFFF)) - 1
            if has_key(state, slot, words, i, width):
                return slot
        at += 1
        if at == capacity:
            at = 0
    return np.int64(-1)


@part()
def _last_below(cell: Word, limit: Word, previous: Int32s, jumps: Int32s) -> Word:
    """The last cell of the group before the limit, from its last cell on backwards; -1 if there is none."""
    while cell >= limit and cell >= 0:
        jump = np.int64(jumps[cell])
        cell = jump if jump >= limit else np.int64(previous[cell])
    return cell
