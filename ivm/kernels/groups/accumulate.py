"""Adding the rows of a batch to the accumulators of their cells.

`plan` is int64 (accumulators, 6), a `PlanRow` for each. `values` is int64 (n, 1 or 2): integers, both words of wide
ones, bit patterns of doubles; `valid` (n, 1) masks them, of length 0 if all are valid. `diffs` is int64 (n,), of
length 0 if all are one. `cells` is int64 (cells, fields).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ivm.kernels.compiling.part import part
from ivm.kernels.numbers.exact_float import (
    NOT_FINITE,
    add_double,
    add_double_product,
    add_product,
    add_word,
    is_finite,
    not_finite_kind,
)
from ivm.kernels.numbers.wide import Word, add, mul_signed
from ivm.kernels.types import Bools, Int32s, Ints

COUNT, SUM, SUM_WIDE, SUM_DOUBLE, SUM_SQUARES, EXTREME, ORDERED, SUM_PRODUCTS = 0, 1, 2, 3, 4, 5, 6, 7
_LANES = 4
_ROWS_EACH = 16
"""How many rows there are for each cell where totals of their own, in lanes, are worth being added up."""


class PlanRow(NamedTuple):
    """How an accumulator is fed, and where its fields lie.

    `argument`: which of the arguments it reads, -1 if none; `other`: by which of them it multiplies that, which is NULL
    in the same rows. `width`: how many words its field has, of doubles without those that count what is not finite;
    `base`: the exponent of the lowest bit of a field of doubles.
    """

    kind: int
    argument: int
    field: int
    width: int
    base: int
    other: int = -1


KIND, ARGUMENT, FIELD, WIDTH, BASE, OTHER = range(len(PlanRow._fields))


@part(counted=True)
def accumulate(plan: Ints, k: Word, values: Ints, valid: Bools, diffs: Ints, row_cell: Int32s, cells: Ints) -> bool:
    """Add every row to the field of accumulator k in its cell; whether that overflowed 128 bits.

    `row_cell` is not read where there is one cell only. Cost: 1-3 ns a row, 5-10 for doubles.
    """
    kind, field = plan[k, KIND], plan[k, FIELD]
    if kind == COUNT:
        _count(field, valid, diffs, row_cell, cells)
    elif kind == SUM:
        return _sum(field, values, valid, diffs, row_cell, cells)
    elif kind == SUM_WIDE:
        _sum_wide(plan, k, values, valid, diffs, row_cell, cells)
    elif kind in (SUM_DOUBLE, SUM_SQUARES):
        _sum_doubles(plan, k, values, valid, diffs, row_cell, cells)
    return False


@part(counted=True)
def _count(field: Word, valid: Bools, diffs: Ints, row_cell: Int32s, cells: Ints) -> None:
    plain = len(diffs) == 0 and len(valid) == 0
    if plain and len(cells) == 1:
        cells[0, field] += len(row_cell)
    elif plain and len(cells) * _ROWS_EACH <= len(row_cell):
        totals = np.zeros((_LANES, len(cells)), np.int64)
        for i in range(len(row_cell)):
            totals[i % _LANES, np.uint64(row_cell[np.uint64(i)])] += 1
        for lane in range(_LANES):
            for c in range(len(cells)):
                cells[c, field] += totals[lane, c]
    elif plain:
        for i in range(len(row_cell)):
            cells[np.uint64(row_cell[np.uint64(i)]), np.uint64(field)] += 1
    else:
        for i in range(len(row_cell)):
            if len(valid) == 0 or valid[i, 0]:
                cells[row_cell[i], field] += diffs[i] if len(diffs) else np.int64(1)


@part(counted=True)
def _sum(field: Word, values: Ints, valid: Bools, diffs: Ints, row_cell: Int32s, cells: Ints) -> bool:
    """Sums of int64 in 128 bits; whether one overflowed. Unit diffs cannot, as a batch has fewer than 2^63 rows."""
    if len(diffs) == 0:
        if len(valid) == 0 and len(cells) == 1:
            _sum_all(field, values, cells)
        elif len(valid) == 0 and len(cells) * _ROWS_EACH <= len(row_cell):
            _sum_by_halves(field, values, row_cell, cells)
        else:
            for i in range(len(row_cell)):
                if len(valid) == 0 or valid[i, 0]:
                    _add_narrow(cells, np.int64(row_cell[i]), field, values[i, 0])
        return False
    for i in range(len(row_cell)):
        if len(valid) == 0 or valid[i, 0]:
            diff = diffs[i]
            cell = np.int64(row_cell[i])
            if diff == 1:
                _add_narrow(cells, cell, field, values[i, 0])
            else:
                low, high = mul_signed(values[i, 0], diff)
                low, high, over = add(cells[cell, field], cells[cell, field + 1], low, high)
                if over:
                    return True
                cells[cell, field] = low
                cells[cell, field + 1] = high
    return False


@part()
def _sum_all(field: Word, values: Ints, cells: Ints) -> None:
    """The sum of all rows in the only cell: low and high 32 bits apart, in which no sum of a batch overflows."""
    low = high = np.int64(0)
    for i in range(len(values)):
        value = values[np.uint64(i), 0]
        low += value & np.int64(0xFFFFFFFF)
        high += value >> np.int64(32)
    _add_halves(cells, np.int64(0), field, low, high)


@part(counted=True)
def _sum_by_halves(field: Word, values: Ints, row_cell: Int32s, cells: Ints) -> None:
    """Sums of all rows where there are few cells: low and high 32 bits apart, neighbouring rows in separate totals.

    Else each row would wait for the one before it, which most likely has just written to the same cell.
    """
    totals = np.zeros((_LANES, len(cells), 2), np.int64)
    n = len(row_cell)
    even = n - n % _LANES
    for first in range(0, even, _LANES):
        for lane in range(_LANES):
            row = np.uint64(first + lane)
            value = values[row, 0]
            cell = np.uint64(row_cell[row])  # unsigned: numba lets a negative index count from the end, at a cost
            totals[lane, cell, 0] += value & np.int64(0xFFFFFFFF)
            totals[lane, cell, 1] += value >> np.int64(32)
    for i in range(even, n):
        totals[0, row_cell[i], 0] += values[i, 0] & np.int64(0xFFFFFFFF)
        totals[0, row_cell[i], 1] += values[i, 0] >> np.int64(32)
    for c in range(len(cells)):
        for lane in range(_LANES):
            _add_halves(cells, np.int64(c), field, totals[lane, c, 0], totals[lane, c, 1])


@part()
def _add_halves(cells: Ints, cell: Word, field: Word, low: Word, high: Word) -> None:
    """Add low + high * 2^32."""
    _add_narrow(cells, cell, field, low)
    low = high << np.int64(32)
    carry = np.int64(np.uint64(cells[cell, field] + low) < np.uint64(low))
    cells[cell, field] += low
    cells[cell, field + 1] += (high >> np.int64(32)) + carry


@part()
def _add_narrow(cells: Ints, cell: Word, field: Word, value: Word) -> None:
    low = cells[cell, field] + value
    carry = np.int64(np.uint64(low) < np.uint64(value))
    cells[cell, field] = low
    cells[cell, field + 1] += (value >> np.int64(63)) + carry


@part()
def _sum_wide(
    plan: Ints, k: Word, values: Ints, valid: Bools, diffs: Ints, row_cell: Int32s, cells: Ints
) -> None:  # fmt: skip
    field, width = plan[k, FIELD], plan[k, WIDTH]
    for i in range(len(row_cell)):
        if len(valid) == 0 or valid[i, 0]:
            diff = diffs[i] if len(diffs) else np.int64(1)
            add_product(cells, row_cell[i], field, width, 0, values[i, 0], values[i, 1], diff)


@part()
def _sum_doubles(
    plan: Ints, k: Word, values: Ints, valid: Bools, diffs: Ints, row_cell: Int32s, cells: Ints
) -> None:  # fmt: skip
    """Sums of doubles or of their squares; only the former count what is not finite."""
    field, width, base = plan[k, FIELD], plan[k, WIDTH], plan[k, BASE]
    squared = plan[k, KIND] == SUM_SQUARES
    digits = field if squared else field + NOT_FINITE
    for i in range(len(row_cell)):
        if len(valid) == 0 or valid[i, 0]:
            diff = diffs[i] if len(diffs) else np.int64(1)
            bits = values[i, 0]
            if is_finite(bits):
                add_double(cells, row_cell[i], digits, width, base, bits, diff, squared)
            elif not squared:
                cells[row_cell[i], field + not_finite_kind(bits)] += diff


@part(counted=True)
def accumulate_products(
    plan: Ints, k: Word, values: Ints, others: Ints, valid: Bools, diffs: Ints, row_cell: Int32s, cells: Ints
) -> None:  # fmt: skip
    """Add the products of two doubles of every row to the field of accumulator k in its cell, of those that are finite.

    Cost: 5-10 ns a row.
    """
    field, width, base = plan[k, FIELD], plan[k, WIDTH], plan[k, BASE]
    for i in range(len(row_cell)):
        if len(valid) == 0 or valid[i, 0]:
            diff = diffs[i] if len(diffs) else np.int64(1)
            bits, other = values[i, 0], others[i, 0]
            if is_finite(bits) and is_finite(other):
                add_double_product(cells, row_cell[i], field, width, base, bits, other, diff)


@part()
def add_before(plan: Ints, k: Word, before: Ints, since: Ints, cells: Ints, first: Word, count: Word) -> bool:
    """Make totals of accumulator k of the cells [first, first + count): add those that each begins with.

    `since` (count,) says where these are: so many cells before it, or, from 0 down, in which row of `before`. Extremes
    and ordered aggregates are absolute already. Returns whether one overflowed 128 bits.
    """
    kind, field, width = plan[k, KIND], plan[k, FIELD], plan[k, WIDTH]
    overflowed = False
    if kind in (EXTREME, ORDERED):
        return False
    digits = field + NOT_FINITE if kind == SUM_DOUBLE else field
    if kind == COUNT:
        for i in range(count):
            cells[first + i, field] += cells[first + i - since[i], field] if since[i] > 0 else before[-since[i], field]
        return False
    for i in range(count):
        cell = np.int64(first + i)
        begins = np.int64(cell - since[i] if since[i] > 0 else -since[i])
        totals = cells if since[i] > 0 else before
        if kind == SUM:
            low, high, over = add(
                cells[cell, field], cells[cell, field + 1], totals[begins, field], totals[begins, field + 1]
            )
            overflowed = overflowed or over
            cells[cell, field], cells[cell, field + 1] = low, high
            continue
        for f in range(field, digits):
            cells[cell, f] += totals[begins, f]
        carry = np.uint64(0)
        for f in range(digits, digits + width):
            carry = add_word(cells, cell, f, totals[begins, f], carry)
    return overflowed
