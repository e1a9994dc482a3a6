"""A step of groups with aggregates: keys, cells, what is added to them, and the updates that follow.

`request` int64 tells what is to be done. First what is always the same: arrays by their `id` with their lengths, and
numbers; from STAGE on what belongs to one step: how far it is, then the same about its rows and about the memory for
what it makes. READS are the columns that are read, of the sources of the rows, as `memory.places.lay_updates` takes
them: those of the key, of which its form (see `hashing.keys`) tells too, then the arguments.

A step ends where it needs more memory, and goes on when it is called again: for groups, and, once the cells are known,
for AFTER, the fields of each, and the ROOM, two output rows for each (see `groups.emit`). These have memory for
CAPACITY cells.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.groups.accumulate import (
    ARGUMENT,
    COUNT,
    EXTREME,
    KIND,
    ORDERED,
    OTHER,
    SUM_PRODUCTS,
    SUM_WIDE,
    PlanRow,
    accumulate,
    accumulate_products,
)
from ivm.kernels.groups.block import BLOCK_WORDS, CELLS, KEY_WORDS, META, PHASE, PUT, ROWS, STATE, TIMES, cells_at
from ivm.kernels.groups.emit import SHOWN, emit
from ivm.kernels.groups.finalize import OutputRow
from ivm.kernels.groups.opening import open_keyed
from ivm.kernels.memory.at import (
    address_of,
    bools_at,
    data_if,
    data_of,
    int32s_at,
    ints_at,
    length_of,
    words_at,
    words_in,
)
from ivm.kernels.memory.places import (
    lay_sources,
    lay_updates,
    mask_of,
    place_of,
    references_of,
    words_of,
)
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Int32s, Ints

PLAN, PLANS, OUTPUTS, OUTPUT_COUNT, SCRATCH, SCRATCH_WIDTH = range(6)
KEYS, KEY_FORM, FIELDS, OUTPUT_WORDS, PAUSES, READS, READ_COUNT, COLUMNS, COLUMN_COUNT, NONE = range(6, 16)
BLOCK, MEMORY, STAGE, AT, AFTER, CAPACITY, ROOM, FAILED, WRITTEN, DIFFS = range(16, 26)
STEP = 26
"""PAUSES: whether others have something to do between what is added and what is emitted; NONE: the `id` of None. BLOCK
and MEMORY are those of the groups and of the cells (see `groups.block`); with AFTER and ROOM they are the `id` of
arrays. DIFFS is an address, 0 if all are one."""
ROW_TIMES, DIFFS_ARRAY, LISTED = range(STEP, STEP + 3)
LENGTH = STEP + 3
"""Of a step by itself: the `id` of its rows' times, and that of the array that DIFFS is to tell of, or 0; that of a
list of the sources of its rows (see `memory.places.lay_sources`), which are written down behind the request."""
IDLE, OPENING, ADDING, EMITTING = range(4)
DONE, NO_SLOTS, NOT_READABLE, NO_MEMORY, PAUSED, SUM_OVERFLOWED, OUTPUT_OVERFLOWED = range(7)
_PLAN_WIDTH, _OUTPUT_WIDTH = len(PlanRow._fields), len(OutputRow._fields)


@njit(cache=True, nogil=True, fastmath=False)
def step_groups(request: Ints) -> Word:
    """Go on with a step as far as may be: DONE, or why it is not.

    Cost: two random accesses a row, one a cell, and what the aggregates cost.
    """
    if request[STAGE] == OPENING:
        reads = words_at(data_of(request[READS]), request[READ_COUNT], 2)
        if not lay_updates(request[LISTED], request[NONE], request[DIFFS_ARRAY], reads, request[LENGTH:]):
            return np.int64(NOT_READABLE)
        request[DIFFS] = data_if(request[DIFFS_ARRAY])
    return go_on(request, address_of(request) + 8 * LENGTH, data_if(request[ROW_TIMES]))


@part(counted=True)
def go_on(request: Ints, sources: Word, row_times: Word) -> Word:
    """The same for rows whose sources, and their times, if they have many, are at addresses."""
    block = ints_at(data_of(request[BLOCK]), BLOCK_WORDS)
    memory = ints_at(data_of(request[MEMORY]), length_of(request[MEMORY], 0))
    if request[STAGE] == OPENING:
        request[AT] = open_keyed(block, memory, sources, request[KEYS], request[KEY_FORM], row_times, request[AT])
        if request[AT] >= 0:
            return np.int64(NO_SLOTS)
        request[STAGE] = ADDING
    cells = memory[CELLS]
    if cells > request[CAPACITY]:
        return np.int64(NO_MEMORY)
    after = words_at(data_of(request[AFTER]), cells, request[FIELDS])
    if request[STAGE] == ADDING:
        request[FAILED] = _add(request, sources, int32s_at(cells_at(memory, 0), memory[ROWS]), after)
        if request[FAILED] >= 0:
            return np.int64(SUM_OVERFLOWED)
        request[STAGE] = EMITTING
        if request[PAUSES] != 0:
            return np.int64(PAUSED)
    rows, summed, computed = emit(
        words_at(data_of(request[PLAN]), request[PLANS], _PLAN_WIDTH),
        words_at(data_of(request[OUTPUTS]), request[OUTPUT_COUNT], _OUTPUT_WIDTH),
        request[KEYS] == 0,
        block[KEY_WORDS],
        words_in(block, STATE),
        int32s_at(cells_at(memory, 1), cells),
        int32s_at(cells_at(memory, 2), cells),
        memory[META : META + memory[TIMES]],
        after,
        words_at(data_of(request[SCRATCH]), 1, request[SCRATCH_WIDTH]),
        request[OUTPUT_WORDS],
        2 * request[CAPACITY],
        words_at(data_of(request[COLUMNS]), request[COLUMN_COUNT], SHOWN),
        data_of(request[ROOM]),
    )
    request[WRITTEN] = rows
    if summed >= 0 or computed >= 0:
        request[FAILED] = max(summed, computed)
        return np.int64(SUM_OVERFLOWED) if summed >= 0 else np.int64(OUTPUT_OVERFLOWED)
    memory[PHASE], request[STAGE], request[AT] = PUT, IDLE, 0
    return np.int64(DONE)


@part(counted=True)
def _add(request: Ints, sources: Word, row_cell: Int32s, after: Ints) -> Word:
    """Add all rows to their cells, which have no fields yet; the accumulator that overflowed, or -1."""
    rows, plan = len(row_cell), words_at(data_of(request[PLAN]), request[PLANS], _PLAN_WIDTH)
    after[:] = 0
    diffs = ints_at(request[DIFFS], rows if request[DIFFS] != 0 else 0)
    arguments = words_at(data_of(request[READS]), request[READ_COUNT], 2)[request[KEYS] :]
    for k in range(len(plan)):
        kind, argument = plan[k, KIND], plan[k, ARGUMENT]
        if kind in (EXTREME, ORDERED):
            continue
        values, valid = words_at(np.int64(0), 0, 1), bools_at(np.int64(0), 0, 1)
        if argument >= 0:
            source = arguments[argument, 0]
            place, references = place_of(sources, source, arguments[argument, 1]), references_of(sources, source)
            valid = mask_of(place, references, rows)
            if kind != COUNT:
                values = words_of(place, references, rows, 2 if kind == SUM_WIDE else 1)
        if kind == SUM_PRODUCTS:
            source, column = arguments[plan[k, OTHER], 0], arguments[plan[k, OTHER], 1]
            others = words_of(place_of(sources, source, column), references_of(sources, source), rows, 1)
            accumulate_products(plan, k, values, others, valid, diffs, row_cell, after)
        elif accumulate(plan, k, values, valid, diffs, row_cell, after):
            return np.int64(k)
    return np.int64(-1)


@njit(cache=True, nogil=True, fastmath=False)
def add_apart(request: Ints, row_cell: Int32s, fields: Ints) -> Word:
    """Add rows to the fields of their cells, which have none yet; the accumulator that overflowed, or -1."""
    lay_sources(request[LISTED], request[NONE], request[LENGTH:])
    return _add(request, address_of(request) + 8 * LENGTH, row_cell, fields)
