"""Looking keys up in a hash index as of given times. See `hashing.index` for the arrays."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.hashing.index import AHEAD, EMPTY, GONE, home, same_key
from ivm.kernels.memory.prefetch import prefetch
from ivm.kernels.types import Bools, Hashes, Int32s, Ints

NEAR = 8
"""How many keys ahead the head of a chain is fetched; its slot has arrived by then."""
CACHED = 1 << 11
"""Tables of no more slots are in the processor's cache anyway."""
_ONE = np.uint64(1)


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def probe_rows(
    slots: Ints,
    following: Int32s,
    died: Ints,
    words: Ints,
    hashes: Hashes,
    dropped: Bools,
    limits: Ints,
    times: Ints,
    since: int,
    start: int,
    count: int,
    positions: Ints,
    rows: Ints,
) -> tuple[int, int, int]:
    """Write (position, row) for the rows of each key from `start` on that are visible as of its time, from `count` on.

    Row r is visible to key i iff r < limits[i] and died[r] > times[i]; `limits` and `times` have length 1 if all are
    the same. Rows dead by `since` are unlinked as they are met: each is met once. Stops at a key whose rows do not
    fit. Returns (position reached, count, chain entries visited). Cost: two random accesses a key, one a further
    match.
    """
    width = np.uint64(words.shape[1])
    capacity = np.uint64(slots.shape[0])
    limit_step = 0 if len(limits) == 1 else 1
    time_step = 0 if len(times) == 1 else 1
    mortal = len(died) > 0
    far = len(slots) > CACHED
    visited = 0
    slot = np.uint64(0)
    searched = np.int64(-1)
    for i in range(start, len(words)):
        if far and i + AHEAD < len(words):
            prefetch(slots, home(hashes[i + AHEAD], capacity) * (width + _ONE))
        if far and i + NEAR < len(words):
            ahead = slots[home(hashes[i + NEAR], capacity), width]
            prefetch(following, ahead - 1)
            if mortal:
                prefetch(died, ahead - 1)
        if len(dropped) and dropped[i]:
            continue
        # Rows of one key often come together.
        if searched < 0 or not same_key(words, searched, words, i):
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
        searched = np.int64(i)
        limit = limits[i * limit_step]
        time = times[i * time_step]
        row = slots[slot, width] - 1
        begin = count
        previous = -1
        while row >= 0:
            visited += 1
            behind = following[row]
            if mortal and died[row] <= since:
                if previous >= 0:
                    following[previous] = behind
                else:
                    slots[slot, width] = behind + 1 if behind >= 0 else GONE
                row = behind
                continue
            if row < limit and (not mortal or died[row] > time):
                if count == len(rows):
                    return i, begin, visited
                positions[count] = i
                rows[count] = row
                count += 1
            previous = row
            row = behind
    return len(words), count, visited


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def probe_unique(
    slots: Ints,
    following: Int32s,
    died: Ints,
    words: Ints,
    hashes: Hashes,
    dropped: Bools,
    limits: Ints,
    times: Ints,
    positions: Ints,
    rows: Ints,
) -> tuple[int, int]:
    """The same where at most one row of a key is visible at any time: the newest below the limit, or none.

    The outputs must have room for every key. Returns (count, chain entries visited).
    """
    width = np.uint64(words.shape[1])
    capacity = np.uint64(slots.shape[0])
    limit_step = 0 if len(limits) == 1 else 1
    time_step = 0 if len(times) == 1 else 1
    mortal = len(died) > 0
    far = len(slots) > CACHED
    count = 0
    visited = 0
    slot = np.uint64(0)
    searched = np.int64(-1)
    for i in range(len(words)):
        if far and i + AHEAD < len(words):
            prefetch(slots, home(hashes[i + AHEAD], capacity) * (width + _ONE))
        if far and mortal and i + NEAR < len(words):
            ahead = slots[home(hashes[i + NEAR], capacity), width]
            prefetch(died, ahead - 1)
        if len(dropped) and dropped[i]:
            continue
        if searched < 0 or not same_key(words, searched, words, i):
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
        searched = np.int64(i)
        limit = limits[i * limit_step]
        row = slots[slot, width] - 1
        while row >= limit:
            visited += 1
            row = following[row]
        if row >= 0:
            visited += 1
            if not mortal or died[row] > times[i * time_step]:
                positions[count] = i
                rows[count] = row
                count += 1
    return count, visited


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def absent_keys(
    slots: Ints, words: Ints, hashes: Hashes, dropped: Bools, shift: int, most: int, positions: Ints
) -> int:
    """Write the positions of the keys that the table has no slot for; how many there are.

    Keys are not looked at whose lead, the first word shifted right by `shift` bits, is above `most`.
    """
    width = np.uint64(words.shape[1])
    capacity = np.uint64(slots.shape[0])
    far = len(slots) > CACHED
    count = 0
    for i in range(len(words)):
        if far and i + AHEAD < len(words):
            prefetch(slots, home(hashes[i + AHEAD], capacity) * (width + _ONE))
        if (len(dropped) and dropped[i]) or words[np.uint64(i), 0] >> shift > most:
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
            positions[count] = i
            count += 1
    return count
