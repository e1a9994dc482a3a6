"""The groups to which rows come by round, found or made, and opened. See `groups.round_block`."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.part import part
from ivm.kernels.groups.block import DIRECTORY, ENTRIES, FREE, KEY_WORDS, PARTITIONS, PARTS, SIZE, STATE, USED
from ivm.kernels.groups.round_block import DUE, LENGTH, MADE, OPEN, OPENED, SLOT, WAS_RANK, opened_in
from ivm.kernels.groups.slots import find_slot, guess, has_place, put_slot, shift_of
from ivm.kernels.groups.table import make_group, new_slot
from ivm.kernels.hashing.slots import same_key
from ivm.kernels.memory.at import int32s_in, ints_in, words_in
from ivm.kernels.memory.move import prefetch
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Hashes, Ints

BLOCK = 64
"""So many rows look for their groups at once, lest each wait for what the one before it fetches."""


@part(counted=True)
def open_groups(
    table: Ints, block: Ints, words: Ints, first: Word, begun: Word, tags: Hashes, slots: Ints,
    scratch: Ints,
) -> Word:  # fmt: skip
    """Find or make the groups of at most BLOCK rows from `first` on, and open them: in which `slots` (BLOCK,) they are.

    The first row for which there is no room, or the one behind the last. Of a group that is opened its rank is kept, if
    it has one, else `begun` is what is known of it. `tags` (BLOCK,) and `scratch` (partition,) are written to.
    """
    width, size, directory = table[KEY_WORDS], table[SIZE], int32s_in(table, DIRECTORY)
    parts, entries, state = words_in(table, PARTS), ints_in(table, ENTRIES), words_in(table, STATE)
    shift, opened, stop = shift_of(directory), opened_in(block), min(first + BLOCK, len(words))
    is_ranked = state.shape[1] > width + 2
    guess(words, first, stop, width, shift, size, directory, entries, state, tags, slots)
    for i in range(first, stop):
        if slots[i - first] >= 0:
            prefetch(opened, (state[slots[i - first], width] - 1) * opened.shape[1])
    for i in range(first, stop):
        slot, made = slots[i - first], np.int64(0)
        if slot < 0 or (width > 1 and not same_key(words, i, state, slot)):
            tag = tags[i - first]
            slot = find_slot(tag, words, i, shift, size, directory, entries, state)
            if slot < 0:
                full = table[FREE] == 0 and table[USED] == len(state)
                if full or not has_place(tag, shift, size, directory, parts, entries, table, PARTITIONS, scratch):
                    return np.int64(i)
                slot, made = new_slot(width, state, table), np.int64(1)
                make_group(slot, words, i, width, state)
                put_slot(tag, slot, shift, size, directory, parts, entries)
        if state[slot, width] == 0:
            mark = block[OPEN + LENGTH] + 1
            for f in range(opened.shape[1]):
                opened[mark - 1, f] = 0
            opened[mark - 1, SLOT], opened[mark - 1, DUE], opened[mark - 1, MADE] = slot, np.int64(-1), made
            if is_ranked:
                opened[mark - 1, WAS_RANK] = state[slot, width + 2]
            else:
                opened[mark - 1, OPENED] = begun
            block[OPEN + LENGTH] = state[slot, width] = mark
        slots[i - first] = slot
    return np.int64(stop)
