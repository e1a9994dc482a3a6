"""A leg that ends a walk: rows are added up in the groups of their keys, and the updates follow that these show."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.part import part
from ivm.kernels.groups.block import META, PHASE, ROWS, UNTOUCHED
from ivm.kernels.groups.step import (
    DIFFS,
    DONE,
    IDLE,
    MEMORY,
    NO_MEMORY,
    NO_SLOTS,
    OPENING,
    READ_COUNT,
    READS,
    STAGE,
    go_on,
)
from ivm.kernels.memory.at import address_of, data_of, ints_at, length_of, words_at
from ivm.kernels.memory.places import UNREADABLE, are_readable
from ivm.kernels.numbers.wide import Word
from ivm.kernels.step.records import ASKS, ELSEWHERE, GROUPS, IN, LENGTH, REQUEST
from ivm.kernels.step.records import DIFFS as EDGE_DIFFS
from ivm.kernels.types import Ints


@part(counted=True)
def reduce_rows(route: Ints, leg: Word, is_all: bool) -> Word:
    """Step the groups by all rows of the edge, which has one time: how many rows these are.

    `is_all`: nothing else is to come along the route. Cost: see `step_groups`.
    """
    edge, request = route[leg + IN], route[leg + REQUEST :]
    sources = address_of(route) + 8 * (edge + GROUPS)
    if not is_all or request[STAGE] == ELSEWHERE:
        return np.int64(ELSEWHERE)
    if not are_readable(words_at(data_of(request[READS]), request[READ_COUNT], 2), sources):
        return np.int64(UNREADABLE)
    if request[STAGE] == IDLE:
        return np.int64(ASKS)
    if request[STAGE] == OPENING and not _are_rows_told(route[edge + LENGTH], request[MEMORY]):
        return np.int64(ASKS)
    request[DIFFS] = route[edge + EDGE_DIFFS]
    said = go_on(request, sources, np.int64(0))
    if said in (NO_SLOTS, NO_MEMORY):
        return np.int64(ASKS)
    return route[edge + LENGTH] if said == DONE else np.int64(ELSEWHERE)


@part()
def _are_rows_told(rows: Word, array: Word) -> bool:
    """Tell cells that nothing is noted of yet how many rows they are of; False if the memory has no room for these."""
    memory = ints_at(data_of(array), length_of(array, 0))
    if memory[PHASE] == UNTOUCHED:
        if META + 3 * ((rows + 1) >> 1) > len(memory):
            return False
        memory[ROWS] = rows
    return True
