"""What comes to groups by round, and what changes in a round. See `groups.round_block`."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.groups.accumulate import ARGUMENT, COUNT, FIELD, KIND, SUM_WIDE, PlanRow, accumulate, add_before
from ivm.kernels.groups.block import KEY_WORDS, SIZE, STATE
from ivm.kernels.groups.opening import key_words
from ivm.kernels.groups.round_block import (
    CELL,
    CELLS_FROM,
    CURSOR,
    DUE,
    FIELDS,
    HEADS,
    LENGTH,
    MARK,
    NEW,
    NEXT,
    OF,
    OPENED,
    ROUND,
    SLOT,
    TOUCH,
    TOUCHED,
    cells_in,
    opened_in,
    touched_in,
)
from ivm.kernels.groups.round_cells import new_cell
from ivm.kernels.groups.round_due import make_due, next_due, tell_first
from ivm.kernels.groups.round_open import BLOCK, open_groups
from ivm.kernels.hashing.keys import FORM
from ivm.kernels.memory.at import address_of, data_of, ints_at, scratch, words_at, words_in
from ivm.kernels.memory.move import prefetch
from ivm.kernels.memory.places import lay_updates, mask_of, place_of, references_of, words_of
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Int32s, Ints

PLAN, PLANS, KEYS, KEY_FORM, READS, READ_COUNT, NONE = range(7)
ROW, FAILED, DIFFS, LISTED = range(7, 11)
FRAME = 11
"""What `put_rounds` is told, int64: what is added up (see `groups.accumulate`), whose fields lie in a cell; how many
columns the key has, its form (see `hashing.keys`), the columns read (see `memory.places.lay_updates`): those of the
key, the round, the arguments; None. Then how far it is, which accumulator has overflowed; diffs (0: all are one), and a
list of the sources, which are written down behind it. Arrays are told of by their `id`."""
DONE, NO_SLOTS, NOT_READABLE, OVERFLOWED = range(4)
_PLAN_WIDTH = len(PlanRow._fields)
_slots = scratch(BLOCK)


@njit(cache=True, nogil=True, fastmath=False)
def put_rounds(table: Ints, block: Ints, row_cell: Int32s, frame: Ints) -> Word:
    """Add rows of the present round, or of later ones, to their cells: DONE, or why not.

    `table` is the control block of the groups (see `groups.block`), `row_cell` has room for an entry a row. There is
    room for as many cells, groups and rounds; where there is none for a group, it goes on when it is called again.
    Cost: two random accesses a row, and the cells from that which was looked at last up to its round.
    """
    reads = words_at(data_of(frame[READS]), frame[READ_COUNT], 2)
    if not lay_updates(frame[LISTED], frame[NONE], frame[DIFFS], reads, frame[FRAME:]):
        return np.int64(NOT_READABLE)
    diffs = ints_at(np.int64(0), 0)
    if frame[DIFFS] != 0:
        diffs = ints_at(data_of(frame[DIFFS]), len(row_cell))
    return put_laid(table, block, row_cell, frame, address_of(frame) + 8 * FRAME, diffs)


@part(counted=True)
def put_laid(table: Ints, block: Ints, row_cell: Int32s, frame: Ints, sources: Word, diffs: Ints) -> Word:
    """As `put_rounds`, of sources that are laid down at an address; `diffs` is empty where all are one."""
    rows, width, keys = len(row_cell), table[KEY_WORDS], frame[KEYS]
    reads = words_at(data_of(frame[READS]), frame[READ_COUNT], 2)
    if keys == 0:
        words = np.zeros((rows, width), np.int64)
    else:
        words = key_words(words_at(data_of(frame[KEY_FORM]), keys, FORM), sources, rows, width)
    place, references = place_of(sources, reads[keys, 0], reads[keys, 1]), references_of(sources, reads[keys, 0])
    rounds = words_of(place, references, rows, 1)
    plan, cells = words_at(data_of(frame[PLAN]), frame[PLANS], _PLAN_WIDTH), cells_in(block)
    frame[ROW] = _find_cells(table, block, plan, words, rounds, diffs, frame[ROW], row_cell)
    if frame[ROW] < rows:
        return np.int64(NO_SLOTS)
    for k in range(len(plan)):
        if plan[k, ARGUMENT] < 0:
            continue
        at = keys + 1 + plan[k, ARGUMENT]
        place, references = place_of(sources, reads[at, 0], reads[at, 1]), references_of(sources, reads[at, 0])
        values, valid = words_at(np.int64(0), 0, 1), mask_of(place, references, rows)
        if plan[k, KIND] != COUNT:
            values = words_of(place, references, rows, 2 if plan[k, KIND] == SUM_WIDE else 1)
        if accumulate(plan, k, values, valid, diffs, row_cell, cells):
            frame[FAILED] = k
            return np.int64(OVERFLOWED)
    return np.int64(DONE)


@part(counted=True)
def _find_cells(
    table: Ints, block: Ints, plan: Ints, words: Ints, rounds: Ints, diffs: Ints, start: Word, row_cell: Int32s
) -> Word:  # fmt: skip
    """Find or make the cells of all rows from `start` on, and count the rows there, while the cells are at hand.

    The row for whose group there is no room, or the number of rows.
    """
    width, state, cells = table[KEY_WORDS], words_in(table, STATE), cells_in(block)
    opened, touched = opened_in(block), touched_in(block)
    tags, slots, partition = np.empty(BLOCK, np.uint64), ints_at(_slots(), BLOCK), np.empty(table[SIZE], np.int64)
    is_ranked, first = state.shape[1] > width + 2, start
    while first < len(row_cell):
        stop = open_groups(table, block, words, first, np.int64(0), tags, slots, partition)
        for i in range(first, stop):
            slot = slots[i - first]
            begin = state[slot, width + 3] if is_ranked else opened[state[slot, width] - 1, CURSOR]
            prefetch(cells, ((begin if begin != 0 else state[slot, width + 1]) - 1) * cells.shape[1])
        for i in range(first, stop):
            slot, number = slots[i - first], rounds[i, 0]
            # One more of a row that stands in any round changes nothing; see `groups.settled`.
            stands = is_ranked and state[slot, width + 2] > 0 and (len(diffs) == 0 or diffs[i] > 0)
            row_cell[i] = _touch(block, state, cells, opened, touched, slot, width, number, is_ranked, not stands)
            for k in range(len(plan)):
                if plan[k, ARGUMENT] < 0:
                    cells[row_cell[i], plan[k, FIELD]] += diffs[i] if len(diffs) else np.int64(1)
        if stop < min(first + BLOCK, len(row_cell)):
            return np.int64(stop)
        first = stop
    return np.int64(len(row_cell))


@part(inline=True)
def _touch(
    block: Ints, state: Ints, cells: Ints, opened: Ints, touched: Ints, slot: Word, width: Word, number: Word,
    is_ranked: bool, matters: bool,
) -> Word:  # fmt: skip
    """The cell of a group in a round, noted; the group is due then, if that `matters`."""
    group = state[slot, width] - 1
    before = state[slot, width + 3] if is_ranked else opened[group, CURSOR]
    if is_ranked and before != 0 and cells[before - 1, ROUND] > number:
        before = np.int64(0)
    at = before
    if before == 0 or cells[before - 1, ROUND] != number:
        at = cells[before - 1, NEXT] if before != 0 else state[slot, width + 1]
        while at != 0 and cells[at - 1, ROUND] < number:
            before, at = at, cells[at - 1, NEXT]
    made = np.int64(0)
    if at == 0 or cells[at - 1, ROUND] != number:
        following, made = at, np.int64(1)
        at = new_cell(block, cells, number)
        cells[at - 1, NEXT] = following
        if before != 0:
            cells[before - 1, NEXT] = at
        else:
            state[slot, width + 1] = at
    is_new = at > block[CELLS_FROM]
    if is_new and made != 0:
        cells[at - 1, MARK] = -slot - 1
    elif not is_new and cells[at - 1, MARK] <= 0:
        note = block[TOUCH + LENGTH]
        touched[note, CELL], touched[note, OF], touched[note, NEW] = at - 1, slot, made
        for f in range(TOUCHED, touched.shape[1]):
            touched[note, f] = cells[at - 1, HEADS - TOUCHED + f]
        block[TOUCH + LENGTH] = cells[at - 1, MARK] = note + 1
    if is_ranked:
        state[slot, width + 3] = at
    if matters and (opened[group, DUE] < 0 or number < opened[group, DUE]):
        make_due(block, group, number)
    return at - 1


@part(counted=True)
def _reach(
    plan: Ints, block: Ints, state: Ints, width: Word, group: Word, number: Word, up_to: bool, sums: Ints
) -> None:
    """Go on with a group to its last cell before a round, or `up_to` that; `sums` (2, fields): what it was, and is."""
    cells, opened, touched = cells_in(block), opened_in(block), touched_in(block)
    before, fields = opened[group, CURSOR], block[FIELDS]
    at = cells[before - 1, NEXT] if before != 0 else state[opened[group, SLOT], width + 1]
    for s in range(2):
        for f in range(fields):
            sums[s, f] = opened[group, OPENED + s * fields + f]
    if at == 0 or cells[at - 1, ROUND] > number or (cells[at - 1, ROUND] == number and not up_to):
        return
    more, since = np.empty((2, fields), np.int64), np.zeros(1, np.int64)
    while at != 0 and (cells[at - 1, ROUND] < number or (up_to and cells[at - 1, ROUND] == number)):
        mark, is_new = cells[at - 1, MARK], at > block[CELLS_FROM]
        for f in range(fields):
            more[1, f] = cells[at - 1, HEADS + f]
            more[0, f] = touched[mark - 1, TOUCHED + f] if mark > 0 else np.int64(0) if is_new else more[1, f]
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
    while at != 0 and not differs and cells[at - 1, MARK] <= 0 and at <= block[CELLS_FROM]:
        at = cells[at - 1, NEXT]
    if at != 0:
        make_due(block, group, cells[at - 1, ROUND])


@njit(cache=True, nogil=True, fastmath=False)
def evaluate_counts(table: Ints, block: Ints, plan: Ints, number: Word, exists: bool, keys: Ints, diffs: Ints) -> Word:
    """See `counts_in`."""
    return counts_in(table, block, plan, number, exists, keys, diffs)


@part(counted=True)
def counts_in(table: Ints, block: Ints, plan: Ints, number: Word, exists: bool, keys: Ints, diffs: Ints) -> Word:
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
