"""Many walks begun in one call: of each route how far it has come, before anybody asks for what has come of it."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.memory.at import ints_at
from ivm.kernels.numbers.wide import Word
from ivm.kernels.step.records import AT, CHUNK, FIRST, HEAD, LENGTH, LISTED, MARKED, STRIDED, TIME, TOLD
from ivm.kernels.step.walk import go_along, open_route, take_chunk
from ivm.kernels.types import Bools, Ints

STEP, ROUTE, WORDS, COMES, COUNTS, SAID = range(6)
MEMBER = 6
"""Of each walk: the number of the step that it belongs to; where the route lies, of so many words; the number of what
goes along it; where is counted how many rows the step has taken in, and for how long; what the walk says, or that it
was NOT_BEGUN.
"""
NOT_BEGUN = -100
GIVEN, ROWS, AT_TIME = range(3)
COMING = 3
"""Of what goes along: the `id` of the list that a route is told of (see `records`), how many rows, their time."""
_WALKED = 2


@njit(cache=True, nogil=True, fastmath=False)
def walk_ahead(
    members: Ints, coming: Ints, due: Bools, mixed: Bools, arenas: Ints, nanoseconds: int, rows: int, found: Ints
) -> Word:
    """Begin the walks of all steps that are `due` and not `mixed`, which wait for something else as well.

    Steps of which nothing comes are not due any more. Those walks of which something comes, or that have stopped, or
    have only something to report, are written down in `found`; how many these are. Each of them has one of the
    `arenas`, the `id`s of arrays, to itself, in their order; where there are no more of these, the other walks are not
    begun. `nanoseconds`: how long a walk is taken to last, for what is counted; `rows`: how many go along all of them.
    Cost: that of the walks.
    """
    count = np.int64(0)
    for m in range(len(members)):
        member = members[m]
        step = member[STEP]
        if due[step] == 0 or mixed[step] != 0:
            continue
        if count == len(arenas):
            due[step], member[SAID] = 1, NOT_BEGUN
            continue
        delta, route = coming[member[COMES]], ints_at(member[ROUTE], member[WORDS])
        route[TIME], route[MARKED], route[AT], route[TOLD] = delta[AT_TIME], 0, 0, 0
        route[CHUNK], route[LISTED] = arenas[count], delta[GIVEN]
        route[HEAD + FIRST], route[HEAD + LENGTH] = 0, delta[ROWS]
        take_chunk(route)
        member[SAID] = go_along(route) if open_route(route) else np.int64(STRIDED)
        due[step] = _WALKED
        if member[SAID] != 0 or route[TOLD] != 0:
            found[count] = m
            count += 1
    for i in range(count):
        if members[found[i], SAID] != 0:
            due[members[found[i], STEP]] = 1
    for m in range(len(members)):
        if due[members[m, STEP]] == _WALKED:
            counts = ints_at(members[m, COUNTS], 2)
            counts[0] += coming[members[m, COMES], ROWS]
            counts[1] += nanoseconds
    for m in range(len(members)):
        if due[members[m, STEP]] == _WALKED:
            due[members[m, STEP]] = 0
    return count
