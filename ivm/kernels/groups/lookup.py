"""Groups as of a time: while a batch is open, and as of a sealed time that is past. Nothing here writes to the groups.

See `groups.table` for groups and cells. A lookup in an open batch brings a limit, the number of cells that are not too
late for it; cells are numbered in the order of their times, so the group's state is that of its last cell below the
limit, else that from before the batch.

Who reads as of a sealed time has images of the groups that have changed since: `image_of` int32 (slots that there were)
says which row of `images` is a slot's, counted from 1; 0 where the group is as it was.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.groups.block import DIRECTORY, ENTRIES, KEY_WORDS, SIZE, STATE
from ivm.kernels.groups.slots import find_slot, guess, shift_of
from ivm.kernels.groups.table import BLOCK
from ivm.kernels.hashing.slots import same_key
from ivm.kernels.memory.at import int32s_in, ints_in, words_in
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
    block: Ints,
    previous: Int32s,
    jumps: Int32s,
    image_of: Int32s,
    others: Ints,
    positions: Ints,
    fields: Ints,
) -> Word:
    """Copy the fields of each key's group as of its limit to `fields`, the key's position to `positions`; how many.

    `words` (n, width); keys with a True in `dropped`, of length 0 if there are none, find nothing. `limits` has
    length 1 if all are the same, and `others` are the fields of the cells; as of a sealed time `limits` has length 0,
    and `others` are the images. A group is there if its multiplicity is not zero, or `always`; fields of one that never
    was are zero. Cost: two random accesses a key, a third where the fields are not the group's, and a logarithm where
    the batch has touched it at many times.
    """
    width, size, directory = block[KEY_WORDS], block[SIZE], int32s_in(block, DIRECTORY)
    entries, state = ints_in(block, ENTRIES), words_in(block, STATE)
    tags, slots = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.int64)
    shift, found = shift_of(directory), np.int64(0)
    for first in range(0, len(words), BLOCK):
        stop = min(first + BLOCK, len(words))
        guess(words, first, stop, width, shift, size, directory, entries, state, tags, slots)
        for i in range(first, stop):
            if len(dropped) > 0 and dropped[i]:
                continue
            slot = slots[i - first]
            if slot < 0 or (width > 1 and not same_key(words, i, state, slot)):
                slot = find_slot(tags[i - first], words, i, shift, size, directory, entries, state)
            other = np.int64(-1)
            if len(limits) == 0:
                if slot >= len(image_of):
                    slot = np.int64(-1)
                if slot >= 0:
                    other = np.int64(image_of[slot]) - 1
            elif slot >= 0:
                other = _last_below(state[slot, width] - 1, limits[i if len(limits) > 1 else 0], previous, jumps)
            if other >= 0:
                if always or others[other, 0] != 0:
                    _copy(others, other, 0, fields, found)
                    positions[found] = i
                    found += 1
            elif always or (slot >= 0 and state[slot, width + 1] != 0):
                _copy(state, slot, width + 1, fields, found)
                positions[found] = i
                found += 1
    return found


@part()
def _copy(rows: Ints, row: Word, first: Word, fields: Ints, to: Word) -> None:
    """Copy fields from column `first` on; zeros of a row below 0."""
    for f in range(fields.shape[1]):
        fields[to, f] = rows[row, first + f] if row >= 0 else 0


@part()
def _last_below(cell: Word, limit: Word, previous: Int32s, jumps: Int32s) -> Word:
    """The last cell of the group before the limit, from its last cell on backwards; below 0 if there is none."""
    while cell >= limit and cell >= 0:
        jump = np.int64(jumps[cell])
        cell = jump if jump >= limit else np.int64(previous[cell])
    return cell
