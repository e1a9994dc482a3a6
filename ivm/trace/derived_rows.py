"""Derived rows: a collection that the dataflow makes, kept with its own columns and arranged for joins to look up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import numpy as np

from catalog.types import SqlType
from ivm.trace.changes import in_order
from ivm.trace.delta import Delta
from ivm.trace.dictionary import TextDictionary
from ivm.trace.follower import Follower
from ivm.trace.row_store import RowStore
from ivm.trace.rows import Rows
from ivm.trace.state import StateSize
from ivm.trace.time import chosen

Arranged = TypeVar("Arranged", bound=Follower)


class DerivedRows(Rows, Generic[Arranged]):
    """Rows of a derived collection, and `arranged`, which `arrange` makes of their store: the one that follows them."""

    def __init__(
        self, types: Sequence[SqlType], dictionary: TextDictionary, arrange: Callable[[RowStore], Arranged]
    ) -> None:
        super().__init__(types, dictionary, cold=False)
        self.arranged = arrange(self.store)
        self.follow(self.arranged)

    def apply(self, delta: Delta) -> None:
        """Add the rows with positive diffs and retract living equal ones for negative diffs, in time order.

        Within a time rows are added first, so that updates which cancel need not be consolidated. Retracting a row
        that is not there is an internal error (AssertionError); the caller then rolls back. Cost: 20-60 ns a row and
        hash.
        """
        changes = in_order(delta.times, delta.diffs, len(delta), deletes_first=False)
        if len(changes) == 0:
            return
        store = self.store
        ordered = delta if changes.positions is None else delta.take(changes.positions)
        if changes.only_inserts:
            store.append(ordered, len(changes), changes.times)
            self.arranged.catch_up()
            return
        applied, _ = self.change(ordered.columns(), changes)
        added = np.flatnonzero(changes.inserts)
        store.append(ordered.take(added), len(added), chosen(changes.times, added))
        if len(applied.failed):
            self._refuse(ordered, int(applied.failed[0]))
        self.arranged.catch_up()

    def size(self) -> StateSize:
        """Living rows, entries of both indexes, all bytes."""
        rows, arranged = super().size(), self.arranged.size()
        return StateSize(rows.rows, rows.entries + arranged.entries, rows.bytes + arranged.bytes)

    def _refuse(self, delta: Delta, position: int) -> None:
        row = [column.values[0] for column in delta.take(np.array([position])).columns()]
        raise AssertionError(
            f"internal error: the derived collection has no row {row} (in stored form) to retract; the view that feeds "
            "it is wrong. Please report this with the view's SQL"
        )
