"""What goes on with the rows that a look-up has found partners for: references, times and diffs."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.part import part
from ivm.kernels.memory.at import ints_at, load
from ivm.kernels.memory.places import PLACES, REFERENCES, SOURCE
from ivm.kernels.numbers.wide import Word
from ivm.kernels.step.records import DIFFS, FIRST, GROUPS, IN, IN_GROUPS, LENGTH, OUT_EDGE, TIMES
from ivm.kernels.types import Ints

_WORD = np.int64(0)


@part()
def along(route: Ints, leg: Word, begin: Word) -> Word:
    """Write down, from a place on, what goes along with the rows of a leg's edge: the addresses of references, times
    and diffs; how many these are.
    """
    edge, at = route[leg + IN], begin
    for number in range(route[leg + IN_GROUPS]):
        references = route[edge + GROUPS + SOURCE * number + REFERENCES]
        if references != 0:
            route[at] = references
            at += 1
    for word in range(TIMES, DIFFS + 1):
        if route[edge + word] != 0:
            route[at] = route[edge + word]
            at += 1
    return at - begin


@part()
def gather(addresses: Ints, positions: Word, count: Word, out: Word, step: Word) -> None:
    """Let arrays go along with the rows at so many positions, one array behind the other, `step` bytes apart."""
    numbers = ints_at(positions, count)
    for number in range(len(addresses)):
        values = ints_at(out + step * number, count)
        for i in range(count):
            values[np.uint64(i)] = load(addresses[number] + 8 * numbers[np.uint64(i)], _WORD)


@part()
def bind(
    route: Ints, leg: Word, count: Word, positions: Word, start: Word, every: bool, gathered: Word, step: Word
) -> Word:
    """The edge behind a leg: its groups, times and diffs, of so many rows, whose `positions` lie at an address.

    Where these are `every` row from `start` on, all is as it was; else it was `gathered`, in the order of `along`, each
    `step` bytes behind the one before. Where the words of one more group stand.
    """
    edge, out, start = route[leg + IN], route[leg + OUT_EDGE], 8 * start
    route[out + FIRST], route[out + LENGTH] = 0, count
    for number in range(route[leg + IN_GROUPS]):
        source, into = edge + GROUPS + SOURCE * number, out + GROUPS + SOURCE * number
        references = route[source + REFERENCES]
        route[into + PLACES] = route[source + PLACES]
        if references == 0:
            route[into + REFERENCES] = positions
        else:
            route[into + REFERENCES] = references + start if every else gathered
            gathered += step
    for word in range(TIMES, DIFFS + 1):
        if route[edge + word] == 0:
            route[out + word] = 0
        else:
            route[out + word] = route[edge + word] + start if every else gathered
            gathered += step
    return out + GROUPS + SOURCE * route[leg + IN_GROUPS]
