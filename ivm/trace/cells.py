"""Cells: what a step touches of a table of groups, each group at each of the step's times."""

from __future__ import annotations

import numpy as np

from ivm.kernels.groups.lookup import link_back
from ivm.kernels.groups.table import CELLS, META, OPENED, PHASE
from ivm.kernels.types import Int32s
from ivm.trace.column import Ints
from ivm.trace.time import BEGINNING, as_array

NO_SLOTS: Int32s = np.empty(0, np.int32)
NO_FIELDS: Ints = np.empty((0, 1), np.int64)


class Cells:
    """What a step touches: a cell is a group at one time; cells are numbered in the order of their times.

    `row_cell`: the cell of each row; `slot`: the group of each cell; `previous`: the same group's cell before it, below
    0 if there is none; `times`: the time of each cell, or the one time of all. The arrays are there, one entry a row,
    before kernels fill them, and are cut to what they hold by `filled`. `meta` is the kernels' (see
    `ivm.kernels.groups.table`). `after`: the fields of each cell, once they are known; when the groups have them, those
    that the groups had.
    """

    __slots__ = ("_jumps", "after", "meta", "previous", "row_cell", "slot", "times")

    def __init__(self, rows: int, times: Ints | int) -> None:
        self.row_cell: Int32s = np.empty(rows, np.int32)
        self.slot: Int32s = np.empty(rows, np.int32)
        self.previous: Int32s = np.empty(rows, np.int32)
        self.times = times if isinstance(times, int) else np.empty(rows, np.int64)
        self.meta: Ints = np.zeros(META, np.int64)
        self.after = NO_FIELDS
        self._jumps: Int32s | None = None

    def __len__(self) -> int:
        return len(self.slot)

    @property
    def is_open(self) -> bool:
        """Whether its fields are not yet the groups'."""
        return bool(self.meta[PHASE] == OPENED)

    @property
    def arrays(self) -> tuple[Ints, Int32s, Int32s, Int32s, Ints]:
        """What kernels fill."""
        times = _NO_TIMES if isinstance(self.times, int) else self.times
        return self.meta, self.row_cell, self.slot, self.previous, times

    def filled(self) -> Cells:
        """The cells, now that kernels have filled the arrays."""
        count = int(self.meta[CELLS])
        self.slot, self.previous = self.slot[:count], self.previous[:count]
        if not isinstance(self.times, int):
            self.times = self.times[:count]
        return self

    def jumps(self) -> Int32s:
        """The same group's cell further back, for those who look for one by its time; see `link_back`."""
        if self._jumps is None:
            jumps = self.previous
            if not isinstance(self.times, int):
                jumps = np.empty_like(self.previous)
                link_back(self.previous, jumps)
            self._jumps = jumps
        return self._jumps

    def until(self, as_of: Ints | int) -> Ints:
        """For each time how many cells are no later, of length 1 if it is one. Cost: a binary search each if many."""
        wanted = as_array(as_of)
        if isinstance(self.times, int):
            return np.where(wanted >= self.times, len(self), 0)
        return np.searchsorted(self.times, wanted, side="right")


_NO_TIMES: Ints = np.empty(0, np.int64)
NO_CELLS = Cells(0, BEGINNING)
