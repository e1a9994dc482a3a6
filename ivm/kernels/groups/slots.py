"""The index of a table of groups: from keys to slots, in partitions of which each is split by itself when it is full.

`entries` int64: partition p has `size` places, a power of two, from p * size on. An entry is the high half of its key's
hash, the tag, and slot + 1; 0 where nothing is. `directory` int32, a power of two long: the first bits of a tag say in
which partition it is. `parts` int64 (partitions, 2): how many of those bits a partition's tags have in common, and how
many entries it has, two thirds of its places at most.

So no batch waits for the whole index to grow: a split moves the entries of one partition.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.hashing.function import hash_word, hash_words
from ivm.kernels.hashing.slots import same_key
from ivm.kernels.memory.move import prefetch
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Hashes, Int32s, Ints

BITS, ENTRIES = 0, 1
PARTITION = 2
TAG_BITS = 32


@part()
def shift_of(directory: Int32s) -> Word:
    """By how much a tag is shifted to be a position in the directory."""
    shift, length = TAG_BITS, len(directory)
    while length > 1:
        length >>= 1
        shift -= 1
    return np.int64(shift)


@part(inline=True)
def home(tag: Word, shift: Word, size: Word, directory: Int32s) -> Word:
    """Where an entry with this tag belongs."""
    at = np.uint64(tag)
    return np.uint64(np.int64(directory[at >> np.uint64(shift)]) * size) + (at & np.uint64(size - 1))


@part(inline=True)
def behind(at: Word, size: Word) -> Word:
    """The next place of the same partition, the first behind the last."""
    last = np.uint64(size - 1)
    return (at & ~last) | ((at + np.uint64(1)) & last)


@part()
def guess(
    words: Ints, first: Word, stop: Word, width: Word, shift: Word, size: Word, directory: Int32s, entries: Ints,
    state: Ints, tags: Hashes, slots: Ints,
) -> None:  # fmt: skip
    """For rows [first, stop): the tag, and the first slot that has it, -1 unless it may be the key's.

    Loops this short have many random accesses under way at once, and what they touch is at hand for what comes next.
    Indexes are unsigned, since numba lets a negative one count from the end, which costs a test for each access.
    """
    if width == 1:
        for i in range(first, stop):
            tags[np.uint64(i - first)] = np.uint64(hash_word(words[np.uint64(i), 0])) >> np.uint64(TAG_BITS)
    else:
        for i in range(first, stop):
            tags[np.uint64(i - first)] = np.uint64(hash_words(words, i, width)) >> np.uint64(TAG_BITS)
    for k in range(stop - first):
        at = np.uint64(k)
        prefetch(entries, np.int64(home(tags[at], shift, size, directory)))
    for k in range(stop - first):
        at = np.uint64(k)
        tag, place, slot = tags[at], home(tags[at], shift, size, directory), np.int64(-1)
        while entries[place] != 0:
            entry = np.uint64(entries[place])
            if entry >> np.uint64(TAG_BITS) == tag:
                slot = np.int64(entry & np.uint64(0xFFFFFFFF)) - 1
                break
            place = behind(place, size)
        if slot >= len(state):
            slot = np.int64(-1)
        if slot >= 0:
            prefetch(state, slot * state.shape[1])
            prefetch(state, (slot + 1) * state.shape[1] - 1)
        slots[at] = slot
    for k in range(stop - first):
        at = np.uint64(k)
        if slots[at] >= 0 and state[np.uint64(slots[at]), 0] != words[np.uint64(first) + at, 0]:
            slots[at] = np.int64(-1)


@part(inline=True)
def find_slot(
    tag: Word, words: Ints, i: Word, shift: Word, size: Word, directory: Int32s, entries: Ints, state: Ints
) -> Word:
    """The slot of key i, -1 if the index has none below the length of `state`."""
    at = home(tag, shift, size, directory)
    while entries[at] != 0:
        entry = np.uint64(entries[at])
        if entry >> np.uint64(TAG_BITS) == tag:
            slot = np.int64(entry & np.uint64(0xFFFFFFFF)) - 1
            if slot < len(state) and same_key(words, i, state, slot):
                return slot
        at = behind(at, size)
    return np.int64(-1)


@part()
def tag_of(slot: Word, width: Word, state: Ints) -> Word:
    """The tag of the key in a slot."""
    return np.uint64(hash_words(state, slot, width)) >> np.uint64(TAG_BITS)


@part(inline=True)
def has_place(
    tag: Word, shift: Word, size: Word, directory: Int32s, parts: Ints, entries: Ints, counts: Ints, used: Word,
    scratch: Ints,
) -> bool:  # fmt: skip
    """Make a place for one more entry with this tag, splitting its partition if that is full.

    False if there is no room for that. `counts[used]` is the number of partitions in use, `scratch` has room for one.
    """
    at = np.uint64(tag) >> np.uint64(shift)
    while 3 * (parts[directory[at], ENTRIES] + 1) > 2 * size:
        count = counts[used]
        full = parts[directory[at], BITS] == TAG_BITS - shift
        if full or count == len(parts) or (count + 1) * size > len(entries):
            return False
        counts[used] = count + 1
        _split(at, shift, size, count, directory, parts, entries, scratch)
    return True


@part()
def _split(
    at: Word, shift: Word, size: Word, new: Word, directory: Int32s, parts: Ints, entries: Ints, scratch: Ints
) -> None:
    """Give half of the tags of the partition at a position of the directory to a new one."""
    old = np.int64(directory[at])
    bits = parts[old, BITS]
    span = np.int64(1) << (TAG_BITS - shift - bits)
    start = np.int64(at) & ~(span - 1)
    for d in range(start + span // 2, start + span):
        directory[d] = new
    count = 0
    for k in range(size):
        entry = entries[old * size + k]
        entries[old * size + k] = entries[new * size + k] = 0
        scratch[count] = entry
        count += entry != 0
    moved = np.int64(0)
    for k in range(count):
        tag = np.uint64(scratch[k]) >> np.uint64(TAG_BITS)
        goes = np.int64(tag >> np.uint64(TAG_BITS - 1 - bits)) & 1
        place = np.uint64((new if goes else old) * size) + (tag & np.uint64(size - 1))
        while entries[place] != 0:
            place = behind(place, size)
        entries[place] = scratch[k]
        moved += goes
    parts[old, BITS] = parts[new, BITS] = bits + 1
    parts[old, ENTRIES], parts[new, ENTRIES] = count - moved, moved


@part(inline=True)
def _place(entry: Word, shift: Word, size: Word, directory: Int32s, parts: Ints, entries: Ints) -> None:
    """Put an entry at the first place that is free."""
    tag = np.uint64(entry) >> np.uint64(TAG_BITS)
    at = home(tag, shift, size, directory)
    while entries[at] != 0:
        at = behind(at, size)
    entries[at] = entry
    parts[directory[tag >> np.uint64(shift)], ENTRIES] += 1


@part(inline=True)
def put_slot(tag: Word, slot: Word, shift: Word, size: Word, directory: Int32s, parts: Ints, entries: Ints) -> None:
    """Index a slot, for whose tag there is a place."""
    entry = np.int64((np.uint64(tag) << np.uint64(TAG_BITS)) | np.uint64(slot + 1))
    _place(entry, shift, size, directory, parts, entries)


@part()
def remove_slot(
    slot: Word, width: Word, shift: Word, size: Word, directory: Int32s, parts: Ints, entries: Ints, state: Ints
) -> None:
    """Take a slot out of the index if it is there, and close the gap."""
    tag = tag_of(slot, width, state)
    gap = home(tag, shift, size, directory)
    while np.int64(np.uint64(entries[gap]) & np.uint64(0xFFFFFFFF)) != slot + 1:
        if entries[gap] == 0:
            return
        gap = behind(gap, size)
    parts[directory[np.uint64(tag) >> np.uint64(shift)], ENTRIES] -= 1
    at = gap
    while True:
        at = behind(at, size)
        if entries[at] == 0:
            break
        wanted = home(np.uint64(entries[at]) >> np.uint64(TAG_BITS), shift, size, directory)
        # The entry may move back unless its home lies, cyclically, behind the gap.
        if (at - wanted) & np.uint64(size - 1) >= (at - gap) & np.uint64(size - 1):
            entries[gap] = entries[at]
            gap = at
    entries[gap] = 0


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def widen_partitions(
    count: Word, old_size: Word, old: Ints, size: Word, directory: Int32s, parts: Ints, entries: Ints
) -> None:
    """Copy `count` partitions of `old` to `entries`, which is empty, with larger ones. Cost: a pass over all."""
    shift = shift_of(directory)
    for p in range(count):
        parts[p, ENTRIES] = 0
    for k in range(count * old_size):
        if old[k] != 0:
            _place(old[k], shift, size, directory, parts, entries)
