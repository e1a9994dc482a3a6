"""What comes to groups of which the least value is asked by round. See `groups.value_block`."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.groups.block import DIRECTORY, ENTRIES, FREE, KEY_WORDS, PARTITIONS, PARTS, SIZE, STATE, USED
from ivm.kernels.groups.opening import key_words
from ivm.kernels.groups.round_block import (
    CELL,
    CURSOR,
    DUE,
    LENGTH,
    MADE,
    MARK,
    NEW,
    NEXT,
    OF,
    OPEN,
    ROUND,
    SLOT,
    TOUCH,
    cells_in,
    opened_in,
)
from ivm.kernels.groups.round_cells import new_cell
from ivm.kernels.groups.round_due import make_due, next_due, tell_first
from ivm.kernels.groups.rounds import (
    DIFFS,
    DONE,
    FRAME,
    KEY_FORM,
    KEYS,
    LISTED,
    NO_SLOTS,
    NONE,
    NOT_READABLE,
    READ_COUNT,
    READS,
    ROW,
)
from ivm.kernels.groups.slots import find_slot, has_place, put_slot, shift_of
from ivm.kernels.groups.table import make_group, new_slot
from ivm.kernels.groups.treap import find, insert
from ivm.kernels.groups.value_block import (
    CHANGED,
    COUNT,
    FOLLOWING,
    FREE_VALUE,
    HEAD,
    LEFT,
    NEW_VALUE,
    NODE,
    RIGHT,
    ROUND_CELL,
    VALUE,
    VALUES,
    WAS,
    changed_in,
    values_in,
)
from ivm.kernels.hashing.function import hash_words
from ivm.kernels.hashing.keys import FORM
from ivm.kernels.memory.at import address_of, data_of, int32s_in, ints_at, ints_in, words_at, words_in
from ivm.kernels.memory.places import lay_updates, place_of, references_of, words_of
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Bools, Ints

_DIFFERENT = CURSOR
_TAG_BITS = np.uint64(32)


@njit(cache=True, nogil=True, fastmath=False)
def put_values(table: Ints, block: Ints, rows: Word, largest: bool, frame: Ints) -> Word:
    """Add rows of the present round, or of later ones, to the values of their groups: DONE, or why not.

    `frame` as `put_rounds` has it, the value, an integer, behind the round; nothing is added up. `largest`: the
    greatest value is the least. There is room for as many of everything, and twice as many cells; where there is none
    for a group, it goes on when it is called again. Cost: a random access a row, and a logarithm of its group's values.
    """
    width, keys = table[KEY_WORDS], frame[KEYS]
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
    place = place_of(sources, reads[keys + 1, 0], reads[keys + 1, 1])
    values = words_of(place, references_of(sources, reads[keys + 1, 0]), rows, 1)
    diffs = ints_at(np.int64(0), 0)
    if frame[DIFFS] != 0:
        diffs = ints_at(data_of(frame[DIFFS]), rows)
    size, directory = table[SIZE], int32s_in(table, DIRECTORY)
    parts, entries, state = words_in(table, PARTS), ints_in(table, ENTRIES), words_in(table, STATE)
    scratch, shift, opened = np.empty(size, np.int64), shift_of(directory), opened_in(block)
    for i in range(frame[ROW], rows):
        tag = np.uint64(hash_words(words, i, width)) >> _TAG_BITS
        slot, made = find_slot(tag, words, i, shift, size, directory, entries, state), np.int64(0)
        if slot < 0:
            full = table[FREE] == 0 and table[USED] == len(state)
            if full or not has_place(tag, shift, size, directory, parts, entries, table, PARTITIONS, scratch):
                frame[ROW] = i
                return np.int64(NO_SLOTS)
            slot, made = new_slot(width, state, table), np.int64(1)
            make_group(slot, words, i, width, state)
            put_slot(tag, slot, shift, size, directory, parts, entries)
        mark = state[slot, width]
        if mark == 0:
            mark = block[OPEN + LENGTH] + 1
            opened[mark - 1] = 0
            opened[mark - 1, SLOT], opened[mark - 1, DUE], opened[mark - 1, MADE] = slot, np.int64(-1), made
            block[OPEN + LENGTH] = state[slot, width] = mark
        value = ~values[i, 0] if largest else values[i, 0]
        cell = _touch(block, state, slot, width, rounds[i, 0], value)
        cells_in(block)[cell, COUNT] += diffs[i] if len(diffs) else np.int64(1)
        if opened[mark - 1, DUE] < 0 or rounds[i, 0] < opened[mark - 1, DUE]:
            make_due(block, mark - 1, rounds[i, 0])
    frame[ROW] = rows
    return np.int64(DONE)


@part(counted=True)
def _touch(block: Ints, state: Ints, slot: Word, width: Word, number: Word, value: Word) -> Word:
    """The cell of a value of a group in a round, noted."""
    cells, values, touched = cells_in(block), values_in(block), changed_in(block)
    node = find(values, state[slot, width + 1], value)
    new_value = np.int64(node == 0)
    if node == 0:
        node = _new_value(block, values, value)
        state[slot, width + 1] = insert(values, state[slot, width + 1], node)
    at, before = values[node - 1, HEAD], np.int64(0)
    while at != 0 and cells[at - 1, ROUND] < number:
        before, at = at, cells[at - 1, NEXT]
    made = np.int64(at == 0 or cells[at - 1, ROUND] != number)
    if made:
        following, at = at, new_cell(block, cells, number)
        cells[at - 1, NEXT] = following
        if before != 0:
            cells[before - 1, NEXT] = at
        else:
            values[node - 1, HEAD] = at
    if cells[at - 1, MARK] == 0:
        round_cell = _round_cell(block, cells, state, slot, width, number)
        cells[round_cell - 1, COUNT] += made
        note = block[TOUCH + LENGTH]
        touched[note, CELL], touched[note, OF], touched[note, NEW] = at - 1, slot, made
        touched[note, NODE], touched[note, ROUND_CELL], touched[note, WAS] = (
            node - 1,
            round_cell - 1,
            cells[at - 1, COUNT],
        )
        touched[note, NEW_VALUE], touched[note, FOLLOWING] = new_value, cells[round_cell - 1, MARK]
        block[TOUCH + LENGTH] = cells[at - 1, MARK] = cells[round_cell - 1, MARK] = note + 1
    return at - 1


@part(counted=True)
def _round_cell(block: Ints, cells: Ints, state: Ints, slot: Word, width: Word, number: Word) -> Word:
    """The cell + 1 of a group in a round."""
    at, before = state[slot, width + 2], np.int64(0)
    while at != 0 and cells[at - 1, ROUND] < number:
        before, at = at, cells[at - 1, NEXT]
    if at != 0 and cells[at - 1, ROUND] == number:
        return at
    following, at = at, new_cell(block, cells, number)
    cells[at - 1, NEXT] = following
    if before != 0:
        cells[before - 1, NEXT] = at
    else:
        state[slot, width + 2] = at
    return at


@part(counted=True)
def _new_value(block: Ints, values: Ints, value: Word) -> Word:
    """A node + 1 for a value."""
    if block[FREE_VALUE] != 0:
        node = block[FREE_VALUE]
        block[FREE_VALUE] = values[node - 1, LEFT]
    else:
        block[VALUES + LENGTH] += 1
        node = block[VALUES + LENGTH]
    values[node - 1] = 0
    values[node - 1, VALUE] = value
    return node


@njit(cache=True, nogil=True, fastmath=False)
def evaluate_values(
    table: Ints, block: Ints, number: Word, largest: bool, keys: Ints, least: Ints, diffs: Ints
) -> Word:
    """What changes in a round of the least values of groups that are due, equal rows added up.

    How many rows were written to `keys` (n, width), `least` and `diffs` (n,), which have room for four each.
    Cost: the values of each group up to the least that is there.
    """
    width, state, opened = table[KEY_WORDS], words_in(table, STATE), opened_in(block)
    found, there = np.empty(4, np.int64), np.empty(4, np.bool_)
    count = np.int64(0)
    while count + 4 <= len(diffs):
        group = next_due(block, number)
        if group < 0:
            break
        slot = opened[group, SLOT]
        _note_changes(block, state, slot, width, group, number)
        _firsts(block, state[slot, width + 1], number, found, there)
        _look_again(block, state, slot, width, group, number)
        for s in range(4):  # as it was before the round, in it; as it is before it, in it
            weight = np.int64(1) if s in (0, 3) else np.int64(-1)
            if not there[s]:
                continue
            for other in range(s + 1, 4):
                if there[other] and found[other] == found[s]:
                    weight += np.int64(1) if other == 3 else np.int64(-1)
                    there[other] = False
            if weight != 0:
                for w in range(width):
                    keys[count, w] = state[slot, w]
                least[count], diffs[count] = ~found[s] if largest else found[s], weight
                count += 1
    tell_first(block)
    return count


@part(counted=True)
def _note_changes(block: Ints, state: Ints, slot: Word, width: Word, group: Word, number: Word) -> None:
    """Note how values of a group have changed in a round."""
    cells, values, touched, opened = cells_in(block), values_in(block), changed_in(block), opened_in(block)
    at = state[slot, width + 2]
    while at != 0 and cells[at - 1, ROUND] < number:
        at = cells[at - 1, NEXT]
    if at == 0 or cells[at - 1, ROUND] != number:
        return
    note = cells[at - 1, MARK]
    while note != 0:
        node, cell = touched[note - 1, NODE], touched[note - 1, CELL]
        opened[group, _DIFFERENT] -= np.int64(values[node, CHANGED] != 0)
        values[node, CHANGED] += cells[cell, COUNT] - touched[note - 1, WAS]
        opened[group, _DIFFERENT] += np.int64(values[node, CHANGED] != 0)
        note = touched[note - 1, FOLLOWING]


@part(counted=True)
def _firsts(block: Ints, root: Word, number: Word, found: Ints, there: Bools) -> None:
    """The least values of a tree, as far as some is there: before a round and in it as it was, then as it is."""
    cells, values, touched = cells_in(block), values_in(block), changed_in(block)
    path, depth, node = np.empty(128, np.int64), np.int64(0), root
    there[:] = False
    left = np.int64(4)
    while left > 0 and (node != 0 or depth > 0):
        while node != 0:
            path[depth] = node
            depth += 1
            node = values[node - 1, LEFT]
        depth -= 1
        node = path[depth]
        old_before = old = new_before = new = np.int64(0)
        at = values[node - 1, HEAD]
        while at != 0 and cells[at - 1, ROUND] <= number:
            mark, held = cells[at - 1, MARK], cells[at - 1, COUNT]
            was = touched[mark - 1, WAS] if mark != 0 else held
            old += was
            new += held
            if cells[at - 1, ROUND] < number:
                old_before, new_before = old, new
            at = cells[at - 1, NEXT]
        for s in range(4):
            held = old_before if s == 0 else old if s == 1 else new_before if s == 2 else new
            if held > 0 and not there[s]:
                found[s], there[s] = values[node - 1, VALUE], True
                left -= 1
        node = values[node - 1, RIGHT]


@part(counted=True)
def _look_again(block: Ints, state: Ints, slot: Word, width: Word, group: Word, number: Word) -> None:
    """Let a group be due in the next round that matters: in which it was changed, or any if it is not what it was."""
    cells, opened = cells_in(block), opened_in(block)
    at, differs = state[slot, width + 2], opened[group, _DIFFERENT] != 0
    while at != 0 and (cells[at - 1, ROUND] <= number or (not differs and cells[at - 1, MARK] == 0)):
        at = cells[at - 1, NEXT]
    if at != 0:
        make_due(block, group, cells[at - 1, ROUND])
