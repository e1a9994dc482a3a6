"""How rows come to the columns of a store, batch by batch: what a kernel is told of it, laid out once."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ivm.trace.columns.batches import Batches
from ivm.trace.columns.column import NOBODY, Ints
from ivm.trace.columns.growable import Growable
from ivm.trace.columns.in_place import InPlace
from ivm.trace.columns.placed_columns import Placed


class Coming:
    """What rows come to, as long as functions of this `version` are kept and batches are put together as in `batches`.

    `hot`: columns, and functions of them, that grow, by their numbers, which `reads` have them under too. `pieces`:
    told of those batches, none if no column is in one; `told`: the numbers of columns in place, of which was told where
    they lie; that goes on to hold with the next batch if it lies as those before do.
    """

    __slots__ = ("_growing", "batches", "hot", "pieces", "reads", "told", "version")

    def __init__(
        self, placed: Placed, batches: Batches, told: Mapping[int, InPlace], *, in_pieces: bool, version: int
    ) -> None:
        self.version, self.batches = version, batches
        self.hot, self.reads = placed.columns, placed.reads
        self.pieces = batches.pieces.block if in_pieces else NOBODY
        self.told: Ints = np.array([*told], np.int64)
        self._growing: list[Growable[np.int64]] = [each for column in told.values() for each in column.growing]

    def make_room(self, rows: int) -> None:
        """Room for a piece of so many rows more."""
        if len(self.pieces):
            self.batches.pieces.make_room(rows)
            for growing in self._growing:
                growing.reserve(len(self.batches.pieces) + 1)

    def came(self, rows: int, *, like: bool) -> None:
        """A kernel has written so many rows in all, in a piece that lies as those before do, or in another."""
        for column in self.hot.values():
            column.lengthen(rows)
        if like:
            for each in self._growing:
                each.length += 1
