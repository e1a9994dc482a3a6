"""A table of groups: key words to slots, each with a row of state; and the cells that a batch touches.

`state` is int64 (capacity, width + 1 + fields): a group's key words, its mark, its fields; the first field is its
multiplicity. The mark is 0, or the group's last open cell + 1, or that of a slot without a group: LAST_FREE - 1 - the
next free slot, LAST_FREE if there is none. A cell is a group at one of the batch's times, numbered in the order of
their times; `previous` links a cell to the same group's cell before it, or says what its group was before the batch:
KNOWN or NEW. For `directory`, `parts` and `entries` see `groups.slots`.

A slot below the number of those ever used has a group, and then the index has the slot, under the group's key, once; or
it is free, in the list of free slots, once. So a key has one slot at most, whatever comes, goes and comes back.

For `block` and `memory` see `groups.block`.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.groups.block import (
    BEFORE,
    CELLS,
    DIRECTORY,
    EMPTIED,
    ENTRIES,
    FOLDED,
    FREE,
    KEY_WORDS,
    KNOWN,
    LAST_FREE,
    LIVE,
    META,
    NEW,
    OPENED,
    PARTITIONS,
    PARTS,
    PHASE,
    PUT,
    ROWS,
    SIZE,
    STATE,
    STEPPED,
    TIMES,
    UNDONE,
    UNTOUCHED,
    USED,
    cells_at,
)
from ivm.kernels.groups.slots import (
    find_slot,
    guess,
    has_place,
    put_slot,
    remove_slot,
    shift_of,
    tag_of,
)
from ivm.kernels.hashing.function import mix_word
from ivm.kernels.hashing.slots import same_key
from ivm.kernels.memory.at import int32s_at, int32s_in, ints_in, words_in
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Int32s, Ints

BLOCK = 64
_LATELY, _PLACE, _WAIT = 64, 58, 8
"""How many rows are remembered, each at the place that its mixed key says from bit _PLACE on; and for how many blocks
none is asked, once most rows of a block have met none.
"""


@njit(cache=True, nogil=True, fastmath=False)
def open_cells(words: Ints, times: Ints, start: Word, block: Ints, memory: Ints) -> Word:
    """Find or make the cell of each row from `start` on; the row that did not fit, or the number of rows.

    `words` (n, width) are the keys; `times` (n,) ascends, or has length 1 if all are the same. Cost: two random
    accesses a row, plus the making of a group where its key is new.
    """
    return open_rows(words, times, start, block, memory)


@part(counted=True)
def open_rows(words: Ints, times: Ints, start: Word, block: Ints, memory: Ints) -> Word:
    """What `open_cells` does."""
    width, size, directory = block[KEY_WORDS], block[SIZE], int32s_in(block, DIRECTORY)
    parts, entries, state = words_in(block, PARTS), ints_in(block, ENTRIES), words_in(block, STATE)
    rows = len(words)
    row_cell = int32s_at(cells_at(memory, 0), rows)
    cell_slot, cell_previous = int32s_at(cells_at(memory, 1), rows), int32s_at(cells_at(memory, 2), rows)
    cell_time = memory[META : META + memory[TIMES]]
    begin_batch(block, memory)
    tags, slots, scratch = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.int64), np.empty(size, np.int64)
    shift, cells = shift_of(directory), memory[CELLS]
    lately, wait = np.full(_LATELY, -1, np.int64), np.int64(1)
    for first in range(start, rows, BLOCK):
        stop, wait, missing = min(first + BLOCK, rows), wait - 1, np.int64(-1)
        if wait < 0:
            missing = recall(words, times, first, stop, width, lately, row_cell)
            if missing == 0:
                continue
            if 2 * missing > stop - first:
                wait = np.int64(_WAIT)
        guess(words, first, stop, width, shift, size, directory, entries, state, tags, slots)
        for i in range(first, stop):
            if missing >= 0 and row_cell[np.uint64(i)] >= 0:
                continue
            if i > first and goes_on(words, times, i):
                row_cell[np.uint64(i)] = row_cell[np.uint64(i - 1)]
                continue
            slot, was = slots[np.uint64(i - first)], np.int64(KNOWN)
            if slot < 0 or (width > 1 and not same_key(words, i, state, slot)):
                tag = tags[np.uint64(i - first)]
                slot = find_slot(tag, words, i, shift, size, directory, entries, state)
                if slot < 0:
                    full = block[FREE] == 0 and block[USED] == len(state)
                    if full or not has_place(tag, shift, size, directory, parts, entries, block, PARTITIONS, scratch):
                        memory[CELLS] = cells
                        return np.int64(i)
                    slot = new_slot(width, state, block)
                    make_group(slot, words, i, width, state)
                    was = np.int64(NEW)
                    put_slot(tag, slot, shift, size, directory, parts, entries)
            cells = touch(i, slot, was, cells, times, width, state, row_cell, cell_slot, cell_previous, cell_time)
            lately[place_of(words, i, width)] = i
    memory[CELLS] = cells
    return np.int64(rows)


@part(inline=True)
def place_of(words: Ints, i: Word, width: Word) -> Word:
    """Where `lately` has the last row with a key like that of row i."""
    code = np.uint64(0)
    for w in range(width):
        code = mix_word(code, words[np.uint64(i), np.uint64(w)])
    return code >> np.uint64(_PLACE)


@part()
def recall(words: Ints, times: Ints, first: Word, stop: Word, width: Word, lately: Ints, row_cell: Int32s) -> Word:
    """Give rows [first, stop) the cells of earlier rows with their key and time, -1 where `lately` has none of these;
    how many have none.

    Where groups are few, that is most rows, and no branch depends on which of them a row is of.
    """
    missing = np.int64(0)
    for i in range(first, stop):
        other = lately[place_of(words, i, width)]
        same = other >= 0 and same_key(words, other, words, i) and (len(times) == 1 or times[i] == times[other])
        row_cell[np.uint64(i)] = row_cell[np.uint64(other)] if same else np.int32(-1)
        missing += np.int64(not same)
    return missing


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
    many, cell = len(cell_time) > 0, state[np.uint64(slot), np.uint64(width)] - 1
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
def new_slot(width: Word, state: Ints, counts: Ints) -> Word:
    """A slot that is free, or the next one."""
    counts[LIVE] += 1
    if counts[FREE] != 0:
        slot = counts[FREE] - 1
        counts[FREE] = LAST_FREE - state[slot, width]
        return slot
    counts[USED] += 1
    return counts[USED] - 1


@part()
def free_slot(slot: Word, width: Word, state: Ints, counts: Ints) -> None:
    """Let a slot be used again."""
    state[slot, width] = LAST_FREE - counts[FREE]
    counts[FREE] = slot + 1


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def fold_cells(block: Ints, memory: Ints, after: Ints) -> Word:
    """Give the groups of a batch the fields `after` of their last cells, which get in exchange what they had.

    A batch that has put no fields is taken back; one that was folded stays as it is. How many cells it has, less than
    zero by one more if it has left groups empty. Cost: one random access a cell.
    """
    return fold(block, memory, after)


@part()
def fold(block: Ints, memory: Ints, after: Ints) -> Word:
    """What `fold_cells` does."""
    if memory[PHASE] == OPENED:
        _undo(block, memory, after)
    if memory[PHASE] == PUT:
        width, state = block[KEY_WORDS], words_in(block, STATE)
        cell_slot = int32s_at(cells_at(memory, 1), memory[ROWS])
        for cell in range(memory[CELLS]):
            _exchange(cell, width, state, after, cell_slot)
            memory[EMPTIED] += is_empty(np.int64(cell_slot[cell]), width, state)
        memory[PHASE] = FOLDED
    return -1 - memory[CELLS] if memory[EMPTIED] != 0 else memory[CELLS]


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
def undo_cells(block: Ints, memory: Ints, after: Ints) -> None:
    """Take a batch back, folded or not, the last one that there is; its new groups go. Once is as good as twice.

    Cost: one random access a cell.
    """
    _undo(block, memory, after)


@part()
def _undo(block: Ints, memory: Ints, after: Ints) -> None:
    """What `undo_cells` does."""
    width, size, directory = block[KEY_WORDS], block[SIZE], int32s_in(block, DIRECTORY)
    parts, entries, state = words_in(block, PARTS), ints_in(block, ENTRIES), words_in(block, STATE)
    cell_slot = int32s_at(cells_at(memory, 1), memory[ROWS])
    cell_previous = int32s_at(cells_at(memory, 2), memory[ROWS])
    if memory[PHASE] == FOLDED:
        for cell in range(memory[CELLS]):
            state[cell_slot[cell], width] = cell + 1
        for cell in range(memory[CELLS]):
            _exchange(cell, width, state, after, cell_slot)
        memory[PHASE] = OPENED
    if memory[PHASE] not in (OPENED, PUT):
        return
    shift = shift_of(directory)
    # From the last one on, so that free slots are in the order in which they were.
    for cell in range(memory[CELLS] - 1, -1, -1):
        slot = np.int64(cell_slot[cell])
        state[slot, width] = 0
        if cell_previous[cell] == NEW:
            remove_slot(slot, width, shift, size, directory, parts, entries, state)
            if slot < memory[BEFORE + USED]:
                free_slot(slot, width, state, block)
    for c in range(STEPPED):
        block[c] = memory[BEFORE + c]
    memory[PHASE] = UNDONE


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def release_empty(slots: Int32s, block: Ints) -> None:
    """Forget those of the groups in the given slots that are empty. Cost: one random access each."""
    release(slots, block)


@part()
def release(slots: Int32s, block: Ints) -> None:
    """What `release_empty` does."""
    width, size, directory = block[KEY_WORDS], block[SIZE], int32s_in(block, DIRECTORY)
    parts, entries, state = words_in(block, PARTS), ints_in(block, ENTRIES), words_in(block, STATE)
    shift = shift_of(directory)
    for s in range(len(slots)):
        slot = np.int64(slots[s])
        if not is_empty(slot, width, state):
            continue
        remove_slot(slot, width, shift, size, directory, parts, entries, state)
        block[LIVE] -= 1
        free_slot(slot, width, state, block)


@njit(cache=True, nogil=True, fastmath=False)
def index_groups(start: Word, block: Ints) -> Word:
    """Index the groups in the slots from `start` on, where a table is filled; slots without a group become free.

    Returns the slot for which there is no room in the index, or the number of those used. Cost: a random access each.
    """
    width, size, directory = block[KEY_WORDS], block[SIZE], int32s_in(block, DIRECTORY)
    parts, entries, state = words_in(block, PARTS), ints_in(block, ENTRIES), words_in(block, STATE)
    scratch, shift = np.empty(size, np.int64), shift_of(directory)
    for slot in range(start, block[USED]):
        if state[slot, width] < 0:
            free_slot(np.int64(slot), width, state, block)
            continue
        tag = tag_of(slot, width, state)
        if not has_place(tag, shift, size, directory, parts, entries, block, PARTITIONS, scratch):
            return np.int64(slot)
        put_slot(tag, np.int64(slot), shift, size, directory, parts, entries)
        block[LIVE] += 1
    return block[USED]
