"""A leg that is a look-up: rows find their partners in an index, as many as there is room for."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.part import part
from ivm.kernels.hashing import search as searching
from ivm.kernels.hashing.block import SINCE
from ivm.kernels.hashing.search import (
    ALONG,
    ARRAYS,
    COUNT,
    DIED,
    EVERY,
    GATHERED,
    HELD,
    LONG,
    LONG_ROOM,
    NO_ROOM,
    OUT,
    ROOM,
    SCRATCH,
    SCRATCH_FOR_EACH,
    SCRATCH_WORDS,
    SEARCHED,
    SOURCES,
    TIRED,
    UNIQUE,
    WIDTH,
    WORTH_TELLING,
    search,
)
from ivm.kernels.hashing.search import AT as FOUND_TO
from ivm.kernels.hashing.search import LENGTH as FOUND_OF
from ivm.kernels.memory.at import MANY, address_of, ints_at, load
from ivm.kernels.memory.places import PLACES, REFERENCES
from ivm.kernels.numbers.stretches import ends_in
from ivm.kernels.numbers.wide import Word
from ivm.kernels.step import state
from ivm.kernels.step.arena import take
from ivm.kernels.step.onward import along, bind
from ivm.kernels.step.records import (
    ARENA_END,
    ARRANGED,
    ASKS,
    FIRST,
    FOUND,
    GIVEN,
    GROUPS,
    IN,
    INCLUSIVE,
    LENGTH,
    LOOK_UP_LEG,
    MATCHES,
    MOST,
    NO_ARENA,
    SEEN_EACH,
    START,
    STARTED,
    STORE,
    TIME,
    TIMES,
    TOLD,
)
from ivm.kernels.types import Ints

_WORD = np.int64(0)
_STAMPS = np.int64(0x7FFF_FFFF_FFFF_FFFF)
"""What `ivm.trace.time` takes from times for stamps."""
_LATEST = np.int64(0x7FFF_FFFF_FFFF_FFFF)
_LEAST_ROOM, _MOST_LONG = 16, 64
_SIXTEENTHS = 16
"""How finely matches are counted; where they become fewer, the latest count for as much."""


@part()
def look_up_rows(route: Ints, leg: Word) -> Word:
    """Let rows find their partners, as many as there is room for: how many are found."""
    edge = route[leg + IN]
    frame = route[leg + FOUND :]
    if route[leg + GIVEN] == 0 and not _state(route, leg, frame):
        return np.int64(ASKS)
    if route[leg + STARTED] == 0:
        route[leg + STARTED], frame[FOUND_TO], frame[FOUND_OF] = 1, route[edge + FIRST], route[edge + LENGTH]
        frame[OUT] = frame[TIRED] = frame[LONG] = route[leg + SEEN_EACH] = 0
    if route[leg + GIVEN] == 0 and not _see(route, leg, frame):
        return np.int64(NO_ARENA)
    scratch = SCRATCH_WORDS + SCRATCH_FOR_EACH * frame[WIDTH]
    if frame[OUT] == 0 and not _make_room(route, leg, frame, scratch):
        return np.int64(NO_ARENA)
    if take(route, _WORD, scratch) == 0:
        return np.int64(NO_ARENA)
    arrays = along(route, leg, leg + LOOK_UP_LEG)
    frame[SOURCES], frame[ALONG] = address_of(route) + 8 * (edge + GROUPS), address_of(route[leg + LOOK_UP_LEG :])
    frame[ARRAYS], frame[SCRATCH], frame[HELD] = arrays, route[ARENA_END] - 8 * scratch, 0
    said = search(frame)
    while said == NO_ROOM and (frame[ROOM] < route[MOST] or frame[COUNT] == 0):
        if not _grow(route, frame, route[leg + START], arrays, scratch):
            return np.int64(NO_ARENA)
        said = search(frame)
    route[TOLD] |= np.int64(frame[TIRED] != 0 or frame[SEARCHED] >= WORTH_TELLING)
    if said < 0 and frame[COUNT] == 0:
        route[leg + STARTED] = 0
        return said
    done = frame[FOUND_TO] - route[leg + START]
    _count(route, leg, frame, done)
    if frame[FOUND_TO] >= frame[FOUND_OF]:
        route[leg + STARTED] = 0
    if frame[COUNT] > 0:
        _bind(route, leg, frame)
    frame[OUT] = 0
    return frame[COUNT]


@part()
def _state(route: Ints, leg: Word, frame: Ints) -> bool:
    """Tell a search of the state as it is now; False if somebody else has to."""
    arranged = ints_at(route[leg + ARRANGED], state.ARRANGEMENT)
    if arranged[state.ASK] != 0 or load(arranged[state.EDITION], _WORD) != arranged[state.TOLD]:
        return False
    index, store = ints_at(arranged[state.INDEX], MANY), ints_at(arranged[state.STORE], state.ROWS_OF)
    frame[DIED] = store[state.DIED] if store[state.MORTAL] != 0 else _WORD
    frame[searching.INDEX], frame[searching.SINCE] = arranged[state.INDEX], index[SINCE]
    frame[searching.NEAR_PLACES] = route[leg + STORE] = arranged[state.PLACES]
    frame[searching.RUN], frame[searching.RUN_PARTS] = arranged[state.RUN], arranged[state.RUN_PARTS]
    return True


@part()
def _see_all(frame: Ints, store: Ints, as_of: Word) -> None:
    """All rows of the delta see what there was as of a time."""
    limit, known, there = frame[searching.LIMIT : searching.LIMIT + 1], store[state.KNOWN], store[state.ROWS]
    limit[0] = as_of
    ends_in(limit, ints_at(store[state.TIMES], known), ints_at(store[state.FIRSTS], known), known, there, limit)
    limit[0] = min(limit[0], there)
    frame[searching.STAMP], frame[searching.LIMITS] = max(as_of, np.int64(-1)) - _STAMPS, 0


@part()
def _see(route: Ints, leg: Word, frame: Ints) -> bool:
    """Each row sees what there was as of its time; False if the arena has no room to say that of each by itself.

    Where all have one time, or nobody ever died and none came since the first of their times, all see the same.
    """
    edge, arranged = route[leg + IN], ints_at(route[leg + ARRANGED], state.ARRANGEMENT)
    store = ints_at(arranged[state.STORE], state.ROWS_OF)
    first, end, before = route[edge + FIRST], route[edge + LENGTH], 1 - route[leg + INCLUSIVE]
    frame[searching.STAMPS] = 0
    if route[edge + TIMES] == 0:
        _see_all(frame, store, route[TIME] - before)
        return True
    rows, least = end - first, _LATEST
    times = ints_at(route[edge + TIMES] + 8 * first, rows)
    for row in range(rows):
        least = min(least, times[np.uint64(row)])
    if frame[DIED] == 0 and least - before >= store[state.LAST]:
        _see_all(frame, store, least - before)
        return True
    if route[leg + SEEN_EACH] == 0:
        route[leg + SEEN_EACH] = take(route, 2 * rows, _WORD)
        if route[leg + SEEN_EACH] == 0:
            return False
    limits, stamps = ints_at(route[leg + SEEN_EACH], rows), ints_at(route[leg + SEEN_EACH] + 8 * rows, rows)
    for row in range(rows):
        limits[np.uint64(row)] = times[np.uint64(row)] - before
    if frame[DIED] != 0:
        for row in range(rows):
            stamps[np.uint64(row)] = max(limits[np.uint64(row)], np.int64(-1)) - _STAMPS
        frame[searching.STAMPS] = address_of(stamps) - 8 * first
    known = store[state.KNOWN]
    begun, firsts = ints_at(store[state.TIMES], known), ints_at(store[state.FIRSTS], known)
    ends_in(limits, begun, firsts, known, store[state.ROWS], limits)
    frame[searching.LIMITS] = address_of(limits) - 8 * first
    return True


@part()
def _make_room(route: Ints, leg: Word, frame: Ints, scratch: Word) -> bool:
    """Room for a part of what is found, and for keys with long chains; False if the arena has not so much."""
    rows, arrays = frame[FOUND_OF] - frame[FOUND_TO], 2 + along(route, leg, leg + LOOK_UP_LEG)
    room, long = min(rows, route[MOST]), np.int64(0)
    if frame[UNIQUE] == 0:
        room = min(rows * route[leg + MATCHES] // _SIXTEENTHS * 5 // 4 + _LEAST_ROOM, route[MOST])
        if frame[DIED] != 0 and frame[LONG] == 0:
            long = np.int64(_MOST_LONG) * frame[WIDTH]
    out = take(route, arrays * room + long, scratch)
    if out == 0:
        return False
    frame[OUT], frame[ROOM], frame[EVERY] = out, room, 1
    frame[COUNT] = frame[GATHERED] = 0
    route[leg + START] = frame[FOUND_TO]
    if long != 0:
        frame[LONG], frame[LONG_ROOM] = out + 8 * arrays * room, _MOST_LONG
    return True


@part()
def _grow(route: Ints, frame: Ints, start: Word, gathered: Word, scratch: Word) -> bool:
    """More room for what is found, about as much as is to come; False if the arena has not so much."""
    room, arrays, found = frame[ROOM], 2 + gathered, frame[COUNT]
    done, rest = frame[FOUND_TO] - start, frame[FOUND_OF] - frame[FOUND_TO]
    wanted = found * (rest + done) // done * 5 // 4 if done > 0 else np.int64(0)
    more = max(2 * room, min(wanted, route[MOST]))
    grown = take(route, arrays * more, scratch)
    if grown == 0:
        return False
    for number in range(arrays):
        old = ints_at(frame[OUT] + 8 * room * number, found)
        new = ints_at(grown + 8 * more * number, found)
        for row in range(found):
            new[np.uint64(row)] = old[np.uint64(row)]
    frame[OUT], frame[ROOM] = grown, more
    return True


@part()
def _count(route: Ints, leg: Word, frame: Ints, done: Word) -> None:
    """Remember how many matches a row had."""
    if done > 0:
        before, latest = route[leg + MATCHES], _SIXTEENTHS * frame[COUNT] // done
        route[leg + MATCHES] = latest if latest > before else before + (latest - before) // _SIXTEENTHS


@part()
def _bind(route: Ints, leg: Word, frame: Ints) -> None:
    """The edge behind a look-up: all groups, of the rows that were found, and one of the rows that these have found."""
    out, step = frame[OUT], 8 * frame[ROOM]
    group = bind(route, leg, frame[COUNT], out, route[leg + START], frame[EVERY] != 0, out + 2 * step, step)
    route[group + PLACES], route[group + REFERENCES] = route[leg + STORE], out + step
