"""The updates that a batch causes: the old row of a group out, its new row in, wherever the two differ.

`clamp_cells` has those of multiplicities that are kept from falling below zero; the rest is for aggregates.

Cells are worked through in blocks that stay in the cache, a column at a time within each. See `groups.table` for groups
and cells, `groups.accumulate` for fields and `plan`, `groups.finalize` for `outputs`.

`room` is where output rows are written, int64, with space for `capacity` of them. It has one after the other: how many
NULLs each output has; `flat`, the columns of the outputs, where word w of output o of row i is
`flat[capacity * at + words * i + w]`, `at` and `words` being the output's; the key words of each row; the diffs; the
times, if there are many; the validity of each row of each output, a byte each.
"""

from __future__ import annotations

import numpy as np

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import part
from ivm.kernels.groups.accumulate import add_before
from ivm.kernels.groups.finalize import AT, WORDS, finalize
from ivm.kernels.memory.at import address_of, bools_at, ints_at, words_at
from ivm.kernels.numbers.wide import Word
from ivm.kernels.types import Bools, Int32s, Ints

BLOCK = 256


@part(counted=True)
def emit(
    plan: Ints,
    outputs: Ints,
    always: bool,
    width: Word,
    state: Ints,
    cell_slot: Int32s,
    cell_previous: Int32s,
    cell_time: Ints,
    cells: Ints,
    scratch: Ints,
    words: Word,
    capacity: Word,
    room: Word,
) -> tuple[Word, Word, Word]:
    """Turn what was added to each cell, `cells`, into totals, and write the updates of the output in the cells' order.

    `always`: a group exists also where its multiplicity is zero. There is space for two rows a cell in `room`, an
    address; outputs have `words` words in all. Returns (rows written, accumulator that overflowed or -1, output that
    overflowed or -1). Cost: a random access a cell, then what the aggregates cost.
    """
    nulls, flat = ints_at(room, len(outputs)), ints_at(room + 8 * len(outputs), capacity * words)
    at = room + 8 * (len(outputs) + capacity * words)
    keys, diffs = words_at(at, capacity, width), ints_at(at + 8 * capacity * width, capacity)
    at += 8 * capacity * (width + 1)
    times = ints_at(at, capacity)
    flat_valid = bools_at(at + (8 * capacity if len(cell_time) else 0), len(outputs), capacity)
    nulls[:] = 0
    size = min(BLOCK, len(cells))
    before = np.empty((size, cells.shape[1]), np.int64)
    old, new = np.empty((words, size), np.int64), np.empty((words, size), np.int64)
    old_valid, new_valid = np.empty((len(outputs), size), np.bool_), np.empty((len(outputs), size), np.bool_)
    out_row, in_row = np.empty(size, np.int64), np.empty(size, np.int64)
    rows = 0
    for first in range(0, len(cells), BLOCK):
        count = min(BLOCK, len(cells) - first)
        failed = _total_up(plan, width, state, cell_slot, cell_previous, cells, first, count, before)
        if failed >= 0:
            return rows, failed, -1
        for o in range(len(outputs)):
            finalize(outputs, o, always, before, 0, 0, count, old, old_valid, scratch)
            if finalize(outputs, o, always, cells, first, 0, count, new, new_valid, scratch):
                return rows, -1, o
        for i in range(count):
            existed = always or before[i, 0] != 0
            exists = always or cells[first + i, 0] != 0
            differs = existed != exists or (existed and _differ(old, new, old_valid, new_valid, i))
            out_row[i] = in_row[i] = -1
            slot = cell_slot[first + i]
            for is_new in range(2):
                if differs and (exists if is_new else existed):
                    if is_new:
                        in_row[i] = rows
                    else:
                        out_row[i] = rows
                    diffs[rows] = 2 * is_new - 1
                    for w in range(width):
                        keys[rows, w] = state[slot, w]
                    if len(cell_time):
                        times[rows] = cell_time[first + i]
                    rows += 1
        for o in range(len(outputs)):
            put(outputs, o, old, old_valid, out_row, count, flat, flat_valid, nulls, capacity)
            put(outputs, o, new, new_valid, in_row, count, flat, flat_valid, nulls, capacity)
    return rows, -1, -1


@part()
def _total_up(
    plan: Ints,
    width: Word,
    state: Ints,
    cell_slot: Int32s,
    cell_previous: Int32s,
    cells: Ints,
    first: Word,
    count: Word,
    before: Ints,
) -> Word:
    """Make totals of a block's cells, and copy the totals before each to `before`; the accumulator that overflowed."""
    for i in range(count):
        slot, previous = np.int64(cell_slot[first + i]), np.int64(cell_previous[first + i])
        for f in range(cells.shape[1]):
            before[i, f] = cells[previous, f] if previous >= 0 else state[slot, width + 1 + f]
    for k in range(len(plan)):
        if add_before(plan, k, before, cell_previous, cells, first, count):
            return np.int64(k)
    return np.int64(-1)


@part()
def _differ(old: Ints, new: Ints, old_valid: Bools, new_valid: Bools, i: Word) -> bool:
    for w in range(len(old)):
        if old[w, i] != new[w, i]:
            return True
    for o in range(len(old_valid)):
        if old_valid[o, i] != new_valid[o, i]:
            return True
    return False


@part()
def put(
    outputs: Ints,
    o: Word,
    values: Ints,
    valid: Bools,
    to: Ints,
    count: Word,
    flat: Ints,
    flat_valid: Bools,
    nulls: Ints,
    capacity: Word,
) -> None:
    """Write output o of a block's groups as rows `to` of its column, those with -1 left out."""
    words, at = outputs[o, WORDS], outputs[o, AT]
    base = at * capacity
    for w in range(words):
        for i in range(count):
            if to[i] >= 0:
                flat[base + words * to[i] + w] = values[at + w, i]
    none = 0
    for i in range(count):
        if to[i] >= 0:
            flat_valid[o, to[i]] = valid[o, i]
            none += not valid[o, i]
    nulls[o] += none


@njit(cache=True, nogil=True, fastmath=False)
def read_groups(outputs: Ints, width: Word, words: Word, state: Ints, always: bool, scratch: Ints, room: Ints) -> Word:
    """Write what these rows of groups show, for all of which `room` has space; rows written."""
    capacity, places = len(state), len(outputs) + len(state) * words
    nulls, flat = room[: len(outputs)], room[len(outputs) : places]
    keys = room[places : places + capacity * width].reshape(capacity, width)
    flat_valid = bools_at(address_of(room) + 8 * (places + capacity * (width + 1)), len(outputs), capacity)
    nulls[:] = 0
    size = min(BLOCK, len(state))
    values, valid = np.empty((words, size), np.int64), np.empty((len(outputs), size), np.bool_)
    to = np.empty(size, np.int64)
    rows = 0
    for first in range(0, len(state), BLOCK):
        count = min(BLOCK, len(state) - first)
        for i in range(count):
            to[i] = -1
            if always or state[first + i, width + 1] != 0:
                to[i] = rows
                for w in range(width):
                    keys[rows, w] = state[first + i, w]
                rows += 1
        for o in range(len(outputs)):
            finalize(outputs, o, always, state, first, width + 1, count, values, valid, scratch)
            put(outputs, o, values, valid, to, count, flat, flat_valid, nulls, capacity)
    return rows


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def clamp_cells(
    width: Word,
    state: Ints,
    row_diffs: Ints,
    row_cell: Int32s,
    cell_slot: Int32s,
    cell_previous: Int32s,
    cells: Ints,
    keys: Ints,
    out_cell: Int32s,
    diffs: Ints,
) -> Word:
    """Make `cells` (cells, 1) the multiplicities as of each cell, and write the changes of max(., 0).

    See `groups.table` for groups and cells. Returns the number of changes written to `keys`, `out_cell` and `diffs`,
    which have room for one a cell. Cost: a random access a cell.
    """
    for i in range(len(row_cell)):
        cells[row_cell[i], 0] += row_diffs[i]
    rows = 0
    for cell in range(len(cells)):
        slot, previous = np.int64(cell_slot[cell]), np.int64(cell_previous[cell])
        before = cells[previous, 0] if previous >= 0 else state[slot, width + 1]
        cells[cell, 0] += before
        diff = max(cells[cell, 0], 0) - max(before, 0)
        if diff != 0:
            for w in range(width):
                keys[rows, w] = state[slot, w]
            out_cell[rows] = cell
            diffs[rows] = diff
            rows += 1
    return rows
