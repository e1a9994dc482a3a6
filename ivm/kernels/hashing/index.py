"""Linking rows to the chains of a hash index, taking them out again, and moving chains to a bigger table.

See `hashing.slots` for `slots` and `old`. `following[row]` (int32) is the next older row of the same key, -1 at the
end; row numbers fall along a chain. `words` is int64 (n, W), `hashes` uint64 (n,) are the hashes of its rows. `died` is
int64 by row number, or of length 0 while no row has ever died; `dropped` is bool (n,), or of length 0 if no key is to
be left out. `counts` is the block of the table.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.hashing.block import FOLLOWING, SINCE, TABLES
from ivm.kernels.hashing.function import hash_word, hash_words
from ivm.kernels.hashing.slots import (
    AHEAD,
    EMPTY,
    GONE,
    MOVED,
    OLD,
    SLOTS,
    USED,
    fetch,
    find_head,
    find_slot,
    most_used,
    old_head,
    put_key,
)
from ivm.kernels.memory.at import int32s_in, ints_in, words_in
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Bools, Hashes, Int32s, Ints

NO_SLOT = -3
_HALF = np.uint64(32)


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def hash_rows(words: Ints, hashes: Hashes) -> None:
    """Write the hash of each row of `words`; cost: 1 ns a word."""
    hash_each(words, hashes)


@part()
def hash_each(words: Ints, hashes: Hashes) -> None:
    """See `hash_rows`."""
    if words.shape[1] == 1:  # in a loop of its own, several at a time
        for i in range(len(words)):
            hashes[i] = hash_word(words[i, 0])
        return
    for i in range(len(words)):
        hashes[i] = hash_words(words, i, words.shape[1])


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def mark_hashes(hashes: Hashes, dropped: Bools, seen: Hashes) -> None:
    """Set the bit of each hash in `seen`, uint64, of a power of two of words; 2 ns a hash while `seen` is in cache."""
    bits = np.uint64(64 * len(seen) - 1)
    for i in range(len(hashes)):
        if len(dropped) == 0 or not dropped[i]:
            bit = (hashes[i] >> _HALF) & bits
            seen[bit >> np.uint64(6)] |= np.uint64(1) << (bit & np.uint64(63))


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


@part()
def link_rows(block: Ints, died: Ints, words: Ints, hashes: Hashes, dropped: Bools, start: int, first_row: int) -> Any:
    """Link the rows of the keys from position `start` on, first_row + i for key i; those that are dead stay out.

    Stops before a key once the table of the index is full; the position reached. Its chains have room.
    Cost: one random access a key, 17-19 ns.
    """
    table, since = ints_in(block, TABLES), block[SINCE]
    slots, old, following = words_in(table, SLOTS), words_in(table, OLD), int32s_in(block, FOLLOWING)
    most = most_used(table)
    width = np.uint64(words.shape[1])
    mortal = len(died) > 0
    used = table[USED]
    reached = len(words)
    for at in range(start, len(words)):
        i, row = np.uint64(at), np.uint64(first_row + at)
        if at + AHEAD < len(words):
            fetch(slots, old, hashes[np.uint64(at + AHEAD)])
        if used >= most:
            reached = at
            break
        if (len(dropped) and dropped[i]) or (mortal and died[row] <= since):
            continue
        slot = find_slot(slots, words, i, hashes[i])
        head = slots[slot, width]
        if head == EMPTY:
            head = old_head(old, words, i, hashes[i])
            put_key(slots, slot, words, i)
            used += 1
        following[row] = head - 1 if head > 0 else -1
        slots[slot, width] = first_row + at + 1
        if mortal and head > 0:
            drop_dead(following, died, first_row + at, since)
    table[USED] = used
    return reached


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def link_ranges(
    slots: Ints, old: Ints, counts: Ints, following: Int32s, words: Ints, hashes: Hashes, firsts: Ints, lengths: Ints
) -> None:
    """Link the lengths[i] rows from firsts[i] on to key i wherever there are any and the key is new.

    The table has room for them. Cost: one random access for each key, and writing the chains.
    """
    for i in range(len(words)):
        if i + AHEAD < len(words):
            fetch(slots, old, hashes[i + AHEAD])
        if lengths[i] == 0:
            continue
        link_range(slots, old, counts, following, words, i, hashes[i], firsts[i], lengths[i])


@part()
def link_range(
    slots: Ints,
    old: Ints,
    counts: Ints,
    following: Int32s,
    words: Ints,
    i: Word,
    code: np.uint64,
    row: Word,
    length: Word,
) -> None:
    """Link so many rows from `row` on to key i, of hash `code`, where it is new."""
    slot, width = find_slot(slots, words, i, code), np.uint64(words.shape[1])
    if slots[slot, width] != EMPTY or old_head(old, words, i, code) != EMPTY:
        return
    put_key(slots, slot, words, i)
    following[row] = -1
    for behind in range(row, row + length - 1):
        following[behind + 1] = behind
    slots[slot, width] = row + length
    counts[USED] += 1


@part()
def cut_chain(slots: Ints, following: Int32s, slot: np.uint64, first_row: int) -> bool:
    """Take the rows from `first_row` on out of the chain of a slot; whether there were any."""
    width = np.uint64(slots.shape[1] - 1)
    row = slots[slot, width] - 1
    if row < first_row:
        return False
    while row >= first_row:
        row = np.int64(following[row])
    slots[slot, width] = row + 1 if row >= 0 else GONE
    return True


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def cut_chains(slots: Ints, following: Int32s, words: Ints, first_row: int) -> int:
    """Take the rows from `first_row` on out of the chains of these keys; how many chains had any.

    Cost: a random access a key and row.
    """
    cut = 0
    for i in range(len(words)):
        cut += cut_chain(slots, following, find_slot(slots, words, i, hash_words(words, i, words.shape[1])), first_row)
    return cut


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def cut_all_chains(slots: Ints, following: Int32s, first_row: int) -> int:
    """Take the rows from `first_row` on out of all chains; how many had any. Cost: a pass over the table."""
    cut = 0
    for slot in range(len(slots)):
        cut += cut_chain(slots, following, np.uint64(slot), first_row)
    return cut


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def unlink_dead(slots: Ints, following: Int32s, died: Ints, words: Ints, since: int) -> None:
    """Take the rows that died by `since` out of the chains of these keys. Cost: a random access or two a row."""
    width = np.uint64(words.shape[1])
    for i in range(len(words)):
        slot = find_slot(slots, words, i, hash_words(words, i, words.shape[1]))
        previous, row = -1, slots[slot, width] - 1
        while row >= 0:
            behind = following[row]
            if died[row] > since:
                previous = row
            elif previous >= 0:
                following[previous] = behind
            else:
                slots[slot, width] = behind + 1 if behind >= 0 else GONE
            row = behind


@part()
def _survives(following: Int32s, died: Ints, head: int, since: int) -> bool:
    """Whether the chain that begins with `head` (row number + 1) holds a row that had not died by `since`."""
    row = head - 1
    while row >= 0:
        if len(died) == 0 or died[row] > since:
            return True
        row = following[row]
    return False


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def count_keys(slots: Ints, following: Int32s, died: Ints, since: int, most: int) -> int:
    """How many keys of the first `most` slots have a row that had not died by `since`. Cost: a pass over them."""
    keys = 0
    for slot in range(min(most, len(slots))):
        keys += _survives(following, died, slots[slot, slots.shape[1] - 1], since)
    return keys


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def move_keys(
    slots: Ints, old: Ints, counts: Ints, following: Int32s, died: Ints, since: int, forget: bool, most: int
) -> bool:
    """Move the keys of the next `most` slots of `old` to `slots`, which is in the order of hashes too; whether all are.

    Keys without a row that lived after `since` stay behind, those whose chains are empty only where it may `forget`
    them: where no row can come back to one. Cost: a pass from front to back over each table.
    """
    width = np.uint64(slots.shape[1] - 1)
    goal = min(counts[MOVED] + most, len(old))
    for each in range(counts[MOVED], goal):
        place = np.uint64(each)
        head = old[place, width]
        if head == EMPTY:
            continue
        slot = find_slot(slots, old, place, hash_words(old, each, slots.shape[1] - 1))
        if slots[slot, width] != EMPTY:
            continue
        if (head == GONE and forget) or (head > 0 and not _survives(following, died, head, since)):
            continue
        for w in range(slots.shape[1]):
            slots[slot, np.uint64(w)] = old[place, np.uint64(w)]
        counts[USED] += 1
    counts[MOVED] = goal
    return goal == len(old)


@part()
def _reaches(following: Int32s, row: int, low: int, high: int) -> bool:
    """Whether the chain that begins with `row` has one from `low` on and below `high`."""
    while row >= high:
        row = following[row]
    return row >= low


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def count_chains(slots: Ints, old: Ints, counts: Ints, following: Int32s, low: int, high: int) -> int:
    """How many chains have a row from `low` on and below `high`. Cost: a pass over the tables."""
    width = np.uint64(slots.shape[1] - 1)
    chains = 0
    for slot in range(len(slots)):
        chains += _reaches(following, slots[np.uint64(slot), width] - 1, low, high)
    for slot in range(counts[MOVED], len(old)):
        place = np.uint64(slot)
        moved = find_slot(slots, old, place, hash_words(old, slot, slots.shape[1] - 1))
        if slots[moved, width] == EMPTY:
            chains += _reaches(following, old[place, width] - 1, low, high)
    return chains


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def newest_row(block: Ints, words: Ints) -> int:
    """The row that came last of the key words[0]; below zero if all are gone, NO_SLOT if the table has no slot for it.

    `block` as in `hashing.block`.
    """
    table = ints_in(block, TABLES)
    slots, old = words_in(table, SLOTS), words_in(table, OLD)
    head = find_head(slots, old, words, 0, hash_words(words, 0, words.shape[1]))
    return NO_SLOT if head == EMPTY else head - 1
