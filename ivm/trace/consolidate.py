"""Consolidation of deltas and of columns with diffs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from ivm.catalog.types import Physical, SqlType
from ivm.kernels.hashing.consolidate import BEGIN, END, sum_equal_rows
from ivm.kernels.hashing.keys import INTEGER
from ivm.trace.columns.column import KINDS, Column, Ints
from ivm.trace.columns.places import places_of
from ivm.trace.delta import Delta
from ivm.trace.sources import id_of
from ivm.trace.time import BEGINNING

_LEAST_SLOTS = 16


def consolidate(delta: Delta, types: Sequence[SqlType], compared: Sequence[Column] | None = None) -> Delta | None:
    """The delta with the diffs of equal (row, time) added up and zeros left out; None if nothing is left.

    Rows are equal if they are so in `compared`, columns of `types` of any origin (default: all that there are), NULL
    equals NULL; each keeps the place of its first update. Cost: reads the columns, one hash table access an update.
    """
    if len(delta) == 1:
        return None if delta.diffs is not None and delta.diffs[0] == 0 else delta
    times = None if isinstance(delta.times, int) else delta.times
    columns = delta.columns() if compared is None else compared
    rows, sums = merge_equal(columns, types, len(delta), delta.diffs, times)
    if len(rows) == 0:
        return None
    merged = delta if len(rows) == len(delta) else delta.take(rows)
    return merged.with_diffs(one_each(sums))


def one_each(diffs: Ints) -> Ints | None:
    """The diffs as deltas have them: None if all are one."""
    return None if np.count_nonzero(diffs != 1) == 0 else diffs


def merge_equal(
    columns: Sequence[Column], types: Sequence[SqlType], length: int, diffs: Ints | None, times: Ints | None
) -> tuple[Ints, Ints]:
    """The first position of each distinct row (distinct row and time, where `times` are given) and its sum of diffs.

    Both int64, in the order of first positions; rows whose diffs add up to zero are left out. Cost: see `consolidate`.
    """
    rows = EqualRows(columns, types, length, diffs, times)
    rows.add(length)
    return rows.found()


class EqualRows:
    """Adds up the diffs of equal rows, at equal `times` if they are given, for as many rows at a time as one likes.

    All times up to `since` are one. `diffs`: None if all are one. Size: four to seven words a row.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        types: Sequence[SqlType],
        length: int,
        diffs: Ints | None,
        times: Ints | None = None,
        since: int = BEGINNING,
    ) -> None:
        kinds = _kinds(tuple(each.physical for each in types[: len(columns)]))
        diffs, times = (None if each is None else np.ascontiguousarray(each) for each in (diffs, times))
        self._table = np.zeros(max(1 << (2 * length - 1).bit_length(), _LEAST_SLOTS), np.uint64)
        self._rows, self._sums = np.empty((2, length), np.int64)
        self._read = kinds, times, diffs, columns  # which stay where they are
        self._length = length
        self.count = 0
        self.done = 0
        ids = [id_of(each) for each in (times, diffs, self._table, self._rows, self._sums)]
        told = [0, 0, 0, len(self._table), since, times is not None, id(kinds), *ids]
        self._frame: Ints = np.array(told, np.int64)
        self._places = places_of(columns)

    @property
    def nbytes(self) -> int:
        """Bytes of the table, and of what is found."""
        return self._table.nbytes + self._rows.nbytes + self._sums.nbytes

    def add(self, rows: int) -> None:
        """So many more rows, or as many as there are. Cost: reads them, one access of a hash table each."""
        end = min(self.done + rows, self._length)
        self._frame[BEGIN], self._frame[END] = self.done, end
        self.count = sum_equal_rows(self._frame, self._places)
        self.done = end

    def found(self, start: int = 0, end: int | None = None) -> tuple[Ints, Ints]:
        """The first position of each distinct row and its sum, of those from `start` to `end`; zeros are left out."""
        stop = self.count if end is None else min(end, self.count)
        rows, sums = self._rows[start:stop], self._sums[start:stop]
        kept = sums.nonzero()[0]
        return (rows, sums) if len(kept) == len(rows) else (rows[kept], sums[kept])


@cache
def _kinds(columns: tuple[Physical, ...]) -> Ints:
    """What kernels call columns of such forms."""
    return np.array([KINDS.get(each, INTEGER) for each in columns], np.int64)
