"""Groups as of a time: while a batch is open, and as of a sealed time that is past. Nothing here writes to the groups.

See `groups.table` for groups and cells. Cells are numbered in the order of their times: what a group was at a time, its
last cell says that is below a limit, the number of cells that are not too late; else it was as before the batch.

Who reads as of a sealed time has images of the groups that have changed since: `image_of` int32 (slots that there were)
says which row of `images` is a slot's, counted from 1; 0 where the group is as it was.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.groups.block import BLOCK_WORDS, DIRECTORY, ENTRIES, KEY_WORDS, META, SIZE, STATE, TIMES, cells_at
from ivm.kernels.groups.block import CELLS as CELL_COUNT
from ivm.kernels.groups.slots import find_slot, guess, shift_of
from ivm.kernels.hashing.slots import same_key
from ivm.kernels.memory.at import (
    MANY,
    address_of,
    data_of,
    int32s_at,
    int32s_in,
    ints_at,
    ints_in,
    length_of,
    load,
    words_in,
)
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Hashes, Int32s, Ints

AT_BLOCK, CELLS, TIME, OTHERS, LINKS = range(5)
SEEN = 5
"""What look-ups are told of groups, arrays by their `id`: the control block; the memory of the last batch, 0 as of a
sealed time; the time of its cells, if all have one. Then the fields of the cells and their jumps (see `link_back`), or
`images` and `image_of`."""
ABSENT = -1
"""In place of where a group's fields lie: there is no such group."""
_WORD = np.int64(0)


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


@part()
def find_fields(
    seen: Ints, words: Ints, missing: Ints, as_of: Ints, always: bool, tags: Hashes, slots: Ints, at: Ints
) -> None:
    """at[i] = where the fields of key i's group lie, as of its time, for each of the keys (n, width).

    ABSENT if there is none, or missing[i] is not 0: a group is there if its multiplicity is not zero, or `always`, even
    if it never was, with fields of zero, in place of which at[i] is 0. `as_of` has length 1 if all times are the same.
    `tags` and `slots` are scratch memory. Cost: two random accesses a key, a third where the fields are not the
    group's, and a logarithm where the batch has touched it at many times.
    """
    block, is_sealed = ints_at(data_of(seen[AT_BLOCK]), BLOCK_WORDS), seen[CELLS] == 0
    width, size, directory = block[KEY_WORDS], block[SIZE], int32s_in(block, DIRECTORY)
    entries, state = ints_in(block, ENTRIES), words_in(block, STATE)
    shift, head, items = shift_of(directory), width + 1, state.shape[1]
    links = int32s_at(data_of(seen[LINKS]), length_of(seen[LINKS], 0))
    others, limit, previous = data_of(seen[OTHERS]), _WORD, links
    if not is_sealed:
        limit, memory = _limit(seen, as_of[0]), ints_at(data_of(seen[CELLS]), META)
        previous = int32s_at(cells_at(memory, 2), memory[CELL_COUNT])
    guess(words, 0, len(words), width, shift, size, directory, entries, state, tags, slots)
    for i in range(len(words)):
        at[i] = ABSENT
        if missing[i] != 0:
            continue
        slot = slots[i]
        if slot < 0 or (width > 1 and not same_key(words, i, state, slot)):
            slot = find_slot(tags[i], words, i, shift, size, directory, entries, state)
        other = np.int64(-1)
        if is_sealed:
            if slot >= len(links):
                slot = np.int64(-1)
            if slot >= 0:
                other = np.int64(links[slot]) - 1
        elif slot >= 0 and state[slot, width] > 0:
            if len(as_of) > 1:
                limit = _limit(seen, as_of[i])
            other = _last_below(state[slot, width] - 1, limit, previous, links)
        place = _WORD
        if other >= 0:
            place = others + 8 * (items - head) * other
        elif slot >= 0:
            place = address_of(state) + 8 * (items * slot + head)
        if always or (place != 0 and load(place, _WORD) != 0):
            at[i] = place


@part()
def copy_fields(at: Word, fields: Ints, to: Word) -> None:
    """Copy the fields that `find_fields` has found to a row."""
    for f in range(fields.shape[1]):
        fields[to, f] = load(at + 8 * f, _WORD) if at != 0 else _WORD


@part()
def _limit(seen: Ints, as_of: Word) -> Word:
    """How many cells of a batch are no later than a time."""
    memory = ints_at(data_of(seen[CELLS]), MANY)
    low, high = _WORD, memory[CELL_COUNT]
    if memory[TIMES] == 0:
        return high if as_of >= seen[TIME] else low
    while low < high:
        middle = (low + high) >> 1
        if memory[META + middle] <= as_of:
            low = middle + 1
        else:
            high = middle
    return low


@part()
def _last_below(cell: Word, limit: Word, previous: Int32s, jumps: Int32s) -> Word:
    """The last cell of the group before the limit, from its last cell on backwards; below 0 if there is none."""
    while cell >= limit and cell >= 0:
        jump = np.int64(jumps[cell])
        cell = jump if jump >= limit else np.int64(previous[cell])
    return cell
