"""A leg that is an end: rows are added up in the groups of their keys, and the updates follow that these show."""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.part import part
from ivm.kernels.groups.block import BLOCK_WORDS, KEY_WORDS, META, PHASE, ROWS, TIMES, UNTOUCHED
from ivm.kernels.groups.offer import OFFER as OFFER_WORDS
from ivm.kernels.groups.offer import be_whole, begin_offered
from ivm.kernels.groups.step import (
    BLOCK,
    CAPACITY,
    COLUMN_COUNT,
    DIFFS,
    DONE,
    IDLE,
    MEMORY,
    NO_MEMORY,
    NO_SLOTS,
    OPENING,
    OUTPUT_COUNT,
    OUTPUT_WORDS,
    READ_COUNT,
    READS,
    ROOM,
    STAGE,
    WRITTEN,
    go_on,
)
from ivm.kernels.memory.at import address_of, data_of, ints_at, length_of, words_at
from ivm.kernels.memory.places import PLACES, REFERENCES, UNREADABLE, WORDS, are_readable
from ivm.kernels.numbers.stretches import ascend
from ivm.kernels.numbers.wide import Word
from ivm.kernels.step.records import (
    ASKS,
    ELSEWHERE,
    FIRST,
    GROUPS,
    IN,
    LENGTH,
    MARKED,
    OFFER,
    OUT_EDGE,
    REQUEST,
    TIME,
)
from ivm.kernels.step.records import DIFFS as EDGE_DIFFS
from ivm.kernels.step.records import TIMES as EDGE_TIMES
from ivm.kernels.types import Ints


@part(counted=True)
def reduce_rows(route: Ints, leg: Word, is_all: bool) -> Word:
    """Step the groups by all rows of the edge: how many updates follow. It is for Python where their times fall.

    `is_all`: nothing else is to come along the route. Cost: see `step_groups`.
    """
    edge, request, offer = route[leg + IN], route[leg + REQUEST :], ints_at(route[leg + OFFER], OFFER_WORDS)
    sources = address_of(route) + 8 * (edge + GROUPS)
    if not is_all or request[STAGE] == ELSEWHERE:
        return np.int64(ELSEWHERE)
    if not are_readable(words_at(data_of(request[READS]), request[READ_COUNT], 2), sources):
        return np.int64(UNREADABLE)
    rows, times = route[edge + LENGTH], route[edge + EDGE_TIMES]
    many = rows if times != 0 else np.int64(0)
    if request[STAGE] == IDLE:
        if not ascend(ints_at(times, many)):
            return np.int64(ELSEWHERE)
        if route[MARKED] == 0 or not begin_offered(offer, request, rows, route[TIME], many):
            return np.int64(ASKS)
    if request[STAGE] == OPENING and not _are_rows_told(rows, many, request[MEMORY]):
        return np.int64(ASKS)
    request[DIFFS] = route[edge + EDGE_DIFFS]
    said = go_on(request, sources, times)
    if said in (NO_SLOTS, NO_MEMORY):
        return np.int64(ASKS)
    if said != DONE:
        return np.int64(ELSEWHERE)
    be_whole(offer)
    _tell_edge(route, route[leg + OUT_EDGE], request, many != 0)
    return request[WRITTEN]


@part()
def _tell_edge(route: Ints, edge: Word, request: Ints, many: bool) -> None:
    """The edge behind the leg: the updates, of `many` times or one, that follow, in the room of the request."""
    room, width = data_of(request[ROOM]), ints_at(data_of(request[BLOCK]), BLOCK_WORDS)[KEY_WORDS]
    before, capacity = WORDS * request[COLUMN_COUNT] + request[OUTPUT_COUNT], 2 * request[CAPACITY]
    diffs = room + 8 * (before + capacity * (request[OUTPUT_WORDS] + width))
    route[edge + FIRST], route[edge + LENGTH], route[edge + EDGE_DIFFS] = 0, request[WRITTEN], diffs
    route[edge + EDGE_TIMES] = diffs + 8 * capacity if many else np.int64(0)
    route[edge + GROUPS + PLACES], route[edge + GROUPS + REFERENCES] = room, 0


@part()
def _are_rows_told(rows: Word, many: Word, array: Word) -> bool:
    """Tell cells that nothing is noted of yet how many rows they are of, and times; False if these do not fit."""
    memory = ints_at(data_of(array), length_of(array, 0))
    if memory[PHASE] == UNTOUCHED:
        if META + many + 3 * ((rows + 1) >> 1) > len(memory):
            return False
        memory[ROWS], memory[TIMES] = rows, many
    return True
