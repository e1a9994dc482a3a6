"""A leg that is a loop of a program: which rows pass, and what it makes of them."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.part import part
from ivm.kernels.memory import frame as loop
from ivm.kernels.memory.at import address_of, ints_at
from ivm.kernels.memory.places import ADDRESS, BIT, PIECES, PLACES, REFERENCES, SIZE, SOURCE, STRIDE, VALIDITY, WORDS
from ivm.kernels.numbers.wide import Word
from ivm.kernels.step.arena import take
from ivm.kernels.step.enter import entered
from ivm.kernels.step.records import (
    CONSTANTS,
    DIFFS,
    FILTERS,
    FIRST,
    FRAME,
    FURTHER,
    GROUPS,
    IN,
    ITEM,
    ITEMS,
    LENGTH,
    LOOP_ADDRESS,
    MADE,
    MASK,
    NO_ARENA,
    OUT_EDGE,
    OUTPUT,
    OUTPUTS,
    READ,
    READS,
    ROW,
    ROWS,
    TIMES,
    USED,
    USES,
)
from ivm.kernels.types import Ints

_WORD = np.int64(0)


@part()
def run_loop(route: Ints, leg: Word) -> Word:
    """Run the loop of a leg: how many rows pass."""
    edge, out, frame = route[leg + IN], route[leg + OUT_EDGE], route[leg + FRAME]
    first, end = route[edge + FIRST], route[edge + LENGTH]
    at = frame + loop.HEAD
    for number in range(route[leg + READS]):
        read = route[leg + READ] + 2 * number
        source, places = edge + GROUPS + SOURCE * route[read], route[read + 1]
        route[at], route[at + 1] = places if places != 0 else route[source + PLACES], 8 * WORDS
        at = _lay(route, at + 2, route[source + REFERENCES])
    at += 2 * route[leg + FURTHER]
    begin = at
    for number in range(route[leg + USES]):
        references = route[edge + GROUPS + SOURCE * route[route[leg + USED] + number] + REFERENCES]
        at = at if references == 0 else _lay(route, at, references)
    for word in range(TIMES, DIFFS + 1):
        at = at if route[edge + word] == 0 else _lay(route, at, route[edge + word])
    moved, rows = (at - begin) >> 1, end - first
    room = _WORD
    if route[leg + LOOP_ADDRESS] != 0:
        room = take(route, rows * (1 + moved + route[leg + ROWS]) + WORDS * route[leg + OUTPUTS], _WORD)
        if room == 0:
            return np.int64(NO_ARENA)
    route[frame + loop.FIRST], route[frame + loop.END], route[frame + loop.ROWS] = first, end, rows
    route[frame + loop.ROOM], route[frame + loop.CONSTANTS] = room, route[leg + CONSTANTS]
    route[frame + loop.MOVED] = moved
    count = rows
    if route[leg + LOOP_ADDRESS] != 0:
        count = entered(route[leg + LOOP_ADDRESS], address_of(route) + 8 * frame, at - frame)
    if count > 0:
        route[out + FIRST], route[out + LENGTH] = 0, count
        narrow(route, leg, count == rows, room, rows)
        tell_made(route, leg, room + 8 * rows * (1 + moved), rows)
    return count


@part()
def _lay(route: Ints, at: Word, address: Word) -> Word:
    """Let a frame tell of an array of int64, or of none; where the next one stands."""
    route[at], route[at + 1] = address, 8 if address != 0 else 0
    return at + 2


@part()
def narrow(route: Ints, leg: Word, every: bool, room: Word, rows: Word) -> None:
    """The groups that go on from a loop, its times and its diffs, of the rows that passed: `every` one, or those in the
    room.
    """
    edge, out = route[leg + IN], route[leg + OUT_EDGE]
    first, moved = 8 * route[edge + FIRST], room + 8 * rows
    for number in range(route[leg + USES]):
        source = edge + GROUPS + SOURCE * route[route[leg + USED] + number]
        into, references = out + GROUPS + SOURCE * number, route[source + REFERENCES]
        route[into + PLACES] = route[source + PLACES]
        if references == 0:
            route[into + REFERENCES] = room if route[leg + FILTERS] != 0 else _WORD
        else:
            route[into + REFERENCES] = references + first if every else moved
            moved += 8 * rows
    for word in range(TIMES, DIFFS + 1):
        if route[edge + word] == 0:
            route[out + word] = 0
        else:
            route[out + word] = route[edge + word] + first if every else moved
            moved += 8 * rows


@part()
def tell_made(route: Ints, leg: Word, room: Word, rows: Word) -> None:
    """Write down where lies what a loop has made: one more group."""
    if route[leg + OUTPUTS] == 0:
        return
    places = room + 8 * rows * route[leg + ROWS]
    group = route[leg + OUT_EDGE] + GROUPS + SOURCE * route[leg + USES]
    route[group + PLACES], route[group + REFERENCES] = places, 0
    for number in range(route[leg + OUTPUTS]):
        output = route[leg + MADE] + OUTPUT * number
        place = ints_at(places + 8 * WORDS * number, WORDS)
        size = route[output + ITEM] * route[output + ITEMS]
        place[ADDRESS], place[STRIDE], place[SIZE] = room + 8 * rows * route[output + ROW], size, size
        place[VALIDITY] = room + 8 * rows * route[output + MASK] if route[output + MASK] >= 0 else _WORD
        place[BIT], place[PIECES] = -1, 0
