"""What comes to groups of which the least value is asked by round. See `groups.value_block`."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.groups.block import KEY_WORDS, SIZE, STATE
from ivm.kernels.groups.opening import key_words
from ivm.kernels.groups.round_block import (
    CELL,
    CURSOR,
    DUE,
    LENGTH,
    MARK,
    OF,
    ROUND,
    TOUCH,
    opened_in,
)
from ivm.kernels.groups.round_block import NEW as IS_NEW
from ivm.kernels.groups.round_cells import new_cell
from ivm.kernels.groups.round_due import make_due
from ivm.kernels.groups.round_open import BLOCK, open_groups
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
from ivm.kernels.groups.treap import first_from, insert
from ivm.kernels.groups.value_block import (
    COUNT,
    EARLIER,
    LEAST,
    NEW,
    OLD,
    SAME,
    THERE,
    VALUE,
    WAS,
    WAS_LEAST,
    changed_in,
    values_in,
)
from ivm.kernels.hashing.keys import FORM
from ivm.kernels.memory.at import address_of, data_of, ints_at, words_at, words_in
from ivm.kernels.memory.move import prefetch
from ivm.kernels.memory.places import lay_updates, place_of, references_of, words_of
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Ints


@njit(cache=True, nogil=True, fastmath=False)
def put_values(table: Ints, block: Ints, rows: Word, largest: bool, frame: Ints) -> Word:
    """Add rows of the present round, or of later ones, to the values of their groups: DONE, or why not.

    `frame` as `put_rounds` has it, the value, an integer, behind the round; nothing is added up. `largest`: the
    greatest value is the least. There is room for as many of everything; where there is none for a group, it goes on
    when it is called again. Cost: a random access a row, and a logarithm of its group's values.
    """
    reads = words_at(data_of(frame[READS]), frame[READ_COUNT], 2)
    if not lay_updates(frame[LISTED], frame[NONE], frame[DIFFS], reads, frame[FRAME:]):
        return np.int64(NOT_READABLE)
    diffs = ints_at(np.int64(0), 0)
    if frame[DIFFS] != 0:
        diffs = ints_at(data_of(frame[DIFFS]), rows)
    return put_laid_values(table, block, rows, largest, frame, address_of(frame) + 8 * FRAME, diffs)


@part(counted=True)
def put_laid_values(
    table: Ints, block: Ints, rows: Word, largest: bool, frame: Ints, sources: Word, diffs: Ints
) -> Word:  # fmt: skip
    """As `put_values`, of sources that are laid down at an address; `diffs` is empty where all are one."""
    width, keys = table[KEY_WORDS], frame[KEYS]
    reads = words_at(data_of(frame[READS]), frame[READ_COUNT], 2)
    if keys == 0:
        words = np.zeros((rows, width), np.int64)
    else:
        words = key_words(words_at(data_of(frame[KEY_FORM]), keys, FORM), sources, rows, width)
    place, references = place_of(sources, reads[keys, 0], reads[keys, 1]), references_of(sources, reads[keys, 0])
    rounds = words_of(place, references, rows, 1)
    place = place_of(sources, reads[keys + 1, 0], reads[keys + 1, 1])
    values = words_of(place, references_of(sources, reads[keys + 1, 0]), rows, 1)
    state, cells, first = words_in(table, STATE), values_in(block), frame[ROW]
    tags, slots, scratch = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.int64), np.empty(table[SIZE], np.int64)
    while first < rows:
        stop = open_groups(table, block, words, first, np.int64(SAME), tags, slots, scratch)
        for i in range(first, stop):
            prefetch(cells, (state[slots[i - first], width + 1] - 1) * cells.shape[1])
        for i in range(first, stop):
            value, diff = ~values[i, 0] if largest else values[i, 0], diffs[i] if len(diffs) else np.int64(1)
            _put(block, state, slots[i - first], width, rounds[i, 0], value, diff)
        frame[ROW] = stop
        if stop < min(first + BLOCK, rows):
            return np.int64(NO_SLOTS)
        first = stop
    return np.int64(DONE)


@part(counted=True)
def _put(block: Ints, state: Ints, slot: Word, width: Word, number: Word, value: Word, diff: Word) -> None:
    """Add to the cell of a value of a group in a round; the group is due then, if that may change what is least."""
    values, opened, touched, group = values_in(block), opened_in(block), changed_in(block), state[slot, width] - 1
    node, made = first_from(values, state[slot, width + 1], value, number), np.int64(0)
    if node == 0 or values[node - 1, VALUE] != value or values[node - 1, ROUND] != number:
        node, made = new_cell(block, values, number), np.int64(1)
        values[node - 1, VALUE] = value
        state[slot, width + 1] = insert(values, state[slot, width + 1], node)
    was, mark = values[node - 1, COUNT], values[node - 1, MARK]
    if mark == 0:
        block[TOUCH + LENGTH] += 1
        mark = values[node - 1, MARK] = block[TOUCH + LENGTH]
        touched[mark - 1, CELL], touched[mark - 1, OF], touched[mark - 1, IS_NEW] = node - 1, slot, made
        touched[mark - 1, WAS], touched[mark - 1, EARLIER] = was, opened[group, CURSOR]
        opened[group, CURSOR] = mark
    values[node - 1, COUNT] += diff
    there, due = opened[group, THERE], opened[group, DUE]
    matters = there & SAME != 0 or matters_to(there & NEW != 0, opened[group, LEAST], value, was + diff)
    if matters or matters_to(there & OLD != 0, opened[group, WAS_LEAST], value, touched[mark - 1, WAS]):
        if due < 0 or number < due:
            make_due(block, group, number)


@part(inline=True)
def matters_to(is_there: bool, least: Word, value: Word, count: Word) -> bool:
    """Whether what a later round adds so often may change the least value, if there is one."""
    return count != 0 and (not is_there or value < least or (value == least and count < 0))
