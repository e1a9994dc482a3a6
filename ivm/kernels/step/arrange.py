"""A leg that changes state, and lets rows go on: they come to a derived collection first."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.part import part
from ivm.kernels.memory.append import DONE
from ivm.kernels.memory.at import address_of, ints_at, words_at
from ivm.kernels.memory.places import SOURCE, UNREADABLE, WORDS
from ivm.kernels.numbers.stretches import ascend
from ivm.kernels.numbers.wide import Word
from ivm.kernels.step import state
from ivm.kernels.step.append import come
from ivm.kernels.step.records import (
    APPENDED,
    ASKS,
    COLLECTION,
    DIFFS,
    ELSEWHERE,
    GROUPS,
    IN,
    IN_GROUPS,
    IS_LEFT,
    LACKS,
    LENGTH,
    MARKED,
    OUT_EDGE,
    READ_AT,
    READ_COLUMNS,
    TIME,
    TIMES,
)
from ivm.kernels.types import Ints

UNTOLD, MORTAL = 0, 3
"""What the leg may lack beside what `come` says: the words of the collection; room for deaths."""
_MOST_ROWS = 1 << 31


@part()
def arrange_rows(route: Ints, leg: Word, is_all: bool) -> Word:
    """Let all rows of the edge come to the collection: how many these are, which go on as they are.

    `is_all`: nothing else is to come along the route. It is for Python where some go, or times fall.
    """
    edge, out = route[leg + IN], route[leg + OUT_EDGE]
    rows, time, told = route[edge + LENGTH], route[TIME], ints_at(route[leg + COLLECTION], state.KEPT)
    if not is_all or route[leg + IS_LEFT] != 0 or route[edge + DIFFS] != 0:
        return np.int64(ELSEWHERE)
    if route[edge + TIMES] != 0:
        times = ints_at(route[edge + TIMES], rows)
        if not ascend(times):
            return np.int64(ELSEWHERE)
        time = times[0]
    if route[MARKED] == 0:
        return np.int64(ASKS)
    route[leg + LACKS] = UNTOLD
    if told[state.STORE_AT] == 0:
        return np.int64(ASKS)
    words, count = ints_at(told[state.STORE_AT], state.ROWS_OF), route[leg + READ_COLUMNS]
    first = words[state.ROWS]
    if first + rows >= _MOST_ROWS or time < words[state.LAST]:
        return np.int64(ELSEWHERE)
    if words[state.MORTAL] != 0 and words[state.ROOM] < first + rows:
        route[leg + LACKS] = MORTAL
        return np.int64(ASKS)
    columns = words_at(told[state.COLUMNS_AT], count, WORDS)
    said = come(
        words,
        ints_at(told[state.KEYS_AT], told[state.KEYS]),
        columns,
        words_at(route[leg + READ_AT], count, 2),
        address_of(route) + 8 * (edge + GROUPS),
        first,
        rows,
        time,
        route[edge + TIMES],
        words[:0],
        words[:0],
        columns,
    )
    if said == UNREADABLE:
        return said
    if said != DONE:
        route[leg + LACKS] = said
        return np.int64(ASKS)
    route[leg + APPENDED] = rows
    for word in range(GROUPS + SOURCE * route[leg + IN_GROUPS]):
        route[out + word] = route[edge + word]
    return rows
