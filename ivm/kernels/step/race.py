"""Races: which of several look-ups meets the fewest rows, for each row of a delta; the walk goes on that way.

Where the chain of the first ends soon, nobody looks at another: no other can save much. Else the chains of all are
walked in turn until one ends, which costs as many times the shortest as there are look-ups, and needs no counts that
somebody keeps. What is counted are entries, whoever sees them: those are what a look-up costs.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.part import part
from ivm.kernels.hashing.block import FOLLOWING, TABLES
from ivm.kernels.hashing.keys import BLOCK, pack_block
from ivm.kernels.hashing.keys import FORM as KEY_FORM
from ivm.kernels.hashing.search import (
    DIED,
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
    SEARCHED,
    WIDTH,
    WORTH_TELLING,
    find_heads,
)
from ivm.kernels.hashing.slots import EMPTY, OLD, SLOTS
from ivm.kernels.memory.at import MANY, address_of, int32s_in, ints_at, ints_in, load, words_at
from ivm.kernels.memory.move import prefetch
from ivm.kernels.memory.places import UNREADABLE
from ivm.kernels.numbers.wide import Word
from ivm.kernels.step import state
from ivm.kernels.step.arena import take
from ivm.kernels.step.records import (
    ARENA_END,
    ASKS,
    ELSEWHERE,
    FEW,
    FIRST,
    GROUPS,
    IN,
    LEGS,
    LENGTH,
    LINE_LEGS,
    LINE_TABLE,
    MET,
    NO_ARENA,
    RACE_LEG,
    RACED,
    RACED_ARRANGED,
    SEARCHING,
    TABLE,
    TOLD,
    WAY,
    WAYS,
    WINNERS,
)
from ivm.kernels.types import Ints

_LEFT = 8 * BLOCK
"""In a look-up's scratch memory there are where the chain of each row goes on, and here how many rows of a run are left
of it; then the words of the keys, and the rows of the run that were read last."""
_WORD = np.int64(0)


@part()
def race_rows(route: Ints, leg: Word) -> Word:
    """Let the look-ups race for each row of an edge: how many rows there are, where all go one WAY. Its line is the
    route from then on.

    ELSEWHERE where rows differ; at WINNERS stands the way of each. It is the way that meets the fewest entries, of
    several the first; or the first of all, if that meets but FEW. Cost: for each row two random accesses a look-up, and
    one more for each entry of the shortest chain; where all first chains are short no other look-up.
    """
    edge, ways = route[leg + IN], route[leg + WAYS]
    first, rows, scratch = route[edge + FIRST], route[edge + LENGTH] - route[edge + FIRST], _WORD
    route[leg + WAY], route[leg + MET] = -1, 0
    for number in range(ways):
        raced = route[leg + RACE_LEG + RACED * number :]
        if not _tell(raced):
            return np.int64(ASKS)
        scratch += (BLOCK + NEAR) * (raced[SEARCHING + WIDTH] + 2)
    route[leg + WINNERS] = take(route, rows, scratch)
    if route[leg + WINNERS] == 0:
        return np.int64(NO_ARENA)
    _place_scratch(route, leg, route[ARENA_END] - 8 * scratch)
    winners, sources, every = ints_at(route[leg + WINNERS], rows), address_of(route) + 8 * (edge + GROUPS), True
    for begin in range(0, rows, BLOCK):
        end = min(begin + BLOCK, rows)
        said = _decide(route, leg, sources, first + begin, winners[begin:end])
        if said < 0:
            return said
        for row in range(begin, end):
            every &= winners[np.uint64(row)] == winners[0]
    if not every:
        return np.int64(ELSEWHERE)
    route[leg + WAY] = winners[0]
    raced = route[leg + RACE_LEG + RACED * winners[0] :]
    route[LEGS], route[TABLE] = raced[LINE_LEGS], raced[LINE_TABLE]
    return rows


@part()
def _tell(raced: Ints) -> bool:
    """Tell a search of the state as it is now; False if somebody else has to see to that first."""
    arranged, search = ints_at(raced[RACED_ARRANGED], state.ARRANGEMENT), raced[SEARCHING:]
    if arranged[state.ASK] != 0 or load(arranged[state.EDITION], _WORD) != arranged[state.TOLD]:
        return False
    search[HELD], search[INDEX], search[NEAR_PLACES] = 0, arranged[state.INDEX], arranged[state.PLACES]
    search[RUN], search[RUN_PARTS] = arranged[state.RUN], arranged[state.RUN_PARTS]
    store = ints_at(arranged[state.STORE], state.ROWS_OF)
    search[DIED] = store[state.DIED] if store[state.MORTAL] != 0 else _WORD
    return True


@part()
def _place_scratch(route: Ints, leg: Word, begin: Word) -> None:
    """Give each look-up its scratch memory, which lies one behind the other."""
    for number in range(route[leg + WAYS]):
        search = route[leg + RACE_LEG + RACED * number + SEARCHING :]
        search[SCRATCH] = begin
        begin += 8 * (BLOCK + NEAR) * (search[WIDTH] + 2)


@part()
def _decide(route: Ints, leg: Word, sources: Word, first: Word, winners: Ints) -> Word:
    """Which way up to BLOCK rows go, from `first` on; below zero if that is not to be read."""
    soon = True
    for number in range(route[leg + WAYS]):
        search = route[leg + RACE_LEG + RACED * number + SEARCHING :]
        said = _find(search, sources, first, np.int64(len(winners)))
        route[TOLD] |= np.int64(search[SEARCHED] >= WORTH_TELLING)
        if said < 0:
            return said
        if number == 0:
            for row in range(len(winners)):
                winners[np.uint64(row)] = -1 + np.int64(_ends_soon(route, leg, np.uint64(row)))
                soon &= winners[np.uint64(row)] == 0
            if soon:
                return said
    for row in range(len(winners)):
        if winners[np.uint64(row)] < 0:
            winners[np.uint64(row)] = _first_at_its_end(route, leg, np.uint64(row))
    return np.int64(0)


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
def _ends_soon(route: Ints, leg: Word, row: np.uint64) -> bool:
    """Whether the first look-up meets but few entries for a row."""
    search, few, met = route[leg + RACE_LEG + SEARCHING :], route[leg + FEW], np.int64(0)
    head, left = ints_at(search[SCRATCH], BLOCK)[row], ints_at(search[SCRATCH] + _LEFT, BLOCK)[row]
    following, died = int32s_in(ints_at(search[INDEX], MANY), FOLLOWING), ints_at(search[DIED], MANY)
    while head > EMPTY and met <= few:
        if search[DIED] != 0:
            prefetch(died, head - 1)  # the look-up will ask
        head, met = np.int64(following[np.uint64(head - 1)]) + 1, met + 1
    if head <= IN_RUN:
        return met + left <= few
    route[leg + MET] += met
    return met <= few


@part()
def _first_at_its_end(route: Ints, leg: Word, row: np.uint64) -> Word:
    """Which of the look-ups has no more entries first, when all go on by one in turn."""
    met = np.int64(0)
    while True:
        for number in range(route[leg + WAYS]):
            search = route[leg + RACE_LEG + RACED * number + SEARCHING :]
            heads, left = ints_at(search[SCRATCH], BLOCK), ints_at(search[SCRATCH] + _LEFT, BLOCK)
            if heads[row] > IN_RUN:
                if heads[row] <= EMPTY:
                    route[leg + MET] += met * route[leg + WAYS]
                    return np.int64(number)
                following = int32s_in(ints_at(search[INDEX], MANY), FOLLOWING)
                if search[DIED] != 0:
                    prefetch(ints_at(search[DIED], MANY), heads[row] - 1)
                heads[row] = np.int64(following[np.uint64(heads[row] - 1)]) + 1
            else:
                if left[row] == 0:
                    route[leg + MET] += met * route[leg + WAYS]
                    return np.int64(number)
                left[row] -= 1
        met += 1
