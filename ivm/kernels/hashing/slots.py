"""A hash table from key words to chains of row numbers: open addressing, with key and chain head side by side.

`slots` is int64 (capacity, W + 1): the W words of a key, then the head of its chain as row number + 1, EMPTY for a
slot that was never used, GONE for a key whose chain is empty again. A key's home is its hash scaled to the capacity,
so that slots lie in the order of their hashes and a bigger table is filled from front to back. The table is never full.

A table that grows does so a little at a time: `old` is the one before it, of length 0 if all of its keys have moved.
A key that `slots` does not have may still be in `old`, and what `slots` says of a key counts. Nothing but `cut` writes
to `old`, so whoever holds the two arrays finds in them what was there, whoever grows or fills them meanwhile: the words
of a key are written before its head.

A table's block tells where the two arrays are, at SLOTS and OLD, and counts: how many slots have a key is kept at USED
by the kernels, how many slots of `old` have been gone through at MOVED, and at ALIVE how many keys a sample of them
still had.

`words` is int64 (n, W), `code` the hash of a key as uint64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ivm.kernels.compiling.part import part
from ivm.kernels.memory.move import prefetch
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Ints

EMPTY = 0
GONE = -1
SLOTS, OLD, USED, MOVED, ALIVE = 0, 3, 6, 7, 8
TABLE_BLOCK = 9
"""How many words the block of a table has."""
SAMPLE = 1 << 12
"""Slots that are looked at to guess how many keys are left: they are in the order of hashes, so any will do."""
LOADS = 0.75, 0.4
"""Which part of the slots may be used: of many, and of few, which cost next to nothing, so that a search is short."""
FEW_SLOTS = 1 << 14
"""Of so many slots, and fewer, there are few: they stay in the processor's cache."""
CACHED = 1 << 11
"""Tables of no more slots are in the processor's cache anyway."""
AHEAD = 16
"""How many keys ahead of the present one a slot is fetched."""
_HALF = np.uint64(32)
_ONE = np.uint64(1)


@part(inline=True)
def home(code: np.uint64, capacity: np.uint64) -> Any:
    """The slot at which the search for a key of hash `code` begins; all are uint64.

    Slots are unsigned in all loops, since numba lets a negative index count from the end, which costs a test.
    """
    return (code >> _HALF) * capacity >> _HALF


@part(inline=True)
def fetch(slots: Ints, old: Ints, code: np.uint64) -> None:
    """Ask for the slot of a key that is looked for soon."""
    width = np.uint64(slots.shape[1])
    prefetch(slots, home(code, np.uint64(slots.shape[0])) * width)
    if len(old):
        prefetch(old, home(code, np.uint64(old.shape[0])) * width)


@part(inline=True)
def find_slot(slots: Ints, words: Ints, position: Word, code: np.uint64) -> Any:
    """The slot of key words[position], uint64; the empty one where it belongs, if the table does not have it."""
    width = np.uint64(slots.shape[1] - 1)
    capacity = np.uint64(slots.shape[0])
    row = np.uint64(position)
    slot = home(code, capacity)
    while slots[slot, width] != EMPTY:
        w = np.uint64(0)
        while w < width and slots[slot, w] == words[row, w]:
            w += _ONE
        if w == width:
            break
        slot += _ONE
        if slot == capacity:
            slot = np.uint64(0)
    return slot


@part(inline=True)
def find_head(slots: Ints, old: Ints, words: Ints, position: Word, code: np.uint64) -> Any:
    """The head of key words[position], EMPTY if neither table has it."""
    width = np.uint64(slots.shape[1] - 1)
    head = slots[find_slot(slots, words, position, code), width]
    return old_head(old, words, position, code) if head == EMPTY else head


@part(inline=True)
def old_head(old: Ints, words: Ints, position: Word, code: np.uint64) -> Any:
    """The head of key words[position] in the table before, EMPTY if it is not there."""
    if len(old) == 0:
        return np.int64(EMPTY)
    return old[find_slot(old, words, position, code), np.uint64(old.shape[1] - 1)]


@part(inline=True)
def put_key(slots: Ints, slot: np.uint64, words: Ints, position: Word) -> None:
    """Write the words of a key to its slot, whose head is still to be written."""
    for w in range(words.shape[1]):
        slots[slot, np.uint64(w)] = words[np.uint64(position), np.uint64(w)]


@part()
def same_key(words: Ints, one: Word, others: Ints, other: Word) -> bool:
    """Whether two rows of words are equal."""
    for w in range(words.shape[1]):
        if words[np.uint64(one), np.uint64(w)] != others[np.uint64(other), np.uint64(w)]:
            return False
    return True


@part()
def most_used(table: Ints) -> Any:
    """How many slots may be used, if what is still to come from the table before shall have its place.

    It has as many keys in each slot that was not gone through as a sample of them had.
    """
    left = table[OLD + 1]
    to_come = table[ALIVE] * (left - table[MOVED]) // min(SAMPLE, left) if left > 0 else 0
    return np.int64(table[SLOTS + 1] * LOADS[np.int64(table[SLOTS + 1] <= FEW_SLOTS)]) - to_come
