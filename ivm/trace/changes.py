"""Putting the changes of a batch in the order in which a store must meet them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from catalog.types import SqlType
from ivm.trace.column import Array, Bools, Column, Ints
from ivm.trace.consolidate import merge_equal
from ivm.trace.time import as_array


@dataclass(frozen=True, slots=True)
class Changes:
    """Single inserts and deletes in time order.

    `positions`: change i is that of row positions[i] of the batch; None if it is row i. `inserts` bool (n,).
    `times` int64 (n,), or (1,) if all are the same; ascending.
    """

    positions: Ints | None
    inserts: Bools
    times: Ints
    only_inserts: bool

    def __len__(self) -> int:
        return len(self.inserts)

    @property
    def times_or_one(self) -> Ints | int:
        """The times, as a delta has them."""
        return int(self.times[0]) if len(self.times) == 1 else self.times

    def times_of(self, changes: Array) -> Ints | int:
        """The times of the changes at these places."""
        return int(self.times[0]) if len(self.times) == 1 else self.times[changes]


def in_order(times: Ints | int, diffs: Ints | None, length: int, *, deletes_first: bool) -> Changes:
    """The updates as single inserts and deletes, by time and within a time deletes first (or last).

    An update of diff d stands for |d| changes. Cost: a pass over times and diffs, and a sort if they are out of order.
    """
    moments = as_array(times)
    if diffs is None or bool((diffs == 1).all()):
        positions = None if len(moments) == 1 or _ascending(moments) else np.argsort(moments, kind="stable")
        ordered = moments if positions is None else moments[positions]
        return Changes(positions, np.ones(length, np.bool_), ordered, True)
    positions = None
    counts = np.abs(diffs)
    if bool((counts != 1).any()):
        positions = np.repeat(np.arange(length), counts)
        diffs = diffs[positions]
        moments = moments if len(moments) == 1 else moments[positions]
    inserts = diffs > 0
    order = _order(moments, inserts if deletes_first else ~inserts)
    if order is not None:
        positions = order if positions is None else positions[order]
        inserts = inserts[order]
        moments = moments if len(moments) == 1 else moments[order]
    return Changes(positions, inserts, moments, bool(inserts.all()))


def net_in_order(columns: Sequence[Column], types: Sequence[SqlType], times: Ints | int, diffs: Ints) -> Changes:
    """As `in_order`, deletes first, after the diffs of equal rows at equal times are added up and zeros left out.

    `columns` (at least one, of `types`) are those of the updates' rows; rows are equal as in `consolidate`.
    Cost: packs all columns, one hash table access an update.
    """
    moments = as_array(times)
    rows, sums = merge_equal(columns, types, len(diffs), diffs, None if len(moments) == 1 else moments)
    left = moments if len(moments) == 1 else moments[rows]
    changes = in_order(left, sums, len(rows), deletes_first=True)
    return replace(changes, positions=rows if changes.positions is None else rows[changes.positions])


def _ascending(values: Ints | Bools) -> bool:
    return bool((values[1:] >= values[:-1]).all())


def _order(moments: Ints, late: Bools) -> Ints | None:
    """The stable order by (time, late); None if it is so already."""
    if len(moments) == 1:
        return None if _ascending(late) else np.argsort(late, kind="stable")
    same = moments[1:] == moments[:-1]
    if bool(((moments[1:] > moments[:-1]) | (same & (late[1:] >= late[:-1]))).all()):
        return None
    return np.lexsort((late, moments))
