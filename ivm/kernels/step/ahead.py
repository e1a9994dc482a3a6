"""Many walks begun in one call: of each route how far it has come, before anybody asks for what has come of it."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.memory.at import ints_at
from ivm.kernels.numbers.wide import Word
from ivm.kernels.step.records import AT, CHUNK, FIRST, HEAD, LENGTH, LISTED, MARKED, STRIDED, TIME, TOLD
from ivm.kernels.step.walk import go_along, open_route, take_chunk
from ivm.kernels.types import Bools, Ints

STEP, ROUTE, WORDS, COMES, COUNTS, ABOVE, ABOVES, SAID = range(8)
MEMBER = 8
"""Of each walk: the number of the step that it belongs to; where the route lies, of so many words; the number of what
goes along it; where is counted how many rows the step has taken in, and for how long; from which place on `above` has
the numbers of the steps that come before it, so many; and what the walk says.
"""
GIVEN, ROWS, AT_TIME = range(3)
COMING = 3
"""Of what goes along: the `id` of the list that a route is told of (see `records`), how many rows, their time."""


@njit(cache=True, nogil=True, fastmath=False)
def walk_ahead(
    members: Ints, above: Ints, coming: Ints, due: Bools, mixed: Bools, begun: Bools, at: int, arenas: Ints,
    nanoseconds: int, rows: int, found: Ints, left: Ints,
) -> Word:  # fmt: skip
    """Begin the walks of all steps that are `due`, not `mixed`, as those are that wait for something else as well, and
    not `begun`, from number `at` on, if nothing is due any more of what comes from there on and before them.

    Members are those of one step after the other, in their order. Steps of which nothing comes are not due any more.
    Those walks of which something comes, or that have stopped, or have only something to report, are written down in
    `found`; how many these are. Each of them has one of the `arenas`, the `id`s of arrays, to itself, in their order;
    where there may be too few of these, the walks of a step are not begun. `left`: how many steps have not been begun
    so far, and which is the first. `nanoseconds`: how long a walk is taken to last, for what is counted; `rows`: how
    many go along all of them. Cost: that of the walks.
    """
    count, first = np.int64(0), np.int64(0)
    left[0] = 0
    while first < len(members):
        step, end = members[first, STEP], first + 1
        while end < len(members) and members[end, STEP] == step:
            end += 1
        fits = step >= at and end - first <= len(arenas)
        if fits and due[step] != 0 and mixed[step] == 0 and begun[step] == 0:
            if count + end - first > len(arenas) or _waits(members[first], above, due, at):
                if left[0] == 0:
                    left[1] = step
                left[0] += 1
            else:
                begun[step], is_done = 1, True
                for m in range(first, end):
                    member = members[m]
                    told = _walk(member, coming[member[COMES]], arenas[count])
                    is_done = is_done and member[SAID] == 0
                    if told:
                        found[count] = m
                        count += 1
                if is_done:
                    due[step] = 0
                    for m in range(first, end):
                        counts = ints_at(members[m, COUNTS], 2)
                        counts[0] += coming[members[m, COMES], ROWS]
                        counts[1] += nanoseconds
        first = end
    return count


@part()
def _waits(member: Ints, above: Ints, due: Bools, at: int) -> bool:
    """Whether something is due, from step `at` on, that comes before that of a walk."""
    for place in range(member[ABOVE], member[ABOVE] + member[ABOVES]):
        if above[place] >= at and due[above[place]] != 0:
            return True
    return False


@part(counted=True)
def _walk(member: Ints, delta: Ints, arena: Word) -> bool:
    """Begin a walk along which a delta goes; whether it has said something, or has something to report."""
    route = ints_at(member[ROUTE], member[WORDS])
    route[TIME], route[MARKED], route[AT], route[TOLD] = delta[AT_TIME], 0, 0, 0
    route[CHUNK], route[LISTED] = arena, delta[GIVEN]
    route[HEAD + FIRST], route[HEAD + LENGTH] = 0, delta[ROWS]
    take_chunk(route)
    member[SAID] = go_along(route) if open_route(route) else np.int64(STRIDED)
    return member[SAID] != 0 or route[TOLD] != 0
