"""A step of groups with aggregates in one call: keys, cells, what is added to them, and the updates that follow.

`request` int64 tells what is to be done. First what is always the same: arrays by their `id` with their lengths, and
numbers; from STAGE on what belongs to one step: how far it is, then the same about its rows and about the memory for
what it makes. At LISTED is the `id` of a list of the sources of its rows (see `memory.places.lay_sources`), which are
written down behind the request; READS are their columns that are read, as `memory.places.lay_updates` takes them: those
of the key, of which its form (see `hashing.keys`) tells too, then the arguments. See `groups.emit` for ROOM.

A step ends where it needs more memory, and goes on when it is called again: for groups, and, once their cells are
known, for AFTER, the fields of each, and ROOM, two output rows for each.
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
STAGE, AT, FAILED, WRITTEN, AFTER, ROOM, DIFFS, ROW_TIMES, LISTED = range(16, 25)
LENGTH = 25
"""PAUSES: whether others have something to do between what is added and what is emitted; NONE: the `id` of None; DIFFS:
0 if all are one."""
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
        if not lay_updates(request[LISTED], request[NONE], request[DIFFS], reads, request[LENGTH:]):
            return NOT_READABLE
        sources, form, times = address_of(request) + 8 * LENGTH, request[KEY_FORM], request[ROW_TIMES]
        request[AT] = open_keyed(block, memory, sources, request[KEYS], form, times, request[AT])
        if request[AT] >= 0:
            return NO_SLOTS
        request[STAGE] = ADDING
        return NO_MEMORY
    cells = memory[CELLS]
    after = words_at(data_of(request[AFTER]), cells, request[FIELDS])
    if request[STAGE] == ADDING:
        request[FAILED] = _add(request, int32s_at(cells_at(memory, 0), memory[ROWS]), after)
        if request[FAILED] >= 0:
            return SUM_OVERFLOWED
        request[STAGE] = EMITTING
        if request[PAUSES] != 0:
            return PAUSED
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
        2 * cells,
        words_at(data_of(request[COLUMNS]), request[COLUMN_COUNT], SHOWN),
        data_of(request[ROOM]),
    )
    request[WRITTEN] = rows
    if summed >= 0 or computed >= 0:
        request[FAILED] = max(summed, computed)
        return SUM_OVERFLOWED if summed >= 0 else OUTPUT_OVERFLOWED
    memory[PHASE] = PUT
    return DONE


@part(counted=True)
def _add(request: Ints, row_cell: Int32s, after: Ints) -> Word:
    """Add all rows to their cells, which have no fields yet; the accumulator that overflowed, or -1."""
    rows, plan = len(row_cell), words_at(data_of(request[PLAN]), request[PLANS], _PLAN_WIDTH)
    after[:] = 0
    diffs = ints_at(np.int64(0), 0)
    if request[DIFFS] != 0:
        diffs = ints_at(data_of(request[DIFFS]), rows)
    sources = address_of(request) + 8 * LENGTH
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
    return _add(request, row_cell, fields)
