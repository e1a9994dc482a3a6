"""A step of groups with aggregates: keys, cells, what is added to them, and the updates that follow.

`request` int64 tells what is to be done. First what is always the same: arrays by their `id` with their lengths, and
numbers; from STAGE on what belongs to one step: how far it is, then the same about its rows and about the memory for
what it makes. READS are the columns that are read, of the sources of the rows, as `memory.places.lay_updates` takes
them: those of the key, of which its form (see `hashing.keys`) tells too, then the arguments.

A step is done in two parts, `open_step` and `end_step`. Each ends where it needs more memory, and goes on when it is
called again: the first for groups, the second, since the cells are known by then, for AFTER, the fields of each, and
ROOM, two output rows for each (see `groups.emit`). They have memory for CAPACITY cells.
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
    SUM_WIDE,
    PlanRow,
    accumulate,
)
from ivm.kernels.groups.block import CELLS, KEY_WORDS, META, PHASE, PUT, ROWS, STATE, TIMES, cells_at
from ivm.kernels.groups.emit import SHOWN, emit
from ivm.kernels.groups.finalize import OutputRow
from ivm.kernels.groups.opening import open_keyed
from ivm.kernels.memory.at import address_of, bools_at, data_of, int32s_at, ints_at, words_at, words_in
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
STAGE, AT, AFTER, CAPACITY, ROOM, DIFFS, ROW_TIMES, FAILED, WRITTEN = range(16, 25)
STEP = 25
"""PAUSES: whether others have something to do between what is added and what is emitted; NONE: the `id` of None. AFTER
and ROW_TIMES are the `id` of arrays, ROOM and DIFFS addresses; DIFFS is 0 if all are one."""
DIFFS_ARRAY, LISTED, ROOM_ARRAY = range(STEP, STEP + 3)
LENGTH = STEP + 3
"""Of a step by itself: the `id` of the array that DIFFS is to tell of, or 0; that of a list of the sources of its rows
(see `memory.places.lay_sources`), which are written down behind the request; that of the array which is the ROOM."""
OPENING, ADDING, EMITTING = range(3)
DONE, NO_SLOTS, NOT_READABLE, NO_MEMORY, PAUSED, SUM_OVERFLOWED, OUTPUT_OVERFLOWED = range(7)
_PLAN_WIDTH, _OUTPUT_WIDTH = len(PlanRow._fields), len(OutputRow._fields)


@njit(cache=True, nogil=True, fastmath=False)
def step_groups(block: Ints, memory: Ints, request: Ints) -> Word:
    """Go on with a step as far as may be: DONE, or why it is not. See `groups.block` for `block` and `memory`.

    Cost: two random accesses a row, one a cell, and what the aggregates cost.
    """
    if request[STAGE] == OPENING:
        reads = words_at(data_of(request[READS]), request[READ_COUNT], 2)
        if not lay_updates(request[LISTED], request[NONE], request[DIFFS_ARRAY], reads, request[LENGTH:]):
            return np.int64(NOT_READABLE)
        request[DIFFS] = data_of(request[DIFFS_ARRAY]) if request[DIFFS_ARRAY] != 0 else np.int64(0)
    request[ROOM], sources = data_of(request[ROOM_ARRAY]), address_of(request) + 8 * LENGTH
    said = open_step(block, memory, request, sources)
    return end_step(block, memory, request, sources) if said == DONE else said


@part(counted=True)
def open_step(block: Ints, memory: Ints, request: Ints, sources: Word) -> Word:
    """Find or make the cells of the rows, if they are not there already; DONE, or NO_SLOTS."""
    if request[STAGE] == OPENING:
        form, times = request[KEY_FORM], request[ROW_TIMES]
        request[AT] = open_keyed(block, memory, sources, request[KEYS], form, times, request[AT])
        if request[AT] >= 0:
            return np.int64(NO_SLOTS)
        request[STAGE] = ADDING
    return np.int64(DONE)


@part(counted=True)
def end_step(block: Ints, memory: Ints, request: Ints, sources: Word) -> Word:
    """Add the rows to their cells, and write the updates that follow: DONE, or why they are not."""
    cells = memory[CELLS]
    if cells > request[CAPACITY]:
        return np.int64(NO_MEMORY)
    after = words_at(data_of(request[AFTER]), cells, request[FIELDS])
    if request[STAGE] == ADDING:
        row_cell = int32s_at(cells_at(memory, 0), memory[ROWS])
        request[FAILED] = _add(request, sources, row_cell, after)
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
        request[ROOM],
    )
    request[WRITTEN] = rows
    if summed >= 0 or computed >= 0:
        request[FAILED] = max(summed, computed)
        return np.int64(SUM_OVERFLOWED) if summed >= 0 else np.int64(OUTPUT_OVERFLOWED)
    memory[PHASE] = PUT
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
        if accumulate(plan, k, values, valid, diffs, row_cell, after):
            return np.int64(k)
    return np.int64(-1)


@njit(cache=True, nogil=True, fastmath=False)
def add_apart(request: Ints, row_cell: Int32s, fields: Ints) -> Word:
    """Add rows to the fields of their cells, which have none yet; the accumulator that overflowed, or -1."""
    lay_sources(request[LISTED], request[NONE], request[LENGTH:])
    return _add(request, address_of(request) + 8 * LENGTH, row_cell, fields)
