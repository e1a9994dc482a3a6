"""Groups by round: what a group holds in each round of a loop, as what changes from round to round.

A group has a *cell* for each round in which it changes: `cells` int64 (capacity, HEADS + fields), with the round, the
next cell + 1 of the group, whose rounds ascend, and where the commit has noted it + 1, 0 if it has not; then the
fields, which are what that round adds to those before it. So a group's fields in a round are the sum of its cells up
to it. Groups stand in a table as `groups.table` has it, whose first field is the first cell + 1; the mark is that of
`opened` + 1. They may have another field (see `groups.settled`), of which `opened` has what it was in place of the
first sum.

What one time changes is noted in three arrays, by which it is undone:

* `opened` int64 (n, OPENED + 2 * fields), a group that was touched: its slot; the cell + 1 that was looked at last; in
  which round it is due, -1 if in none; whether it was made; its fields up to that cell, as they were and as they
  are.
* `touched` int64 (n, TOUCHED + fields), a cell that was changed: which, the slot, whether it was made, its fields
  before.
* `heap` int64 (n, 2): rounds in which groups are due, and which of `opened` each is; the least is first. Of a group
  that is due earlier than it was thought the later entry stays, and is passed over.

A round is evaluated once, after all that comes of rounds before it; what comes is of that round or of later ones. So
each group is looked at in the rounds in which it changes, and for as long as it differs from what it was in all in
which it has cells (Differential Dataflow, section 4, for one outer time).

`block` int64 (BLOCK_WORDS) says of each of the four arrays where it lies, how many rows fit, and how many there are;
with which of `opened` and `touched` the present time begins; how many fields a cell has; the first free cell + 1, and
how many are free; and the least round in which a group is due, -1 if there is none.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.groups.accumulate import ARGUMENT, COUNT, KIND, SUM_WIDE, PlanRow, accumulate, add_before
from ivm.kernels.groups.block import (
    DIRECTORY,
    ENTRIES,
    FREE,
    KEY_WORDS,
    LIVE,
    PARTITIONS,
    PARTS,
    SIZE,
    STATE,
    USED,
)
from ivm.kernels.groups.opening import key_words
from ivm.kernels.groups.slots import find_slot, has_place, put_slot, remove_slot, shift_of
from ivm.kernels.groups.table import free_slot, make_group, new_slot
from ivm.kernels.hashing.function import hash_words
from ivm.kernels.hashing.keys import FORM
from ivm.kernels.memory.at import address_of, bools_at, data_of, int32s_in, ints_at, ints_in, words_at, words_in
from ivm.kernels.memory.places import lay_updates, mask_of, place_of, references_of, words_of
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Int32s, Ints

ROUND, NEXT, MARK = range(3)
HEADS = 3
SLOT, CURSOR, DUE, MADE = range(4)
OPENED = 4
CELL, OF, NEW = range(3)
TOUCHED = 3

AT, CAPACITY, LENGTH = range(3)
CELLS, OPEN, TOUCH, HEAP = 0, 3, 6, 9
OPEN_FROM, TOUCH_FROM, FIELDS, FREE_CELL, FREE_CELLS, FIRST = range(12, 18)
BLOCK_WORDS = 18

PLAN, PLANS, KEYS, KEY_FORM, READS, READ_COUNT, NONE = range(7)
ROW, FAILED, DIFFS, LISTED = range(7, 11)
FRAME = 11
"""What `put_rounds` is told, int64: what is added up (see `groups.accumulate`), whose fields lie in a cell; how many
columns the key has, its form (see `hashing.keys`), the columns read (see `memory.places.lay_updates`): those of the
key, the round, the arguments; None. Then how far it is, which accumulator has overflowed; diffs (0: all are one), and a
list of the sources, which are written down behind it. Arrays are told of by their `id`."""
DONE, NO_SLOTS, NOT_READABLE, OVERFLOWED = range(4)
_PLAN_WIDTH = len(PlanRow._fields)
_TAG_BITS = np.uint64(32)


@part(inline=True, counted=True)
def cells_in(block: Ints) -> Ints:
    """The cells."""
    return words_at(block[CELLS + AT], block[CELLS + CAPACITY], HEADS + block[FIELDS])


@part(inline=True, counted=True)
def opened_in(block: Ints) -> Ints:
    """The groups that the commit has opened."""
    return words_at(block[OPEN + AT], block[OPEN + CAPACITY], OPENED + 2 * block[FIELDS])


@part(inline=True, counted=True)
def _touched(block: Ints) -> Ints:
    return words_at(block[TOUCH + AT], block[TOUCH + CAPACITY], TOUCHED + block[FIELDS])


@part(inline=True, counted=True)
def heap_in(block: Ints) -> Ints:
    """The rounds in which groups are due."""
    return words_at(block[HEAP + AT], block[HEAP + CAPACITY], 2)


@njit(cache=True, nogil=True, fastmath=False)
def put_rounds(table: Ints, block: Ints, row_cell: Int32s, frame: Ints) -> Word:
    """Add rows of the present round, or of later ones, to their cells: DONE, or why not.

    `table` is the control block of the groups (see `groups.block`), `row_cell` has room for an entry a row. There is
    room for as many cells, groups and rounds; where there is none for a group, it goes on when it is called again.
    Cost: two random accesses a row, and the cells from that which was looked at last up to its round.
    """
    rows, width, keys = len(row_cell), table[KEY_WORDS], frame[KEYS]
    reads = words_at(data_of(frame[READS]), frame[READ_COUNT], 2)
    if not lay_updates(frame[LISTED], frame[NONE], frame[DIFFS], reads, frame[FRAME:]):
        return np.int64(NOT_READABLE)
    sources = address_of(frame) + 8 * FRAME
    if keys == 0:
        words = np.zeros((rows, width), np.int64)
    else:
        words = key_words(words_at(data_of(frame[KEY_FORM]), keys, FORM), sources, rows, width)
    place, references = place_of(sources, reads[keys, 0], reads[keys, 1]), references_of(sources, reads[keys, 0])
    rounds = words_of(place, references, rows, 1)
    frame[ROW] = _find_cells(table, block, words, rounds, frame[ROW], row_cell)
    if frame[ROW] < rows:
        return np.int64(NO_SLOTS)
    plan, cells = words_at(data_of(frame[PLAN]), frame[PLANS], _PLAN_WIDTH), cells_in(block)
    diffs = ints_at(np.int64(0), 0)
    if frame[DIFFS] != 0:
        diffs = ints_at(data_of(frame[DIFFS]), rows)
    for k in range(len(plan)):
        values, valid = words_at(np.int64(0), 0, 1), bools_at(np.int64(0), 0, 1)
        if plan[k, ARGUMENT] >= 0:
            at = keys + 1 + plan[k, ARGUMENT]
            place, references = place_of(sources, reads[at, 0], reads[at, 1]), references_of(sources, reads[at, 0])
            valid = mask_of(place, references, rows)
            if plan[k, KIND] != COUNT:
                values = words_of(place, references, rows, 2 if plan[k, KIND] == SUM_WIDE else 1)
        if accumulate(plan, k, values, valid, diffs, row_cell, cells):
            frame[FAILED] = k
            return np.int64(OVERFLOWED)
    return np.int64(DONE)


@part(counted=True)
def _find_cells(table: Ints, block: Ints, words: Ints, rounds: Ints, start: Word, row_cell: Int32s) -> Word:
    """Find or make the cells of all rows from `start` on; the row for whose group there is no room, or their number."""
    width, size, directory = table[KEY_WORDS], table[SIZE], int32s_in(table, DIRECTORY)
    parts, entries, state = words_in(table, PARTS), ints_in(table, ENTRIES), words_in(table, STATE)
    scratch, shift = np.empty(size, np.int64), shift_of(directory)
    opened = opened_in(block)
    for i in range(start, len(row_cell)):
        tag = np.uint64(hash_words(words, i, width)) >> _TAG_BITS
        slot, made = find_slot(tag, words, i, shift, size, directory, entries, state), np.int64(0)
        if slot < 0:
            full = table[FREE] == 0 and table[USED] == len(state)
            if full or not has_place(tag, shift, size, directory, parts, entries, table, PARTITIONS, scratch):
                return np.int64(i)
            slot, made = new_slot(width, state, table), np.int64(1)
            make_group(slot, words, i, width, state)
            put_slot(tag, slot, shift, size, directory, parts, entries)
        mark = state[slot, width]
        if mark == 0:
            mark = block[OPEN + LENGTH] + 1
            opened[mark - 1] = 0
            opened[mark - 1, SLOT], opened[mark - 1, DUE], opened[mark - 1, MADE] = slot, np.int64(-1), made
            if state.shape[1] > width + 2:
                opened[mark - 1, OPENED] = state[slot, width + 2]
            block[OPEN + LENGTH] = state[slot, width] = mark
        row_cell[i] = _touch(block, state, slot, width, mark - 1, rounds[i, 0])
    return np.int64(len(row_cell))


@part(counted=True)
def _touch(block: Ints, state: Ints, slot: Word, width: Word, group: Word, number: Word) -> Word:
    """The cell of a group in a round, noted; the group is due then."""
    cells, opened, touched = cells_in(block), opened_in(block), _touched(block)
    before = opened[group, CURSOR]
    at = cells[before - 1, NEXT] if before != 0 else state[slot, width + 1]
    while at != 0 and cells[at - 1, ROUND] < number:
        before, at = at, cells[at - 1, NEXT]
    made = np.int64(0)
    if at == 0 or cells[at - 1, ROUND] != number:
        following, made = at, np.int64(1)
        if block[FREE_CELL] != 0:
            at = block[FREE_CELL]
            block[FREE_CELL] = cells[at - 1, NEXT]
            block[FREE_CELLS] -= 1
        else:
            block[CELLS + LENGTH] += 1
            at = block[CELLS + LENGTH]
        cells[at - 1] = 0
        cells[at - 1, ROUND], cells[at - 1, NEXT] = number, following
        if before != 0:
            cells[before - 1, NEXT] = at
        else:
            state[slot, width + 1] = at
    if cells[at - 1, MARK] == 0:
        note = block[TOUCH + LENGTH]
        touched[note, CELL], touched[note, OF], touched[note, NEW] = at - 1, slot, made
        for f in range(block[FIELDS]):
            touched[note, TOUCHED + f] = cells[at - 1, HEADS + f]
        block[TOUCH + LENGTH] = cells[at - 1, MARK] = note + 1
    if opened[group, DUE] < 0 or number < opened[group, DUE]:
        make_due(block, group, number)
    return at - 1


@part(counted=True)
def make_due(block: Ints, group: Word, number: Word) -> None:
    """Let a group be due in a round."""
    opened, heap = opened_in(block), heap_in(block)
    opened[group, DUE] = number
    at = block[HEAP + LENGTH]
    block[HEAP + LENGTH] = at + 1
    while at > 0:
        above = (at - 1) >> 1
        if heap[above, 0] <= number:
            break
        heap[at, 0], heap[at, 1] = heap[above, 0], heap[above, 1]
        at = above
    heap[at, 0], heap[at, 1] = number, group
    block[FIRST] = heap[0, 0]


@part(counted=True)
def next_due(block: Ints, number: Word) -> Word:
    """The next group that is due up to a round, which then is not due any more; -1 if there is none."""
    opened, heap = opened_in(block), heap_in(block)
    while block[HEAP + LENGTH] > 0 and heap[0, 0] <= number:
        due, group = heap[0, 0], heap[0, 1]
        _drop_first(block, heap)
        if opened[group, DUE] == due:
            opened[group, DUE] = -1
            return np.int64(group)
    return np.int64(-1)


@part(counted=True)
def tell_first(block: Ints) -> None:
    """Say in which round some group is due first."""
    opened, heap = opened_in(block), heap_in(block)
    while block[HEAP + LENGTH] > 0 and opened[heap[0, 1], DUE] != heap[0, 0]:
        _drop_first(block, heap)
    block[FIRST] = heap[0, 0] if block[HEAP + LENGTH] > 0 else np.int64(-1)


@part()
def _drop_first(block: Ints, heap: Ints) -> None:
    """Take the first entry out of the heap."""
    block[HEAP + LENGTH] -= 1
    count = block[HEAP + LENGTH]
    number, group = heap[count, 0], heap[count, 1]
    at = np.int64(0)
    while 2 * at + 1 < count:
        below = 2 * at + 1
        if below + 1 < count and heap[below + 1, 0] < heap[below, 0]:
            below += 1
        if heap[below, 0] >= number:
            break
        heap[at, 0], heap[at, 1] = heap[below, 0], heap[below, 1]
        at = below
    heap[at, 0], heap[at, 1] = number, group


@part(counted=True)
def _reach(
    plan: Ints, block: Ints, state: Ints, width: Word, group: Word, number: Word, up_to: bool, sums: Ints
) -> None:
    """Go on with a group to its last cell before a round, or `up_to` that; `sums` (2, fields): what it was, and is."""
    cells, opened, touched = cells_in(block), opened_in(block), _touched(block)
    before, fields = opened[group, CURSOR], block[FIELDS]
    at = cells[before - 1, NEXT] if before != 0 else state[opened[group, SLOT], width + 1]
    for s in range(2):
        for f in range(fields):
            sums[s, f] = opened[group, OPENED + s * fields + f]
    if at == 0 or cells[at - 1, ROUND] > number or (cells[at - 1, ROUND] == number and not up_to):
        return
    more, since = np.empty((2, fields), np.int64), np.zeros(1, np.int64)
    while at != 0 and (cells[at - 1, ROUND] < number or (up_to and cells[at - 1, ROUND] == number)):
        mark = cells[at - 1, MARK]
        for f in range(fields):
            more[1, f] = cells[at - 1, HEADS + f]
            more[0, f] = touched[mark - 1, TOUCHED + f] if mark != 0 else more[1, f]
        for s in range(2):
            for k in range(len(plan)):
                since[0] = -s
                add_before(plan, k, more, since, sums, np.int64(s), np.int64(1))
        opened[group, CURSOR] = at
        at = cells[at - 1, NEXT]
    for s in range(2):
        for f in range(fields):
            opened[group, OPENED + s * fields + f] = sums[s, f]


@part(counted=True)
def _look_again(block: Ints, group: Word, sums: Ints) -> None:
    """Let a group be due in the next round that matters: which was touched, or any if it is not what it was."""
    cells, opened = cells_in(block), opened_in(block)
    differs = False
    for f in range(block[FIELDS]):
        differs = differs or sums[0, f] != sums[1, f]
    at = cells[opened[group, CURSOR] - 1, NEXT]
    while at != 0 and not differs and cells[at - 1, MARK] == 0:
        at = cells[at - 1, NEXT]
    if at != 0:
        make_due(block, group, cells[at - 1, ROUND])


@njit(cache=True, nogil=True, fastmath=False)
def evaluate_counts(table: Ints, block: Ints, plan: Ints, number: Word, exists: bool, keys: Ints, diffs: Ints) -> Word:
    """What changes in a round of groups that are there as often as their field says, or, if it `exists`, once if that
    is not zero; else as often as it is above zero. How many rows were written to `keys` and `diffs`, as many as fit.

    Cost: one random access for each group that is due and each of its cells up to the round.
    """
    width, state, opened = table[KEY_WORDS], words_in(table, STATE), opened_in(block)
    before, now = np.empty((2, 1), np.int64), np.empty((2, 1), np.int64)
    count = np.int64(0)
    while count < len(keys):
        group = next_due(block, number)
        if group < 0:
            break
        _reach(plan, block, state, width, group, number, False, before)
        _reach(plan, block, state, width, group, number, True, now)
        _look_again(block, group, now)
        diff = _times(now[1, 0], exists) - _times(before[1, 0], exists)
        diff -= _times(now[0, 0], exists) - _times(before[0, 0], exists)
        if diff != 0:
            for w in range(width):
                keys[count, w] = state[opened[group, SLOT], w]
            diffs[count] = diff
            count += 1
    tell_first(block)
    return count


@part(inline=True)
def _times(field: Word, exists: bool) -> Word:
    """How often a row is there."""
    if exists:
        return np.int64(field != 0)
    return max(field, np.int64(0))


@njit(cache=True, nogil=True, fastmath=False)
def evaluate_sums(table: Ints, block: Ints, plan: Ints, number: Word, sums: Ints, groups: Ints) -> Word:
    """The fields of groups that are due in a round, four rows of `sums` (4 * n, fields) each: as they were before the
    round, in it, as they are before it, in it; and which of `opened` these are, in `groups` (n,). How many; as many as
    fit.
    """
    width, state = table[KEY_WORDS], words_in(table, STATE)
    before, now = np.empty((2, block[FIELDS]), np.int64), np.empty((2, block[FIELDS]), np.int64)
    count = np.int64(0)
    while count < len(groups):
        group = next_due(block, number)
        if group < 0:
            break
        _reach(plan, block, state, width, group, number, False, before)
        _reach(plan, block, state, width, group, number, True, now)
        _look_again(block, group, now)
        for f in range(block[FIELDS]):
            sums[4 * count, f], sums[4 * count + 1, f] = before[0, f], now[0, f]
            sums[4 * count + 2, f], sums[4 * count + 3, f] = before[1, f], now[1, f]
        groups[count] = group
        count += 1
    tell_first(block)
    return count


@njit(cache=True, nogil=True, fastmath=False)
def close_rounds(table: Ints, block: Ints) -> None:
    """The present time is over: what it has changed is as all else. Once is as good as twice."""
    width, state = table[KEY_WORDS], words_in(table, STATE)
    cells, opened, touched = cells_in(block), opened_in(block), _touched(block)
    for t in range(block[TOUCH_FROM], block[TOUCH + LENGTH]):
        cells[touched[t, CELL], MARK] = 0
    for o in range(block[OPEN_FROM], block[OPEN + LENGTH]):
        state[opened[o, SLOT], width] = 0
    block[OPEN_FROM], block[TOUCH_FROM] = block[OPEN + LENGTH], block[TOUCH + LENGTH]
    block[HEAP + LENGTH], block[FIRST] = 0, np.int64(-1)


@njit(cache=True, nogil=True, fastmath=False)
def undo_rounds(table: Ints, block: Ints, groups: Word, notes: Word) -> None:
    """Take back all but the first so many groups that were opened, and cells that were touched. Cost: as they cost."""
    width, size, directory = table[KEY_WORDS], table[SIZE], int32s_in(table, DIRECTORY)
    parts, entries, state = words_in(table, PARTS), ints_in(table, ENTRIES), words_in(table, STATE)
    shift, cells, opened, touched = shift_of(directory), cells_in(block), opened_in(block), _touched(block)
    for t in range(block[TOUCH + LENGTH] - 1, notes - 1, -1):
        cell = touched[t, CELL]
        cells[cell, MARK] = 0
        for f in range(block[FIELDS]):
            cells[cell, HEADS + f] = touched[t, TOUCHED + f]
        if touched[t, NEW]:
            _free_cell(block, cells, state, touched[t, OF], width, cell)
    for o in range(block[OPEN + LENGTH] - 1, groups - 1, -1):
        slot = opened[o, SLOT]
        state[slot, width] = 0
        if state.shape[1] > width + 2:
            state[slot, width + 2] = opened[o, OPENED]
        if opened[o, MADE]:
            remove_slot(slot, width, shift, size, directory, parts, entries, state)
            table[LIVE] -= 1
            free_slot(slot, width, state, table)
    block[TOUCH + LENGTH], block[OPEN + LENGTH] = min(block[TOUCH + LENGTH], notes), min(block[OPEN + LENGTH], groups)
    block[TOUCH_FROM], block[OPEN_FROM] = block[TOUCH + LENGTH], block[OPEN + LENGTH]
    block[HEAP + LENGTH], block[FIRST] = 0, np.int64(-1)


@njit(cache=True, nogil=True, fastmath=False)
def settle_rounds(table: Ints, block: Ints, always: bool) -> None:
    """All that was noted is final: cells without anything go, and groups without cells, unless they stay `always`."""
    width, size, directory = table[KEY_WORDS], table[SIZE], int32s_in(table, DIRECTORY)
    parts, entries, state = words_in(table, PARTS), ints_in(table, ENTRIES), words_in(table, STATE)
    shift, cells, opened, touched = shift_of(directory), cells_in(block), opened_in(block), _touched(block)
    for t in range(block[TOUCH + LENGTH]):
        cell = touched[t, CELL]
        if cells[cell, ROUND] >= 0 and _is_nothing(cells, cell):
            _free_cell(block, cells, state, touched[t, OF], width, cell)
    for o in range(block[OPEN + LENGTH]):
        slot = opened[o, SLOT]
        if not always and state[slot, width] == 0 and state[slot, width + 1] == 0:
            remove_slot(slot, width, shift, size, directory, parts, entries, state)
            table[LIVE] -= 1
            free_slot(slot, width, state, table)
    block[TOUCH + LENGTH] = block[OPEN + LENGTH] = block[TOUCH_FROM] = block[OPEN_FROM] = 0


@part()
def _is_nothing(cells: Ints, cell: Word) -> bool:
    for f in range(HEADS, cells.shape[1]):
        if cells[cell, f] != 0:
            return False
    return True


@part(counted=True)
def _free_cell(block: Ints, cells: Ints, state: Ints, slot: Word, width: Word, cell: Word) -> None:
    """Take a cell out of its group; another may have its place."""
    at, before = state[slot, width + 1], np.int64(0)
    while at != cell + 1:
        before, at = at, cells[at - 1, NEXT]
    if before != 0:
        cells[before - 1, NEXT] = cells[cell, NEXT]
    else:
        state[slot, width + 1] = cells[cell, NEXT]
    cells[cell, ROUND], cells[cell, NEXT] = np.int64(-1), block[FREE_CELL]
    block[FREE_CELL] = cell + 1
    block[FREE_CELLS] += 1
