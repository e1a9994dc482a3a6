"""Columns of deltas, the same ones at every step, as kernels are told where they lie."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ivm.kernels.memory.places import choose
from ivm.trace.columns.column import Ints
from ivm.trace.columns.places import Places
from ivm.trace.delta import Delta, Layout


class PlacedColumns(Places):
    """The places of `columns` of one delta after the other: where they lie in its source, else where they are gathered.

    All lie in one piece; those that have a mask have bytes.
    """

    __slots__ = ("_columns", "_orders")

    def __init__(self, columns: Sequence[int]) -> None:
        super().__init__(len(columns))
        self._columns = columns
        self._orders: dict[Layout, tuple[list[int], Ints]] = {}

    def read(self, delta: Delta) -> object:
        """Here the columns of a delta lie, as long as somebody has it, and what this returns."""
        bound, columns = delta.layout.columns, self._columns
        if bound and delta.groups[0].refs is None:
            order = self._orders.get(delta.layout)
            if order is None:
                wanted = [bound[column] for column in columns]
                order = self._orders[delta.layout] = wanted, np.array(wanted, np.int64)
            places = delta.groups[0].source.places(order[0])
            if choose(places, order[1], self.words):
                return places
        gathered = [delta.column(column) for column in columns]
        self.tell(gathered)
        return gathered
