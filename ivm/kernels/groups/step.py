"""A step of groups with aggregates in one call: keys, cells, what is added to them, and the updates that follow.

`request` int64 tells what is to be done. First what is always the same: arrays by their `id` with their lengths, and
numbers; from STAGE on what belongs to one step: how far it is, then the same about its rows and about the memory for
what it makes. At SOURCE is the source of its rows (see `memory.places`): the columns of its keys, then those of its
arguments. See `groups.emit` for ROOM.

A step that needs more memory ends where it is, and goes on when it is called again.
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
    ROWS_EACH,
    SUM_WIDE,
    PlanRow,
    accumulate,
)
from ivm.kernels.groups.block import CELLS, KEY_WORDS, META, PHASE, PUT, ROWS, STATE, TIMES, cells_at
from ivm.kernels.groups.emit import emit
from ivm.kernels.groups.finalize import OutputRow
from ivm.kernels.groups.opening import open_keyed
from ivm.kernels.groups.table import fold
from ivm.kernels.memory.at import address_of, bools_at, data_of, int32s_at, ints_at, words_at, words_in
from ivm.kernels.memory.places import mask_of, place_of, words_of
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Int32s, Ints

PLAN, PLANS, OUTPUTS, OUTPUT_COUNT, SCRATCH, SCRATCH_WIDTH = range(6)
KEYS, KEY_FORM, FIELDS, OUTPUT_WORDS, PAUSES, SOURCE = range(6, 12)
STAGE, AT, FAILED, WRITTEN, AFTER, AFTER_ROWS, ROOM, CAPACITY, DIFFS, DIFF_COUNT, ROW_TIMES, FOLDS = range(13, 25)
LENGTH = 25
"""PAUSES: whether others have something to do between what is added and what is emitted; FOLDS: whether the groups get
the fields at once."""
OPENING, ADDING, EMITTING = range(3)
DONE, NO_SLOTS, NO_FIELDS, PAUSED, NO_ROOM, SUM_OVERFLOWED, OUTPUT_OVERFLOWED = range(7)
_AT_ONCE = 512
_PLAN_WIDTH, _OUTPUT_WIDTH = len(PlanRow._fields), len(OutputRow._fields)


@njit(cache=True, nogil=True, fastmath=False)
def step_groups(block: Ints, memory: Ints, request: Ints) -> Word:
    """Go on with a step as far as may be: DONE, or why it is not. See `groups.block` for `block` and `memory`.

    Cost: two random accesses a row, one a cell, and what the aggregates cost.
    """
    if request[STAGE] == OPENING:
        source, form, times = address_of(request) + 8 * SOURCE, request[KEY_FORM], request[ROW_TIMES]
        request[AT] = open_keyed(block, memory, source, request[KEYS], form, times, request[AT])
        if request[AT] >= 0:
            return NO_SLOTS
        request[STAGE] = ADDING
    cells = memory[CELLS]
    after = words_at(data_of(request[AFTER]), cells, request[FIELDS])
    if request[STAGE] == ADDING:
        if cells > request[AFTER_ROWS]:
            return NO_FIELDS
        request[FAILED] = _add(request, int32s_at(cells_at(memory, 0), memory[ROWS]), after)
        if request[FAILED] >= 0:
            return SUM_OVERFLOWED
        request[STAGE] = EMITTING
        if request[PAUSES] != 0:
            return PAUSED
    if 2 * cells > request[CAPACITY]:
        return NO_ROOM
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
        request[CAPACITY],
        data_of(request[ROOM]),
    )
    request[WRITTEN] = rows
    if summed >= 0 or computed >= 0:
        request[FAILED] = max(summed, computed)
        return SUM_OVERFLOWED if summed >= 0 else OUTPUT_OVERFLOWED
    memory[PHASE] = PUT
    if request[FOLDS] != 0:
        fold(block, memory, after)
    return DONE


@part(counted=True)
def _add(request: Ints, row_cell: Int32s, after: Ints) -> Word:
    """Add all rows to their cells, which have no fields yet; the accumulator that overflowed, or -1.

    Where there are many cells, some rows at a time are added to all accumulators, while their cells are at hand.
    """
    rows, zeroed = len(row_cell), np.int64(0)
    if len(after) * ROWS_EACH <= rows:
        after[:] = 0
        return _add_part(request, np.int64(0), row_cell, after)
    for first in range(0, rows, _AT_ONCE):
        part = row_cell[first : first + _AT_ONCE]
        zeroed = _zeros_up_to(part, zeroed, after)
        failed = _add_part(request, np.int64(first), part, after)
        if failed >= 0:
            return failed
    return np.int64(-1)


@part()
def _zeros_up_to(row_cell: Int32s, zeroed: Word, after: Ints) -> Word:
    """Let all cells up to those of these rows begin with zeros, where so many do; how many do then."""
    for i in range(len(row_cell)):
        while zeroed <= row_cell[i]:
            for f in range(after.shape[1]):
                after[zeroed, f] = 0
            zeroed += 1
    return zeroed


@part(counted=True)
def _add_part(request: Ints, first: Word, row_cell: Int32s, after: Ints) -> Word:
    """Add rows, from `first` on, to their cells; the accumulator that overflowed, or -1."""
    rows, plan = len(row_cell), words_at(data_of(request[PLAN]), request[PLANS], _PLAN_WIDTH)
    count = rows if request[DIFF_COUNT] else 0
    diffs = ints_at(data_of(request[DIFFS]) + 8 * first if count else np.int64(0), count)
    for k in range(len(plan)):
        kind, argument = plan[k, KIND], plan[k, ARGUMENT]
        if kind in (EXTREME, ORDERED):
            continue
        values, valid = words_at(np.int64(0), 0, 1), bools_at(np.int64(0), 0, 1)
        if argument >= 0:
            place = place_of(address_of(request) + 8 * SOURCE, np.int64(0), request[KEYS] + argument)
            valid = mask_of(place, first, rows)
            if kind != COUNT:
                values = words_of(place, first, rows, 2 if kind == SUM_WIDE else 1)
        if accumulate(plan, k, values, valid, diffs, row_cell, after):
            return np.int64(k)
    return np.int64(-1)


@njit(cache=True, nogil=True, fastmath=False)
def add_apart(request: Ints, row_cell: Int32s, fields: Ints) -> Word:
    """Add rows to the fields of their cells, which have none yet; the accumulator that overflowed, or -1."""
    return _add(request, row_cell, fields)
