"""Races: which of several look-ups meets the fewest rows, for each row of a delta.

The chains of all are walked in turn until one ends, which costs as many times the shortest as there are look-ups, and
needs no counts that somebody keeps. What is counted are entries, whoever sees them: those are what a look-up costs.

A race is a frame of int64: at LISTED the `id` of a list of the sources of the rows (see `memory.places.lay_sources`),
at NONE that of None, at LOOK_UPS how many there are; at LEARNT is noted whether an index is to learn something, at MET
how many entries were met so far. From RACE on LOOK_UP words for each: at ARRANGED where the words of its arrangement
stand (see `step.state`), and behind that a search (see `hashing.search`), of which FORM, PARTS, WIDTH and SCRATCH are
filled, with memory of `scratch_words`. The sources are written down behind these.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.hashing.block import FOLLOWING, TABLES
from ivm.kernels.hashing.keys import BLOCK, pack_block
from ivm.kernels.hashing.keys import FORM as KEY_FORM
from ivm.kernels.hashing.search import (
    FORM,
    HELD,
    HIDDEN,
    IN_RUN,
    INDEX,
    NEAR,
    NEAR_PLACES,
    PARTS,
    RUN,
    RUN_PARTS,
    SCRATCH,
    SEARCH,
    SEARCHED,
    WIDTH,
    find_heads,
)
from ivm.kernels.hashing.slots import EMPTY, OLD, SLOTS
from ivm.kernels.memory.at import MANY, address_of, int32s_in, ints_at, ints_in, load, words_at
from ivm.kernels.memory.places import UNREADABLE, lay_sources
from ivm.kernels.numbers.wide import Word
from ivm.kernels.step import state
from ivm.kernels.step.records import ASKS
from ivm.kernels.types import Ints

LISTED, NONE, LOOK_UPS, LEARNT, MET, RACE = range(6)
ARRANGED, SEARCHING, LOOK_UP = 0, 1, 1 + SEARCH
_LEFT = 8 * BLOCK
"""In a look-up's scratch memory there are where the chain of each row goes on, and here how many rows of a run are left
of it; then the words of the keys, and the rows of the run that were read last."""
_WORD = np.int64(0)


def scratch_words(width: int) -> int:
    """How many words of scratch memory a look-up needs by keys of so many words."""
    return (BLOCK + NEAR) * (width + 2)


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def race(frame: Ints, winners: Ints) -> Word:
    """winners[i] = which look-up meets the fewest entries for row i, of several the first.

    Which one that is for all rows, or how many look-ups there are, where rows differ. Below zero why it stopped: ASKS,
    or as a search does, UNREADABLE or HIDDEN. Cost: for each row two random accesses a look-up, and one more for each
    entry of the shortest chain.
    """
    count = frame[LOOK_UPS]
    sources = frame[RACE + LOOK_UP * count :]
    if not lay_sources(frame[LISTED], frame[NONE], sources):
        return np.int64(UNREADABLE)
    for number in range(count):
        if not _tell(frame[RACE + LOOK_UP * number :]):
            return np.int64(ASKS)
    every = True
    for first in range(0, len(winners), BLOCK):
        rows = min(BLOCK, len(winners) - first)
        for number in range(count):
            search = frame[RACE + LOOK_UP * number + SEARCHING :]
            said = _find(search, address_of(sources), np.int64(first), np.int64(rows))
            frame[LEARNT] |= search[SEARCHED]
            if said < 0:
                return said
        for row in range(rows):
            winner = _first_at_its_end(frame, np.uint64(row))
            winners[np.uint64(first + row)] = winner
            every &= winner == winners[0]
    return winners[0] if every and len(winners) > 0 else count


@part()
def _tell(look_up: Ints) -> bool:
    """Tell a search of the state as it is now; False if somebody else has to see to that first."""
    arranged, search = ints_at(look_up[ARRANGED], state.ARRANGEMENT), look_up[SEARCHING:]
    if arranged[state.ASK] != 0 or load(arranged[state.EDITION], _WORD) != arranged[state.TOLD]:
        return False
    search[HELD], search[INDEX], search[NEAR_PLACES] = 0, arranged[state.INDEX], arranged[state.PLACES]
    search[RUN], search[RUN_PARTS] = arranged[state.RUN], arranged[state.RUN_PARTS]
    return True


@part()
def _find(search: Ints, sources: Word, first: Word, rows: Word) -> Word:
    """Where the chains of up to BLOCK rows begin, from `first` on; below zero if that is not to be read."""
    width, block = search[WIDTH], ints_at(search[INDEX], MANY)
    table, form = ints_in(block, TABLES), words_at(search[FORM], search[PARTS], KEY_FORM)
    slots = words_at(table[SLOTS], table[SLOTS + 1], width + 1)
    old = words_at(table[OLD], table[OLD + 1], width + 1)
    heads, missing = ints_at(search[SCRATCH], BLOCK), ints_at(search[SCRATCH] + _LEFT, BLOCK)
    words = words_at(search[SCRATCH] + 2 * _LEFT, BLOCK, width)
    near = search[SCRATCH] + 8 * BLOCK * (width + 2)
    if not pack_block(form, sources, first, words[:rows], missing[:rows]):
        return np.int64(UNREADABLE)
    # No sieve: heads stand in its place.
    found = find_heads(search, block, slots, old, rows, words, missing, heads, near, heads, False)
    return rows if found else np.int64(HIDDEN)


@part()
def _first_at_its_end(frame: Ints, row: np.uint64) -> Word:
    """Which of the look-ups has no more entries first, when all go on by one in turn."""
    met = np.int64(0)
    while True:
        for number in range(frame[LOOK_UPS]):
            search = frame[RACE + LOOK_UP * number + SEARCHING :]
            heads, left = ints_at(search[SCRATCH], BLOCK), ints_at(search[SCRATCH] + _LEFT, BLOCK)
            if heads[row] > IN_RUN:
                if heads[row] <= EMPTY:
                    frame[MET] += met * frame[LOOK_UPS]
                    return np.int64(number)
                following = int32s_in(ints_at(search[INDEX], MANY), FOLLOWING)
                heads[row] = np.int64(following[np.uint64(heads[row] - 1)]) + 1
            else:
                if left[row] == 0:
                    frame[MET] += met * frame[LOOK_UPS]
                    return np.int64(number)
                left[row] -= 1
        met += 1
