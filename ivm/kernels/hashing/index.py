"""A hash table from key words to chains of row numbers: open addressing, with key and chain head side by side.

`slots` is int64 (capacity, W + 1): the W words of a key, then the head of its chain as row number + 1, EMPTY for a
slot that was never used, GONE for a key whose chain is empty again. `following[row]` (int32) is the next older row of
the same key, -1 at the end; row numbers fall along a chain. A key's home is its hash scaled to the capacity, so that
slots lie in the order of their hashes and a bigger table is filled from front to back. `words` is int64 (n, W),
`hashes` uint64 (n,) are the hashes of its rows. `died` is int64 by row number, or of length 0 while no row has ever
died; `dropped` is bool (n,), or of length 0 if no key is to be left out. The table is never full.

The search for a slot is written out in each loop: a compiled call that takes arrays counts references to them, which
costs more than the search.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.hashing.function import hash_word
from ivm.kernels.memory.prefetch import prefetch
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Bools, Hashes, Int32s, Ints

EMPTY = 0
GONE = -1
AHEAD = 16
"""How many keys ahead of the present one a slot is fetched."""
_HALF = np.uint64(32)
_ONE = np.uint64(1)


@part()
def home(code: np.uint64, capacity: np.uint64) -> Any:
    """The slot at which the search for a key of hash `code` begins; all are uint64.

    Slots are unsigned in all loops, since numba lets a negative index count from the end, which costs a test.
    """
    return (code >> _HALF) * capacity >> _HALF


@part()
def same_key(words: Ints, one: Word, others: Ints, other: Word) -> bool:
    """Whether two rows of words are equal."""
    for w in range(words.shape[1]):
        if words[np.uint64(one), np.uint64(w)] != others[np.uint64(other), np.uint64(w)]:
            return False
    return True


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def hash_rows(words: Ints, hashes: Hashes) -> None:
    """Write the hash of each row of `words`; cost: 1 ns a word."""
    for i in range(len(words)):
        code = hash_word(words[i, 0])
        for w in range(1, words.shape[1]):
            code = hash_word(np.int64(code) ^ words[i, w])
        hashes[i] = code


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def mark_hashes(hashes: Hashes, dropped: Bools, seen: Hashes) -> None:
    """Set the bit of each hash in `seen`, uint64, of a power of two of words; 2 ns a hash while `seen` is in cache."""
    bits = np.uint64(64 * len(seen) - 1)
    for i in range(len(hashes)):
        if len(dropped) == 0 or not dropped[i]:
            bit = (hashes[i] >> _HALF) & bits
            seen[bit >> np.uint64(6)] |= np.uint64(1) << (bit & np.uint64(63))


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def count_bits(seen: Hashes) -> int:
    """How many bits are set."""
    total = 0
    for word in seen:
        left = np.uint64(word)
        while left != 0:
            left &= left - np.uint64(1)
            total += 1
    return total


@part()
def drop_dead(following: Int32s, died: Ints, row: int, since: int) -> None:
    """Unlink the rows that died by `since` just behind `row` and behind its first survivor.

    A key that is updated over and over so keeps a short chain: the version that is dying now, and none before it.
    """
    for _ in range(2):
        behind = following[row]
        while behind >= 0 and died[behind] <= since:
            behind = following[behind]
        following[row] = behind
        if behind < 0:
            break
        row = behind


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def insert_rows(
    slots: Ints,
    following: Int32s,
    died: Ints,
    words: Ints,
    hashes: Hashes,
    dropped: Bools,
    start: int,
    first_row: int,
    since: int,
    room: int,
) -> tuple[int, int]:
    """Link the rows of the keys from position `start` on, first_row + i for key i; rows dead by `since` stay out.

    Stops before a key once `room` new keys are in. Returns (position reached, new keys). Cost: one random access for
    each key, 17-19 ns.
    """
    width = np.uint64(words.shape[1])
    capacity = np.uint64(slots.shape[0])
    mortal = len(died) > 0
    some_dropped = len(dropped) > 0
    new = 0
    for i in range(start, len(words)):
        if i + AHEAD < len(words):
            prefetch(slots, home(hashes[i + AHEAD], capacity) * (width + _ONE))
        if new == room:
            return i, new
        row = first_row + i
        if (some_dropped and dropped[i]) or (mortal and died[row] <= since):
            continue
        slot = home(hashes[i], capacity)
        while slots[slot, width] != EMPTY:
            w = np.uint64(0)
            while w < width and slots[slot, w] == words[np.uint64(i), w]:
                w += _ONE
            if w == width:
                break
            slot += _ONE
            if slot == capacity:
                slot = np.uint64(0)
        head = slots[slot, width]
        if head == EMPTY:
            new += 1
            for part in range(words.shape[1]):
                slots[slot, np.uint64(part)] = words[np.uint64(i), np.uint64(part)]
        following[row] = head - 1 if head > 0 else -1
        slots[slot, width] = row + 1
        if mortal and head > 0:
            drop_dead(following, died, row, since)
    return len(words), new


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def link_ranges(slots: Ints, following: Int32s, words: Ints, hashes: Hashes, firsts: Ints, counts: Ints) -> int:
    """Link the counts[i] rows from firsts[i] on to key i wherever there are any and the key is new; how many keys are.

    The table has room for them. Cost: one random access for each key, and writing the chains.
    """
    width = np.uint64(words.shape[1])
    capacity = np.uint64(slots.shape[0])
    new = 0
    for i in range(len(words)):
        if i + AHEAD < len(words):
            prefetch(slots, home(hashes[i + AHEAD], capacity) * (width + _ONE))
        if counts[i] == 0:
            continue
        slot = home(hashes[i], capacity)
        while slots[slot, width] != EMPTY:
            w = np.uint64(0)
            while w < width and slots[slot, w] == words[np.uint64(i), w]:
                w += _ONE
            if w == width:
                break
            slot += _ONE
            if slot == capacity:
                slot = np.uint64(0)
        if slots[slot, width] == EMPTY:
            for part in range(words.shape[1]):
                slots[slot, np.uint64(part)] = words[np.uint64(i), np.uint64(part)]
            row = firsts[i]
            following[row] = -1
            for behind in range(row, row + counts[i] - 1):
                following[behind + 1] = behind
            slots[slot, width] = row + counts[i]
            new += 1
    return new


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def unlink_rows(slots: Ints, following: Int32s, words: Ints, hashes: Hashes, dropped: Bools, first_row: int) -> int:
    """Take the newest rows of the table out again, first_row + i for key i; how many of them were linked."""
    width = np.uint64(words.shape[1])
    capacity = np.uint64(slots.shape[0])
    unlinked = 0
    for back in range(1, len(words) + 1):
        i = len(words) - back
        if len(dropped) and dropped[i]:
            continue
        slot = home(hashes[i], capacity)
        while slots[slot, width] != EMPTY:
            w = np.uint64(0)
            while w < width and slots[slot, w] == words[np.uint64(i), w]:
                w += _ONE
            if w == width:
                break
            slot += _ONE
            if slot == capacity:
                slot = np.uint64(0)
        row = first_row + i
        if slots[slot, width] == row + 1:
            slots[slot, width] = following[row] + 1 if following[row] >= 0 else GONE
            unlinked += 1
    return unlinked


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def link_again(slots: Ints, words: Ints, hashes: Hashes, rows: Ints) -> int:
    """Put rows that left the front of their chains, rows[i] of key i, ascending, back there; how many keys are new.

    Their chains still say what was behind each of them. The table has room for their keys.
    """
    width = np.uint64(words.shape[1])
    capacity = np.uint64(slots.shape[0])
    new = 0
    for i in range(len(words)):
        slot = home(hashes[i], capacity)
        while slots[slot, width] != EMPTY:
            w = np.uint64(0)
            while w < width and slots[slot, w] == words[np.uint64(i), w]:
                w += _ONE
            if w == width:
                break
            slot += _ONE
            if slot == capacity:
                slot = np.uint64(0)
        if slots[slot, width] == EMPTY:
            new += 1
            for part in range(words.shape[1]):
                slots[slot, np.uint64(part)] = words[np.uint64(i), np.uint64(part)]
        slots[slot, width] = rows[i] + 1
    return new


@part()
def has_survivor(following: Int32s, died: Ints, head: int, since: int) -> bool:
    """Whether the chain that begins with `head` (row number + 1) holds a row that had not died by `since`."""
    row = head - 1
    while row >= 0:
        if died[row] > since:
            return True
        row = following[row]
    return False


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def count_keys(slots: Ints, following: Int32s, died: Ints, since: int) -> int:
    """How many keys have a row that had not died by `since`; cost: one pass over the table."""
    width = slots.shape[1] - 1
    mortal = len(died) > 0
    keys = 0
    for slot in range(slots.shape[0]):
        head = slots[slot, width]
        if head > 0 and (not mortal or has_survivor(following, died, head, since)):
            keys += 1
    return keys


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def rehash(old: Ints, slots: Ints, following: Int32s, died: Ints, since: int) -> int:
    """Move the keys that have survivors from `old` to the empty `slots`; how many there are.

    Both tables are in hash order, so this is a pass from front to back over each, not a random access for each key.
    """
    width = slots.shape[1] - 1
    capacity = np.uint64(slots.shape[0])
    mortal = len(died) > 0
    used = 0
    for i in range(old.shape[0]):
        head = old[i, width]
        if head <= 0 or (mortal and not has_survivor(following, died, head, since)):
            continue
        code = hash_word(old[i, 0])
        for w in range(1, width):
            code = hash_word(np.int64(code) ^ old[i, w])
        slot = home(np.uint64(code), capacity)
        while slots[slot, np.uint64(width)] != EMPTY:
            slot += _ONE
            if slot == capacity:
                slot = np.uint64(0)
        for w in range(width + 1):
            slots[slot, np.uint64(w)] = old[i, w]
        used += 1
    return used


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def renumber(slots: Ints, following: Int32s, mapping: Int32s, renumbered: Int32s) -> None:
    """Give the rows of all chains their new numbers mapping[row], leaving out those with mapping[row] < 0.

    `renumbered` takes the new chains; `mapping` preserves the order of rows.
    """
    width = slots.shape[1] - 1
    for slot in range(slots.shape[0]):
        row = slots[slot, width] - 1
        if row < 0:
            continue
        newest = -1
        before = -1
        while row >= 0:
            number = mapping[row]
            if number >= 0:
                if newest < 0:
                    newest = number
                else:
                    renumbered[before] = number
                before = number
            row = following[row]
        if newest >= 0:
            renumbered[before] = -1
        slots[slot, width] = newest + 1 if newest >= 0 else GONE
