"""Rounds of a loop, one after the other in one call: groups are looked at, and what they give is led back to them.

That is for loops with one node of groups, to which all that it gives comes back along *lines*: routes of legs, without
any state but what is looked up. The *frame* says how far it is; so it comes back to Python wherever it has to, and
goes on when it is called again.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.groups.accumulate import PlanRow
from ivm.kernels.groups.block import KEY_WORDS
from ivm.kernels.groups.round_block import FIRST, dues_in, has_room
from ivm.kernels.groups.round_extremes import put_laid_values
from ivm.kernels.groups.round_least import least_in
from ivm.kernels.groups.rounds import DONE, counts_in, put_laid
from ivm.kernels.groups.rounds import FRAME as PUT_FRAME
from ivm.kernels.groups.rounds import NO_SLOTS as NO_PLACE
from ivm.kernels.groups.rounds import ROW as PUT_ROW
from ivm.kernels.groups.settled import settled_in
from ivm.kernels.memory.at import MANY, address_of, data_of, int32s_at, ints_at, words_at
from ivm.kernels.memory.places import ADDRESS, STRIDE, WORDS
from ivm.kernels.memory.places import PLACES as GROUP_PLACES
from ivm.kernels.memory.places import REFERENCES as GROUP_REFERENCES
from ivm.kernels.numbers.wide import Word
from ivm.kernels.step.records import (
    ARENA,
    AT,
    CHUNK,
    DIFFS,
    GROUPS,
    HEAD,
    LEGS,
    LENGTH,
    LISTED,
    NO_ARENA,
    OUT_EDGE,
    TABLE,
    TIME,
    TIMES,
    TOLD,
)
from ivm.kernels.step.records import FIRST as FIRST_ROW
from ivm.kernels.step.walk import go_along, take_chunk
from ivm.kernels.types import Ints

SETTLED, COUNTS, EXISTS, LEAST, GREATEST = range(5)
"""What groups give: see `groups.settled`, `groups.rounds` and `groups.round_least`."""
(
    KIND, PLAN, PLANS, COLUMNS, LINES, MOST_DUE, BEFORE, MOST, TICK, STAGE, LINE, NUMBER, RUN, WANTED,
    FROM, GIVEN, ROOM, KEYS, VALUES, LATER, CHANGES, LIE, BEGIN, ROW_CELLS, ROW_ROOM, CAME, MOST_CAME,
) = range(27)  # fmt: skip
DRIVE = 27
"""What groups give; what they add up (see `groups.accumulate`), by its `id`; how many columns what they give has,
with the round after and a one, and how many lines lead on from it. So many groups are Python's if they may be due at
once; rounds from BEFORE on are, and there are no more than MOST. At which tick it is.

Then how far it is: at what, in which line, and of which round; how many rounds were run; for how many rows there is no
room, or what a walk has said. What groups have given begins with the present round's at FROM, and ends at GIVEN, of
ROOM rows. Where that lies: keys, values if they are of some, rounds in which it comes back, how often each is added;
the places of its columns (see `memory.places`), and the addresses of their first rows. Then where the cells of rows
that are put are noted, and of how many; how many have come to the groups, and with how many it pauses. Behind it
LINE_WORDS for each line."""
ROUTE, MEMORY, PUT = range(3)
LINE_WORDS = PUT + PUT_FRAME
"""The `id` of a route, that of its arena, and what groups are told (see `groups.rounds.put_rounds`)."""
EVALUATE, BEGINS, WALKS, PUTS = range(4)
"""What there is to do: look at groups; begin a line, walk along it, and put what has come to the end of it."""
(
    ENDED, PAUSED, BY_PYTHON, NO_GIVEN, NO_CELLS, NO_SLOTS, FAILED, NO_MEMORY, STOPPED, LEARNS,
) = range(10)  # fmt: skip
"""Why it comes back: nothing is due; so much was done; the round is Python's; there is no room for what groups
give, for cells of so many rows, or for a group; a sum has overflowed; a walk lacks memory, or has stopped, or has met
what an index is to learn, after which the line goes on."""
_GOES_ON = -1
_MOST_EACH = 4
"""So many rows a group gives in a round at most."""
_PLAN_WIDTH = len(PlanRow._fields)


@njit(cache=True, nogil=True, fastmath=False)
def drive(frame: Ints, table: Ints, block: Ints) -> Word:
    """Run rounds of groups for as long as nothing else is to be done; why it has ended.

    `table` is the control block of the groups (see `groups.block`), `block` that of their rounds.
    """
    while True:
        if frame[STAGE] == EVALUATE:
            said = _evaluate(frame, table, block)
            if said != _GOES_ON:
                return said
        elif frame[LINE] == frame[LINES]:
            frame[STAGE] = EVALUATE
        else:
            line = DRIVE + LINE_WORDS * frame[LINE]
            said = _go_on(frame, table, block, frame[line:], ints_at(data_of(frame[line + ROUTE]), MANY))
            if said != _GOES_ON:
                return said


@part(counted=True)
def _evaluate(frame: Ints, table: Ints, block: Ints) -> Word:
    """Look at the groups that are due first."""
    number, width, begun = block[FIRST], table[KEY_WORDS], frame[GIVEN]
    if number < 0:
        return np.int64(ENDED)
    if frame[RUN] >= frame[MOST] or frame[CAME] >= frame[MOST_CAME] or number >= frame[BEFORE]:
        return np.int64(PAUSED)
    due = dues_in(block)
    if due > frame[MOST_DUE]:
        return np.int64(BY_PYTHON)
    if due * _MOST_EACH > frame[ROOM] - begun:
        frame[WANTED] = due * _MOST_EACH
        return np.int64(NO_GIVEN)
    room = frame[ROOM] - begun
    keys = words_at(frame[KEYS] + 8 * width * begun, room, width)
    diffs, kind = ints_at(frame[CHANGES] + 8 * begun, room), frame[KIND]
    if kind == SETTLED:
        count = settled_in(table, block, number, keys, diffs)
    elif kind in (LEAST, GREATEST):
        values = ints_at(frame[VALUES] + 8 * begun, room)
        count = least_in(table, block, number, kind == GREATEST, keys, values, diffs)
    else:
        plan = words_at(data_of(frame[PLAN]), frame[PLANS], _PLAN_WIDTH)
        count = counts_in(table, block, plan, number, kind == EXISTS, keys, diffs)
    frame[NUMBER], frame[FROM], frame[GIVEN] = number, begun, begun + count
    frame[RUN] += 1
    if count > 0:
        later = ints_at(frame[LATER] + 8 * begun, count)
        later[:] = number + 1
        places = words_at(frame[LIE], frame[COLUMNS], WORDS)
        begins = ints_at(frame[BEGIN], frame[COLUMNS])
        for column in range(len(places)):
            places[column, ADDRESS] = begins[column] + begun * places[column, STRIDE]
        frame[STAGE], frame[LINE] = BEGINS, 0
    return np.int64(_GOES_ON)


@part(counted=True)
def _go_on(frame: Ints, table: Ints, block: Ints, line: Ints, route: Ints) -> Word:
    """Go on along a line."""
    if frame[STAGE] == BEGINS:
        _begin(frame, line, route)
        frame[STAGE] = WALKS
    if frame[STAGE] == WALKS:
        if route[CHUNK] != 0:
            take_chunk(route)
        said = go_along(route)
        if said < 0:
            frame[WANTED] = said
            return np.int64(NO_MEMORY if said == NO_ARENA else STOPPED)
        frame[STAGE], line[PUT + PUT_ROW] = PUTS, 0
        if said == 0:
            return _next(frame, route)
    said = _put(frame, table, block, line[PUT:], route)
    if said != DONE:
        return said
    if route[AT] >= 0:
        frame[STAGE] = WALKS
        return np.int64(_GOES_ON)
    return _next(frame, route)


@part()
def _next(frame: Ints, route: Ints) -> Word:
    """The line is through."""
    frame[LINE] += 1
    frame[STAGE] = BEGINS
    return np.int64(LEARNS if route[TOLD] != 0 else _GOES_ON)


@part()
def _begin(frame: Ints, line: Ints, route: Ints) -> None:
    """Let what groups have given in the round come to the beginning of a route."""
    if route[CHUNK] != 0:
        take_chunk(route)
    route[ARENA] = data_of(line[MEMORY])
    route[AT] = route[LISTED] = 0
    route[TIME] = frame[TICK]
    route[HEAD + FIRST_ROW], route[HEAD + LENGTH] = 0, frame[GIVEN] - frame[FROM]
    route[HEAD + TIMES], route[HEAD + DIFFS] = 0, frame[CHANGES] + 8 * frame[FROM]
    route[HEAD + GROUPS + GROUP_PLACES], route[HEAD + GROUPS + GROUP_REFERENCES] = frame[LIE], 0


@part(counted=True)
def _put(frame: Ints, table: Ints, block: Ints, told: Ints, route: Ints) -> Word:
    """Put what has come to the end of a route."""
    edge = route[route[route[TABLE] + route[LEGS] - 1] + OUT_EDGE]
    rows, diffs = route[edge + LENGTH], ints_at(np.int64(0), 0)
    if told[PUT_ROW] == 0:
        if rows > frame[ROW_ROOM] or not has_room(block, rows):
            frame[WANTED] = rows
            return np.int64(NO_CELLS)
    if route[edge + DIFFS] != 0:
        diffs = ints_at(route[edge + DIFFS], rows)
    sources = address_of(route) + 8 * (edge + GROUPS)
    if frame[KIND] in (LEAST, GREATEST):
        said = put_laid_values(table, block, rows, frame[KIND] == GREATEST, told, sources, diffs)
    else:
        said = put_laid(table, block, int32s_at(frame[ROW_CELLS], rows), told, sources, diffs)
    if said == DONE:
        frame[CAME] += rows
        return said
    return np.int64(NO_SLOTS if said == NO_PLACE else FAILED)
