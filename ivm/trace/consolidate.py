"""Consolidation of deltas and of columns with diffs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from catalog.types import Physical, SqlType
from ivm.kernels.hashing.consolidate import sum_equal_rows
from ivm.trace.column import Column, Ints, readonly
from ivm.trace.delta import Delta
from ivm.trace.keys import KeyLayout

_LEAST_SLOTS = 16


def consolidate(delta: Delta, types: Sequence[SqlType], compared: Sequence[Column] | None = None) -> Delta | None:
    """The delta with the diffs of equal (row, time) added up and zeros left out; None if nothing is left.

    Rows are equal if they are so in `compared`, columns of `types` of any origin (default: all that there are), NULL
    equals NULL; each keeps the place of its first update. Cost: packs the columns, one hash table access an update.
    """
    if len(delta) == 1:
        return None if delta.diffs is not None and delta.diffs[0] == 0 else delta
    times = None if isinstance(delta.times, int) else delta.times
    columns = delta.columns() if compared is None else compared
    rows, sums = merge_equal(columns, types, len(delta), delta.diff_array(), times)
    if len(rows) == 0:
        return None
    merged = delta if len(rows) == len(delta) else delta.take(rows)
    return merged.with_diffs(None if np.count_nonzero(sums != 1) == 0 else sums)


def merge_equal(
    columns: Sequence[Column], types: Sequence[SqlType], length: int, diffs: Ints, times: Ints | None
) -> tuple[Ints, Ints]:
    """The first position of each distinct row (distinct row and time, where `times` are given) and its sum of diffs.

    Both int64, in the order of first positions; rows whose diffs add up to zero are left out. Cost: see `consolidate`.
    """
    columns, layout = compared(columns, types, times)
    words, _ = layout.pack(columns, length)
    slots = np.zeros(least_slots(length), np.uint64)
    rows, sums = np.empty((2, length), np.int64)
    words = readonly(words.reshape(length, layout.words))
    count = sum_equal_rows(words, readonly(diffs), slots, rows, sums, 0, 0)
    return without_zeros(rows[:count], sums[:count])


def compared(
    columns: Sequence[Column], types: Sequence[SqlType], times: Ints | None
) -> tuple[Sequence[Column], KeyLayout]:
    """Columns, and the times if there are any, with the layout by which equal rows are equal words."""
    parts = [(each.physical, column.valid is not None) for each, column in zip(types, columns, strict=True)]
    if times is None:
        return columns, _row_layout(tuple(parts))
    return [*columns, Column(times)], _row_layout((*parts, (Physical.INT64, False)))


def without_zeros(rows: Ints, sums: Ints) -> tuple[Ints, Ints]:
    """Both without the places at which the sums are zero."""
    kept = np.flatnonzero(sums)
    return (rows, sums) if len(kept) == len(rows) else (rows[kept], sums[kept])


def least_slots(length: int) -> int:
    """How long the hash table is that so many rows need."""
    return max(1 << (2 * length - 1).bit_length(), _LEAST_SLOTS)


@cache
def _row_layout(parts: tuple[tuple[Physical, bool], ...]) -> KeyLayout:
    """How rows of such columns are packed, so that equal ones are.

    Layouts take longer to make than small deltas to consolidate, and there are few of them.
    """
    return KeyLayout(parts, nulls="match")
