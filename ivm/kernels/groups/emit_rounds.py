"""The updates of groups in a round: what their rows there change, less what they changed before the commit."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.groups.block import KEY_WORDS, STATE
from ivm.kernels.groups.emit import tell_places, write_output
from ivm.kernels.groups.finalize import finalize
from ivm.kernels.groups.round_block import MADE, SLOT, opened_in
from ivm.kernels.memory.at import address_of, bools_at, ints_at, words_at, words_in
from ivm.kernels.memory.places import WORDS as PLACE_WORDS
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Bools, Ints

BLOCK = 32
OLD_BEFORE, OLD, NEW_BEFORE, NEW = range(4)
STATES = 4
"""The rows of fields of a group that is looked at in a round: as it was before the round, and in it; as it is before
it, and in it."""
WRITTEN, OVERFLOWED = range(2)


@njit(cache=True, nogil=True, fastmath=False)
def emit_rounds(
    table: Ints, block: Ints, number: Word, sums: Ints, groups: Ints, outputs: Ints, always: bool, scratch: Ints,
    words: Word, shown_columns: Ints, room: Ints, said: Ints,
) -> None:  # fmt: skip
    """Write the updates of groups whose fields `evaluate_sums` has found, equal rows added up.

    `room` is as `groups.emit` has it, for STATES rows a group; `always`: the one group is there whatever its fields
    are, from the first round on. `said` int64 (2,): how many rows there are, and the output that overflowed, or -1.
    """
    width, state, opened = table[KEY_WORDS], words_in(table, STATE), opened_in(block)
    capacity, at = STATES * len(groups), address_of(room)
    places = words_at(at, len(shown_columns), PLACE_WORDS)
    at += 8 * PLACE_WORDS * len(places)
    nulls, flat = ints_at(at, len(outputs)), ints_at(at + 8 * len(outputs), capacity * words)
    at += 8 * (len(outputs) + capacity * words)
    keys, diffs = words_at(at, capacity, width), ints_at(at + 8 * capacity * width, capacity)
    masks = at + 8 * capacity * (width + 2)
    flat_valid = bools_at(masks, len(outputs), capacity)
    nulls[:] = 0
    shown, valid = np.empty((words, STATES * BLOCK), np.int64), np.empty((len(outputs), STATES * BLOCK), np.bool_)
    source, weights = np.empty(STATES * BLOCK, np.int64), np.empty(STATES, np.int64)
    rows = np.int64(0)
    said[OVERFLOWED] = -1
    for first in range(0, len(groups), BLOCK):
        count, begun = min(BLOCK, len(groups) - first), rows
        for o in range(len(outputs)):
            if finalize(outputs, o, always, sums, STATES * first, 0, STATES * count, shown, valid, 0, scratch):
                said[OVERFLOWED] = o
        for i in range(count):
            group = groups[first + i]
            weights[OLD_BEFORE] = weights[NEW] = 1
            weights[OLD] = weights[NEW_BEFORE] = -1
            for s in range(STATES):
                if not _is_there(sums, STATES * (first + i), s, always, opened[group, MADE] != 0, number):
                    weights[s] = 0
            _net(shown, valid, STATES * i, weights)
            for s in range(STATES):
                if weights[s] != 0:
                    source[rows - begun] = STATES * i + s
                    diffs[rows] = weights[s]
                    for w in range(width):
                        keys[rows, w] = state[opened[group, SLOT], w]
                    rows += 1
        for o in range(len(outputs)):
            write_output(outputs, o, shown, valid, source, begun, rows, flat, flat_valid, nulls, capacity)
    tell_places(shown_columns, width, capacity, rows, nulls, address_of(flat), address_of(keys), masks, places)
    said[WRITTEN] = rows


@part(inline=True)
def _is_there(sums: Ints, first: Word, s: Word, always: bool, made: bool, number: Word) -> bool:
    """Whether a group has a row in one of its states."""
    if not always:
        return sums[first + s, 0] != 0
    if made and s in (OLD_BEFORE, OLD):
        return False
    return number > 0 or s in (OLD, NEW)


@part()
def _net(shown: Ints, valid: Bools, first: Word, weights: Ints) -> None:
    """Add up the weights of equal rows, at the first of them."""
    for one in range(STATES):
        for other in range(one + 1, STATES):
            if weights[one] == 0 or weights[other] == 0:
                continue
            same = True
            for w in range(len(shown)):
                same = same and shown[w, first + one] == shown[w, first + other]
            for o in range(len(valid)):
                same = same and valid[o, first + one] == valid[o, first + other]
            if same:
                weights[one] += weights[other]
                weights[other] = 0
