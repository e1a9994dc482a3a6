"""Putting the changes of a batch in the order in which a store must meet them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from catalog.types import SqlType
from ivm.trace.column import Array, Bools, Column, Ints
from ivm.trace.consolidate import merge_equal


@dataclass(slots=True)
class Changes:
    """Single inserts and deletes in time order, `length` of them.

    `positions`: change i is that of row positions[i] of the batch; None if it is row i. `times` int64 (n,), ascending,
    or the one time of all. `inserts_or_all` bool (n,); None if all are inserts.
    """

    length: int
    positions: Ints | None
    times: Ints | int
    inserts_or_all: Bools | None

    def __len__(self) -> int:
        return self.length

    @property
    def only_inserts(self) -> bool:
        """Whether there is no delete."""
        return self.inserts_or_all is None

    @property
    def inserts(self) -> Bools:
        """Which changes are inserts, bool (n,)."""
        return np.ones(self.length, np.bool_) if self.inserts_or_all is None else self.inserts_or_all

    @property
    def bounds(self) -> tuple[int, int]:
        """The first and the last time; there is at least one change."""
        times = self.times
        return (times, times) if isinstance(times, int) else (int(times[0]), int(times[-1]))

    def times_of(self, changes: Array) -> Ints | int:
        """The times of the changes at these places."""
        return self.times if isinstance(self.times, int) else self.times[changes]


def in_order(times: Ints | int, diffs: Ints | None, length: int, *, deletes_first: bool | None) -> Changes:
    """The updates as single inserts and deletes, by time and within a time deletes first, or last; None: as they come.

    An update of diff d stands for |d| changes. Cost: a pass over times and diffs, and a sort if they are out of order.
    """
    if not isinstance(times, int) and len(times) == 1:
        times = int(times[0])
    if diffs is None or bool((diffs == 1).all()):
        if isinstance(times, int) or _ascending(times):
            return Changes(length, None, times, None)
        order = np.argsort(times, kind="stable")
        return Changes(length, order, times[order], None)
    positions: Ints | None = None
    counts = np.abs(diffs)
    if bool((counts != 1).any()):
        positions = np.repeat(np.arange(length), counts)
        diffs = diffs[positions]
        times = times if isinstance(times, int) else times[positions]
    inserts = diffs > 0
    late = np.zeros(1, np.bool_) if deletes_first is None else inserts if deletes_first else ~inserts
    moved = _order(times, late)
    if moved is not None:
        positions = moved if positions is None else positions[moved]
        inserts = inserts[moved]
        times = times if isinstance(times, int) else times[moved]
    return Changes(len(inserts), positions, times, None if inserts.all() else inserts)


def net_in_order(columns: Sequence[Column], types: Sequence[SqlType], times: Ints | int, diffs: Ints) -> Changes:
    """As `in_order`, deletes first, after the diffs of equal rows at equal times are added up and zeros left out.

    `columns` (at least one, of `types`) are those of the updates' rows; rows are equal as in `consolidate`.
    Cost: packs all columns, one hash table access an update.
    """
    rows, sums = merge_equal(columns, types, len(diffs), diffs, None if isinstance(times, int) else times)
    left = times if isinstance(times, int) else times[rows]
    changes = in_order(left, sums, len(rows), deletes_first=True)
    return replace(changes, positions=rows if changes.positions is None else rows[changes.positions])


def _ascending(values: Ints | Bools) -> bool:
    return bool((values[1:] >= values[:-1]).all())


def _order(times: Ints | int, late: Bools) -> Ints | None:
    """The stable order by (time, late), with one `late` by time alone; None if it is so already."""
    if isinstance(times, int):
        return None if _ascending(late) else np.argsort(late, kind="stable")
    if len(late) == 1:
        return None if _ascending(times) else np.argsort(times, kind="stable")
    same = times[1:] == times[:-1]
    if bool(((times[1:] > times[:-1]) | (same & (late[1:] >= late[:-1]))).all()):
        return None
    return np.lexsort((late, times))
