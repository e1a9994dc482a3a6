"""From accumulators to output rows: the values of aggregates, and the updates that a batch's cells cause.

`outputs` is int64 (outputs, 11), a row for each aggregate: its function, the field and width of its sum, the exponent
of the sum's lowest bit (doubles) or the digits after the point (DECIMAL), the field that counts its values (0, the
multiplicity, where no value is NULL), the field and width of its squares, the number of words of its result, where
they begin in an output row, the digits that the result may have (0: no bound but 128 bits), and the kind of the sum.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ivm.kernels.accumulate import SUM, SUM_DOUBLE, add_before
from ivm.kernels.exact_float import NOT_FINITE, load, scaled, spread
from ivm.kernels.types import Bools, Int32s, Ints
from ivm.kernels.wide import FLOAT_POWERS, Word, exceeds, fits_int64

FUNCTION, SOURCE, SOURCE_WIDTH, SCALE, COUNTED, SQUARES, SQUARES_WIDTH, WORDS, AT, DIGITS, SUM_KIND = range(11)
COUNTS, TOTAL, MEAN, VAR_POP, VAR_SAMP, STDDEV_POP, STDDEV_SAMP, EXTREMUM = range(8)
FINE, OVERFLOWED = 0, 1


@njit(cache=True, nogil=True, fastmath=False)
def _bits(x: float, row: Ints, at: Word) -> None:
    """Store a double's bit pattern as a word of an output row."""
    row.view(np.float64)[at] = x


@njit(cache=True, nogil=True, fastmath=False)
def _not_finite(fields: Ints, row: Word, at: Word) -> float:
    """What a sum of doubles is because of NaN and infinities among them; 0 if there are none."""
    nan, up, down = fields[row, at], fields[row, at + 1], fields[row, at + 2]
    if nan != 0 or (up != 0 and down != 0):
        return np.nan
    if up != 0:
        return np.inf
    return -np.inf if down != 0 else 0.0


@njit(cache=True, nogil=True, fastmath=False)
def _total(output: Ints, fields: Ints, row: Word, offset: Word, out: Ints) -> Word:
    source, at, width = offset + output[SOURCE], output[AT], output[SOURCE_WIDTH]
    if output[SUM_KIND] == SUM_DOUBLE:
        special = _not_finite(fields, row, source)
        if special != 0.0:
            _bits(special, out, at)
        else:
            size, exponent = scaled(fields, row, source + NOT_FINITE, width)
            _bits(load(size, exponent + output[SCALE]), out, at)
        return FINE
    low, high = fields[row, source], fields[row, source + 1]
    if output[SUM_KIND] != SUM and fields[row, source + 2] != high >> np.int64(63):
        return OVERFLOWED
    if output[DIGITS] > 0 and exceeds(low, high, output[DIGITS]):
        return OVERFLOWED
    out[at] = low
    if output[WORDS] == 2:
        out[at + 1] = high
    elif not fits_int64(low, high):
        return OVERFLOWED
    return FINE


@njit(cache=True, nogil=True, fastmath=False)
def _mean(output: Ints, fields: Ints, row: Word, offset: Word, count: Word) -> float:
    source, width = offset + output[SOURCE], output[SOURCE_WIDTH]
    if output[SUM_KIND] == SUM_DOUBLE:
        special = _not_finite(fields, row, source)
        if special != 0.0:
            return special
        size, exponent = scaled(fields, row, source + NOT_FINITE, width)
        return load(size / np.float64(count), exponent + output[SCALE])
    size, exponent = scaled(fields, row, source, width)
    divisor = np.float64(count) * FLOAT_POWERS[output[SCALE]]
    return load(size, exponent) / divisor


@njit(cache=True, nogil=True, fastmath=False)
def _deviation(output: Ints, fields: Ints, row: Word, offset: Word, count: Word, scratch: Ints) -> float:
    source, function = offset + output[SOURCE], output[FUNCTION]
    if _not_finite(fields, row, source) != 0.0:
        return np.nan
    size, exponent = spread(
        fields,
        row,
        source + NOT_FINITE,
        output[SOURCE_WIDTH],
        offset + output[SQUARES],
        output[SQUARES_WIDTH],
        count,
        scratch,
    )
    less = count - 1 if function in (VAR_SAMP, STDDEV_SAMP) else count
    size = max(size, 0.0) / (np.float64(count) * np.float64(less))
    exponent += 2 * output[SCALE]
    if function in (VAR_POP, VAR_SAMP):
        return load(size, exponent)
    if exponent & 1:  # the root of an even power of two is a power of two
        size *= 2.0
        exponent -= 1
    return load(math.sqrt(size), exponent // 2)


@njit(cache=True, nogil=True, fastmath=False)
def finalize(outputs: Ints, fields: Ints, row: Word, offset: Word, out: Ints, valid: Bools, scratch: Ints) -> Word:
    """Compute the aggregates of the group whose fields are `fields[row, offset:]`: words to `out`, validity to `valid`.

    Returns the output that overflowed, or -1. Words of a NULL are zero.
    """
    for o in range(len(outputs)):
        output = outputs[o]
        function, at = output[FUNCTION], output[AT]
        count = fields[row, offset + output[COUNTED]]
        valid[o] = True
        if function == COUNTS:
            out[at] = count
            continue
        none = count == 0
        if function in (VAR_SAMP, STDDEV_SAMP):
            none = none or count == 1
        elif function == EXTREMUM:
            none = fields[row, offset + output[SOURCE]] == 0
        if none:
            valid[o] = False
            for w in range(output[WORDS]):
                out[at + w] = 0
        elif function == TOTAL:
            if _total(output, fields, row, offset, out) != FINE:
                return o
        elif function == MEAN:
            _bits(_mean(output, fields, row, offset, count), out, at)
        elif function == EXTREMUM:
            for w in range(output[WORDS]):
                out[at + w] = fields[row, offset + output[SOURCE] + 1 + w]
        else:
            _bits(_deviation(output, fields, row, offset, count, scratch), out, at)
    return -1


@njit(cache=True, nogil=True, fastmath=False)
def put(
    outputs: Ints, out: Ints, valid: Bools, to: Word, flat: Ints, flat_valid: Bools, nulls: Ints, capacity: Word
) -> None:
    """Write an output row as row `to` of columns: output o begins at capacity * (its place in a row) of `flat`."""
    for o in range(len(outputs)):
        words, at = outputs[o, WORDS], outputs[o, AT]
        for w in range(words):
            flat[at * capacity + to * words + w] = out[at + w]
        flat_valid[o, to] = valid[o]
        if not valid[o]:
            nulls[o] += 1


@njit(cache=True, nogil=True, fastmath=False)
def emit(
    plan: Ints,
    outputs: Ints,
    always: bool,
    width: Word,
    state: Ints,
    cell_slot: Int32s,
    cell_previous: Int32s,
    cells: Ints,
    scratch: Ints,
    flat: Ints,
    flat_valid: Bools,
    nulls: Ints,
    keys: Ints,
    row_cell: Int32s,
    diffs: Ints,
) -> tuple[Word, Word, Word]:
    """Turn what was added to each cell into totals, and write the updates of the output: old row out, new row in.

    `always`: a group exists also where its multiplicity is zero. Nothing is written where the output row stays equal.
    Room for two rows a cell. Returns (rows written, accumulator that overflowed or -1, output that overflowed or -1).
    """
    capacity = len(keys)
    words = len(flat) // max(capacity, 1)
    old, new = np.empty(words, np.int64), np.empty(words, np.int64)
    old_valid, new_valid = np.empty(len(outputs), np.bool_), np.empty(len(outputs), np.bool_)
    rows = 0
    for cell in range(len(cells)):
        slot = np.int64(cell_slot[cell])
        previous = np.int64(cell_previous[cell])
        if previous >= 0:
            before, row, offset = cells, previous, np.int64(0)
        else:
            before, row, offset = state, slot, np.int64(width + 1)
        existed = always or before[row, offset] != 0
        overflow = add_before(plan, before, row, offset, cells, cell)
        if overflow >= 0:
            return rows, overflow, -1
        exists = always or cells[cell, 0] != 0
        if existed:
            finalize(outputs, before, row, offset, old, old_valid, scratch)
        if exists:
            failed = finalize(outputs, cells, cell, 0, new, new_valid, scratch)
            if failed >= 0:
                return rows, -1, failed
        if existed and exists and _same(old, new, old_valid, new_valid):
            continue
        if existed:
            put(outputs, old, old_valid, rows, flat, flat_valid, nulls, capacity)
            _put_key(state, slot, width, keys, row_cell, diffs, rows, cell, -1)
            rows += 1
        if exists:
            put(outputs, new, new_valid, rows, flat, flat_valid, nulls, capacity)
            _put_key(state, slot, width, keys, row_cell, diffs, rows, cell, 1)
            rows += 1
    return rows, -1, -1


@njit(cache=True, nogil=True, fastmath=False)
def _same(old: Ints, new: Ints, old_valid: Bools, new_valid: Bools) -> bool:
    for w in range(len(old)):
        if old[w] != new[w]:
            return False
    for o in range(len(old_valid)):
        if old_valid[o] != new_valid[o]:
            return False
    return True


@njit(cache=True, nogil=True, fastmath=False)
def _put_key(
    state: Ints, slot: Word, width: Word, keys: Ints, row_cell: Int32s, diffs: Ints, to: Word, cell: Word, diff: Word
) -> None:
    for w in range(width):
        keys[to, w] = state[slot, w]
    row_cell[to] = cell
    diffs[to] = diff


@njit(cache=True, nogil=True, fastmath=False)
def read_groups(
    outputs: Ints,
    width: Word,
    state: Ints,
    start: Word,
    stop: Word,
    always: bool,
    scratch: Ints,
    flat: Ints,
    flat_valid: Bools,
    nulls: Ints,
    keys: Ints,
) -> tuple[Word, Word]:
    """Write the present rows of the groups in slots from `start` until `keys` is full; (rows, slot reached)."""
    capacity = len(keys)
    words = len(flat) // max(capacity, 1)
    out, valid = np.empty(words, np.int64), np.empty(len(outputs), np.bool_)
    rows = 0
    for slot in range(start, stop):
        if rows == capacity:
            return rows, slot
        if always or state[slot, width + 1] != 0:
            finalize(outputs, state, slot, width + 1, out, valid, scratch)
            put(outputs, out, valid, rows, flat, flat_valid, nulls, capacity)
            for w in range(width):
                keys[rows, w] = state[slot, w]
            rows += 1
    return rows, stop
