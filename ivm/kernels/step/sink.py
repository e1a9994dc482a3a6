"""A leg that ends a walk: rows are added to the log of a view."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.part import part
from ivm.kernels.memory.append import NO_MASK, add_updates
from ivm.kernels.memory.at import address_of, ints_at, words_at
from ivm.kernels.memory.places import UNREADABLE, WORDS
from ivm.kernels.memory.updates import COLUMNS, LENGTH, LOG_WORDS, RETRACTED, ROOM, UPDATES
from ivm.kernels.numbers.wide import Word
from ivm.kernels.step.records import (
    APPENDED,
    ASKS,
    COLLECTION,
    DIFFS,
    ELSEWHERE,
    GROUPS,
    IN,
    IS_LEFT,
    LACKS,
    MARKED,
    READ_AT,
    READ_COLUMNS,
    TIME,
    TIMES,
)
from ivm.kernels.step.records import LENGTH as EDGE_LENGTH
from ivm.kernels.types import Ints


@part()
def append_rows(route: Ints, leg: Word, is_all: bool) -> Word:
    """Add all rows of the edge to the log: how many these are. `is_all`: nothing else is to come along the route."""
    edge = route[leg + IN]
    rows = route[edge + EDGE_LENGTH]
    if not is_all or route[leg + IS_LEFT] != 0:
        return np.int64(ELSEWHERE)
    if route[MARKED] == 0:
        return np.int64(ASKS)
    log = ints_at(route[leg + COLLECTION], LOG_WORDS)
    updates, count = ints_at(log[UPDATES], COLUMNS), route[leg + READ_COLUMNS]
    length = updates[LENGTH]
    route[leg + LACKS] = 0
    if length + rows > updates[ROOM]:
        return np.int64(ASKS)
    said = add_updates(
        words_at(log[UPDATES] + 8 * COLUMNS, count + 2, WORDS),
        words_at(route[leg + READ_AT], count, 2),
        address_of(route) + 8 * (edge + GROUPS),
        length,
        rows,
        route[TIME],
        route[edge + TIMES],
        np.int64(8),
        route[edge + DIFFS],
        np.int64(8),
    )
    if said == UNREADABLE:
        return said
    if said <= NO_MASK:
        route[leg + LACKS] = said
        return np.int64(ASKS)
    log[RETRACTED] += said
    updates[LENGTH] = length + rows
    route[leg + APPENDED] = rows
    return rows
