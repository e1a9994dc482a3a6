"""What makes other multiplicities of its inputs': union, negate and threshold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from catalog.types import SqlType
from ivm.kernels.groups.emit import clamp_cells
from ivm.operators.operator import Contents, Kept, Operator, live_input
from ivm.trace.delta import Delta, concat_deltas, delta_of
from ivm.trace.dictionary import TextDictionary
from ivm.trace.group_reader import GroupReader
from ivm.trace.group_table import Fields
from ivm.trace.groups import Groups
from ivm.trace.time import chosen


class Union(Operator):
    """R'(r) = R1(r) + .. + Rn(r). State: none. Cost: that of the columns that somebody reads later."""

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """The inputs' changes, one after the other."""
        return concat_deltas([delta for delta in inputs if delta is not None and len(delta)])

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """The inputs' contents."""
        return chain(*[contents() for contents in inputs])


class Negate(Operator):
    """R'(r) = -R(r). State: none. Cost: one pass over the diffs."""

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """The input's changes with negated diffs; no column is touched."""
        delta = inputs[0]
        return None if delta is None else delta.with_diffs(-delta.diff_array())

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """The input's contents with diffs of -1: what is negated counts down in whatever it is added to."""
        return (delta.with_diffs(-delta.diff_array()) for delta in inputs[0]())


class Threshold(Kept):
    """R'(r) = max(R(r), 0). State: the input's distinct rows with their multiplicities.

    A row with NaN or -0.0 comes out with the one NaN, or 0.0, as equal rows are one row.
    """

    def __init__(self, types: Sequence[tuple[SqlType, bool]], dictionary: TextDictionary) -> None:
        self._groups = Groups(types, Fields((None,)), dictionary)
        self._layout = self._groups.layout
        self.states = (self._groups,)

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """The changes of the multiplicities above zero, sorted by time. Cost: two random accesses an update."""
        delta = live_input(inputs)
        if delta is None:
            return None
        words, _ = self._layout.pack(delta.columns(), len(delta))
        cells = self._groups.open(words, delta.times)
        after = np.zeros((len(cells), 1), np.int64)
        keys = np.empty((len(cells), self._layout.words), np.int64)
        cell, diffs = np.empty(len(cells), np.int32), np.empty(len(cells), np.int64)
        rows = clamp_cells(
            self._layout.words, self._groups.state, delta.diff_array(), cells.row_cell,
            cells.slot, cells.previous, after, keys, cell, diffs,
        )  # fmt: skip
        self._groups.put(after)
        if rows == 0:
            return None
        return delta_of(self._layout.unpack(keys[:rows]), chosen(cells.times, cell[:rows]), diffs[:rows], rows)

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """The output as it is now, whatever happens meanwhile."""
        return self._shown(self._groups.reader(time), time)

    def _shown(self, reader: GroupReader[Fields], time: int) -> Iterator[Delta]:
        """The rows of positive multiplicity, each as often as it is there."""
        width = self._layout.words
        for chunk in reader.chunks():
            rows = chunk[chunk[:, width + 1] > 0]
            columns = self._layout.unpack(np.ascontiguousarray(rows[:, :width]))
            yield delta_of(columns, time, rows[:, width + 1].copy(), len(rows))
