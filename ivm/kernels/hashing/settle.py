"""Bringing keys out of the run of an index into its table, before rows of theirs come or die: a part of what does that.

A *settling* is a frame of int64: a search (see `hashing.search`), of which only how the run is read is told, two words,
and scratch memory. ABSENT: how many keys there were that only the run may have. MOST: so many of them are looked for
there; if there are more, rows are to leave the run first.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.hashing.block import DISTINCT, FOLLOWING, LAST_LEAD, SHIFT, START, STOP, TABLES
from ivm.kernels.hashing.index import link_range
from ivm.kernels.hashing.keys import BLOCK, pack_block
from ivm.kernels.hashing.keys import FORM as KEY_FORM
from ivm.kernels.hashing.search import IN_RUN, NEAR, NEAR_PLACES, RUN, RUN_PARTS, SEARCH, find_rows
from ivm.kernels.hashing.slots import AHEAD, CACHED, EMPTY, OLD, SLOTS, USED, fetch, find_head, most_used
from ivm.kernels.memory.at import address_of, int32s_in, ints_at, ints_in, scratch, words_at, words_in
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Bools, Hashes, Ints

ABSENT, MOST, _FIRST, _COUNT, _NEAR = range(SEARCH, SEARCH + 5)
SETTLING, SETTLING_FOR_EACH = _NEAR + 2 * NEAR, NEAR
"""How many words a settling has, and for each word of a key."""
SETTLED, NO_ROOM, LEAVING, HIDDEN = 0, -2, -3, -4
"""What `settle` says: it is done; the table has no room for as many keys as are `ABSENT`; these are more than MOST; the
run cannot be read.
"""
_missing, _rest = scratch(BLOCK), scratch(BLOCK)


@part()
def settle(block: Ints, frame: Ints, words: Ints, hashes: Hashes, dropped: Bools, absent: Ints) -> Word:
    """Link all rows of the run that these keys, but for those that are `dropped`, could find: SETTLED, or why not.

    Then nothing was done. `absent`: as many words as there are keys, which are overwritten. Cost: a random access a
    key, and finding those in the run that the table does not have.
    """
    frame[ABSENT] = 0
    if block[STOP] == block[START]:
        return SETTLED
    table = ints_in(block, TABLES)
    slots, old, following = words_in(table, SLOTS), words_in(table, OLD), int32s_in(block, FOLLOWING)
    shift, most, far, count = block[SHIFT], block[LAST_LEAD], len(slots) > CACHED, 0
    for i in range(len(words)):
        if far and i + AHEAD < len(words):
            fetch(slots, old, hashes[i + AHEAD])
        if (len(dropped) and dropped[i]) or words[i, 0] >> shift > most:
            continue
        if find_head(slots, old, words, i, hashes[i]) == EMPTY:
            absent[count] = i
            count += 1
    frame[ABSENT] = count
    if count == 0:
        return SETTLED
    if count > frame[MOST]:
        return LEAVING
    if table[USED] + count > most_used(table):
        return NO_ROOM
    firsts, counts = frame[_FIRST:_COUNT], frame[_COUNT:_NEAR]
    for each in range(count):
        i = absent[each]
        firsts[0] = counts[0] = 0
        if not find_rows(frame, block, words[i : i + 1], 0, firsts, counts, address_of(frame[_NEAR:])):
            return HIDDEN
        if counts[0] > 0:
            link_range(slots, old, table, following, words, i, hashes[i], IN_RUN - firsts[0], counts[0])
    return SETTLED


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def find_in_run(frame: Ints, block: Ints, words: Ints, firsts: Ints, counts: Ints) -> bool:
    """The first row of each key (n, W) in the run, and how many it has, one after the other; False if it is unreadable.

    `frame`: a settling. Cost: a binary search among the fences, and reading the keys near one or two, for each key that
    lies elsewhere than the one before.
    """
    for row in range(len(words)):
        firsts[row] = counts[row] = 0
        if not find_rows(frame, block, words, np.int64(row), firsts, counts, address_of(frame[_NEAR:])):
            return False
        if counts[row] > 0:
            firsts[row] = IN_RUN - firsts[row]
    return True


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def first_keys(frame: Ints, block: Ints, rows: int, words: Ints, firsts: Ints, counts: Ints) -> Word:
    """The keys of the first `rows` rows of the run, in their order: how many; -1 if it is unreadable.

    Written are the words of each (n, W), its first row, and how many it has, of the last one those behind too. There is
    room for as many as rows. `frame`: a settling. Cost: a pass over the rows.
    """
    start, stop, distinct, found = block[START], block[STOP], block[DISTINCT] != 0, np.int64(0)
    sources, form = address_of(frame) + 8 * NEAR_PLACES, words_at(frame[RUN], frame[RUN_PARTS], KEY_FORM)
    missing, rest, goal = ints_at(_missing(), BLOCK), words_at(_rest(), BLOCK, 1), min(start + rows, stop)
    for first in range(start, goal, BLOCK):
        count = min(goal - first, BLOCK)
        packed = words[found : found + count]
        if not pack_block(form, sources, np.int64(first), packed, missing[:count]):
            return np.int64(-1)
        for i in range(count):
            if not distinct and found > 0 and words[found - 1, 0] == packed[i, 0]:
                counts[found - 1] += 1
                continue
            for w in range(words.shape[1]):
                words[found, w] = packed[i, w]
            firsts[found], counts[found] = first + i, 1
            found += 1
    for first in range(goal, stop if found > 0 and not distinct else goal, BLOCK):
        count = min(stop - first, BLOCK)
        if not pack_block(form, sources, np.int64(first), rest[:count], missing[:count]):
            return np.int64(-1)
        for i in range(count):
            if words[found - 1, 0] != rest[i, 0]:
                return found
            counts[found - 1] += 1
    return found
