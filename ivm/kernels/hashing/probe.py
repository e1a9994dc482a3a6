"""Looking keys up in a hash index as of given times. See `hashing.index` for the arrays.

Nothing is written to the index, and it may be written to meanwhile. Then a chain may begin with rows that have no place
yet in the `following` that a reader holds: it stops there, for the reader to take the present one.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.hashing.slots import AHEAD, EMPTY, fetch, find_head, home, same_key
from ivm.kernels.memory.move import prefetch
from ivm.kernels.types import Bools, Hashes, Int32s, Ints

NEAR = 8
"""How many keys ahead the head of a chain is fetched; its slot has arrived by then."""
CACHED = 1 << 11
"""Tables of no more slots are in the processor's cache anyway."""
MANY_DEAD = 4
"""Chains with at least so many rows that nobody sees any more are worth shortening."""


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def probe_rows(
    slots: Ints,
    old: Ints,
    following: Int32s,
    died: Ints,
    words: Ints,
    hashes: Hashes,
    dropped: Bools,
    limits: Ints,
    times: Ints,
    unique: bool,
    since: int,
    firsts: Ints,
    lengths: Ints,
    start: int,
    count: int,
    tired: int,
    positions: Ints,
    rows: Ints,
    long: Ints,
) -> tuple[int, int, int, int]:
    """Write (position, row) for the rows of each key from `start` on that are visible as of its time, from `count` on.

    Row r is visible to key i iff r < limits[i] and died[r] > times[i]; `limits` and `times` have length 1 if all are
    the same. If `unique`, a key has one such row at most: the newest below the limit, or none. Keys that the tables do
    not have find the lengths[i] rows from firsts[i] on (length 0 if no key has any). Keys whose chains have many rows
    dead by `since` go to `long` from `tired` on, while it has room. Stops at a key whose rows do not fit, or lead
    beyond `following`. Returns (position reached, count, tired, entries visited). Cost: two random accesses a key, one
    a further match.
    """
    if unique:  # half of the work, so it has a loop of its own
        return _probe(
            slots, old, following, died, words, hashes, dropped, limits, times, True, since, firsts, lengths, start,
            count, tired, positions, rows, long,
        )  # fmt: skip
    return _probe(
        slots, old, following, died, words, hashes, dropped, limits, times, False, since, firsts, lengths, start, count,
        tired, positions, rows, long,
    )  # fmt: skip


@part(inline=True)
def _probe(
    slots: Ints, old: Ints, following: Int32s, died: Ints, words: Ints, hashes: Hashes, dropped: Bools, limits: Ints,
    times: Ints, unique: bool, since: int, firsts: Ints, lengths: Ints, start: int, count: int, tired: int,
    positions: Ints, rows: Ints, long: Ints,
) -> tuple[int, int, int, int]:  # fmt: skip
    """`probe_rows` where `unique` is a constant."""
    width = np.uint64(words.shape[1])
    capacity = np.uint64(slots.shape[0])
    limit_step = 0 if len(limits) == 1 else 1
    time_step = 0 if len(times) == 1 else 1
    mortal = len(died) > 0
    far = len(slots) > CACHED
    room, reach = len(rows), len(following)
    visited = 0
    head = np.int64(EMPTY)
    searched = np.int64(-1)
    for at in range(start, len(words)):
        i = np.uint64(at)
        if far and at + AHEAD < len(words):
            fetch(slots, old, hashes[np.uint64(at + AHEAD)])
        if far and (mortal or not unique) and at + NEAR < len(words):
            ahead = slots[home(hashes[np.uint64(at + NEAR)], capacity), width]
            if not unique:
                prefetch(following, ahead - 1)
            if mortal:
                prefetch(died, ahead - 1)
        if len(dropped) and dropped[i]:
            continue
        # Rows of one key often come together.
        if searched < 0 or not same_key(words, searched, words, i):
            head = find_head(slots, old, words, i, hashes[i])
        searched = np.int64(at)
        if head <= EMPTY and len(lengths) == 0:
            continue
        limit = limits[np.uint64(at * limit_step)]
        time = times[np.uint64(at * time_step)]
        begin = count
        dead = 0
        row = head - 1
        while row >= 0:
            visited += 1
            if row < limit:
                if not mortal or died[np.uint64(row)] > time:
                    if not unique and count == room:
                        return at, begin, tired, visited
                    positions[np.uint64(count)] = at
                    rows[np.uint64(count)] = row
                    count += 1
                elif not unique and died[np.uint64(row)] <= since:
                    dead += 1
                if unique:
                    break
            elif row >= reach:
                return at, begin, tired, visited
            row = np.int64(following[np.uint64(row)])
        if head == EMPTY and len(lengths):
            for each in range(firsts[i], min(firsts[i] + lengths[i], limit)):
                row = np.int64(each)
                visited += 1
                if not mortal or died[np.uint64(row)] > time:
                    if count == room:
                        return at, begin, tired, visited
                    positions[np.uint64(count)] = at
                    rows[np.uint64(count)] = row
                    count += 1
        if not unique and dead >= MANY_DEAD and tired < len(long):
            long[tired] = at
            tired += 1
    return len(words), count, tired, visited


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def absent_keys(
    slots: Ints, old: Ints, words: Ints, hashes: Hashes, dropped: Bools, shift: int, most: int, positions: Ints
) -> int:
    """Write the positions of the keys that the tables have no slot for; how many there are.

    Keys are not looked at whose lead, the first word shifted right by `shift` bits, is above `most`.
    """
    far = len(slots) > CACHED
    count = 0
    for i in range(len(words)):
        if far and i + AHEAD < len(words):
            fetch(slots, old, hashes[i + AHEAD])
        if (len(dropped) and dropped[i]) or words[np.uint64(i), 0] >> shift > most:
            continue
        if find_head(slots, old, words, i, hashes[i]) == EMPTY:
            positions[count] = i
            count += 1
    return count
