"""A leg that lets rows come in rounds by their values, or later; see `ivm.operators.numbered`."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.part import part
from ivm.kernels.memory.at import address_of, ints_at
from ivm.kernels.memory.places import STRIDE, UNREADABLE, VALIDITY, WORDS, place_of, references_of, told, words_of
from ivm.kernels.numbers.wide import Word
from ivm.kernels.step.arena import take
from ivm.kernels.step.loop import narrow, tell_made
from ivm.kernels.step.records import (
    BASE,
    FIRST,
    GROUPS,
    IN,
    LARGEST,
    LENGTH,
    NO_ARENA,
    OUT_EDGE,
    ROUND,
    ROUND_COLUMN,
    UNIT,
    VALUE,
    VALUE_COLUMN,
)
from ivm.kernels.types import Ints

_WORD = np.int64(0)


@part(counted=True)
def delay_rows(route: Ints, leg: Word) -> Word:
    """Make the rounds of all rows of an edge, which begins with its first; UNREADABLE where Python has to."""
    edge, out = route[leg + IN], route[leg + OUT_EDGE]
    rows, sources = route[edge + LENGTH], address_of(route) + 8 * (edge + GROUPS)
    place = place_of(sources, route[leg + VALUE], route[leg + VALUE_COLUMN])
    given = place_of(sources, route[leg + ROUND], route[leg + ROUND_COLUMN])
    known = route[leg + UNIT] > 0 and route[edge + FIRST] == 0
    if not known or told(place, STRIDE) == 0 or told(place, VALIDITY) != 0 or told(given, STRIDE) == 0:
        return np.int64(UNREADABLE)
    room = take(route, rows + WORDS, _WORD)
    if room == 0:
        return np.int64(NO_ARENA)
    values = words_of(place, references_of(sources, route[leg + VALUE]), rows, 1)
    rounds = words_of(given, references_of(sources, route[leg + ROUND]), rows, 1)
    later, base, unit = ints_at(room, rows), route[leg + BASE], route[leg + UNIT]
    for row in range(rows):
        above = base - values[row, 0] if route[leg + LARGEST] != 0 else values[row, 0] - base
        later[row] = max(rounds[row, 0], above // unit)
    route[out + FIRST], route[out + LENGTH] = 0, rows
    narrow(route, leg, True, room, rows)
    tell_made(route, leg, room, rows)
    return rows
