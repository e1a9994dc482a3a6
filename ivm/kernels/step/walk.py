"""The walk: carries a delta along a route of loops and look-ups, in one call. See `ivm.kernels.step.records`."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.memory.at import data_of, length_of, load
from ivm.kernels.memory.places import SOURCE, is_packed, lay_sources
from ivm.kernels.numbers.wide import Word
from ivm.kernels.step.arrange import arrange_rows
from ivm.kernels.step.bound import meet_rows
from ivm.kernels.step.delay import delay_rows
from ivm.kernels.step.look_up import look_up_rows
from ivm.kernels.step.look_up_groups import look_up_groups
from ivm.kernels.step.loop import run_loop
from ivm.kernels.step.race import race_rows
from ivm.kernels.step.records import (
    ARENA,
    ARENA_END,
    ARRANGE,
    AT,
    BOUND,
    CHUNK,
    DELAY,
    GROUPS,
    HEAD,
    IN_GROUPS,
    KIND,
    LEGS,
    LISTED,
    LOOK_UP,
    LOOP,
    NONE,
    OWN_LEGS,
    OWN_TABLE,
    RACE,
    REACHED,
    REDUCE,
    SINK,
    STARTED,
    STRIDED,
    TABLE,
    TIMES,
)
from ivm.kernels.step.reduce import reduce_rows
from ivm.kernels.step.sink import append_rows
from ivm.kernels.types import Ints

_ITEMS = object.__basicsize__ + 8
_WORD = np.int64(0)


@njit(cache=True, nogil=True, fastmath=False)
def walk(route: Ints, rows: int) -> Word:
    """Go on along a route: how many rows there are at its end, or below zero why it stopped.

    `rows`: about how many it is about; others may run meanwhile where they are many. Where more rows are to come than
    fit, AT is the leg that has more of them, and the walk is to be called again. Cost: that of its loops and searches.
    """
    if route[CHUNK] != 0:
        take_chunk(route)
    if route[LISTED] != 0 and not open_route(route):
        return np.int64(STRIDED)
    return go_along(route)


@part()
def take_chunk(route: Ints) -> None:
    """The arena is another array from now on."""
    route[ARENA] = route[REACHED] = data_of(route[CHUNK])
    route[ARENA_END] = route[ARENA] + 8 * length_of(route[CHUNK], 0)
    route[CHUNK] = 0


@part(counted=True)
def go_along(route: Ints) -> Word:
    """See `walk`, of a route whose first edge is laid down."""
    at = route[AT]
    while True:
        leg = route[route[TABLE] + at]
        said = _pass(route, leg, at)
        if said < 0:
            route[AT] = at
            return said
        if said > 0 and route[leg + KIND] == RACE:
            at = np.int64(-1)  # the leg before the first of the line
        if said > 0 and at + 1 < route[LEGS]:
            at += 1
            continue
        at = _with_more(route, at)
        if said > 0 or at < 0:
            route[AT] = at
            return said


@part(counted=True)
def _pass(route: Ints, leg: Word, at: Word) -> Word:
    """Let a leg, number `at`, do what it does: how many rows are behind it, or below zero why it stopped."""
    if route[leg + KIND] == LOOP:
        return run_loop(route, leg)
    if route[leg + KIND] == DELAY:
        return delay_rows(route, leg)
    if route[leg + KIND] == RACE:
        return race_rows(route, leg)
    if route[leg + KIND] == BOUND:
        return meet_rows(route, leg)
    if route[leg + KIND] == REDUCE:
        return reduce_rows(route, leg, _with_more(route, at) < 0)
    if route[leg + KIND] == ARRANGE:
        return arrange_rows(route, leg, _with_more(route, at) < 0)
    if route[leg + KIND] == SINK:
        return append_rows(route, leg, _with_more(route, at) < 0)
    return look_up_rows(route, leg) if route[leg + KIND] == LOOK_UP else look_up_groups(route, leg)


@part()
def _with_more(route: Ints, at: Word) -> Word:
    """The last leg up to number `at` that has more rows to give; -1 if there is none."""
    while at >= 0:
        leg = route[route[TABLE] + at]
        if route[leg + KIND] == LOOK_UP and route[leg + STARTED] != 0:
            return at
        at -= 1
    return at


@part()
def open_route(route: Ints) -> bool:
    """Lay down the first edge; False if some of its arrays are not of int64, one behind the other."""
    route[LEGS], route[TABLE] = route[OWN_LEGS], route[OWN_TABLE]
    edge = np.int64(HEAD)
    groups = route[route[route[TABLE]] + IN_GROUPS]
    begin, end = edge + GROUPS, edge + GROUPS + SOURCE * groups
    if not lay_sources(route[LISTED], route[NONE], route[begin:end]):
        return False
    further = load(route[LISTED] + _ITEMS, _WORD) + 8 * SOURCE * groups
    for number in range(2):
        array = load(further + 8 * number, _WORD)
        route[edge + TIMES + number] = 0
        if array != route[NONE]:
            if not is_packed(array):
                return False
            route[edge + TIMES + number] = data_of(array)
    route[LISTED] = 0
    return True
