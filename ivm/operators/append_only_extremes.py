"""MIN and MAX of rows that only come: the extreme itself is all there is to keep, as a field of its group."""

from __future__ import annotations

import numpy as np

from ivm.kernels.groups.accumulate import EXTREME
from ivm.kernels.groups.append_only_extremes import gather_extremes
from ivm.operators.accumulable import Accumulators
from ivm.operators.accumulator import mask
from ivm.trace.cells import Cells
from ivm.trace.column import Column, Ints
from ivm.trace.delta import Delta
from ivm.trace.dictionary import TextDictionary
from ivm.trace.ordered_rows import OrderedRows
from ivm.trace.readonly import readonly
from ivm.trace.row_order import ordered_words, word_kinds


class AppendOnlyExtremes:
    """All MIN and MAX of a reduce whose input never loses a row; in place of `ivm.operators.extremes.Extremes`."""

    states: tuple[OrderedRows, ...] = ()

    def __init__(self, parts: Accumulators, dictionary: TextDictionary) -> None:
        self._parts = parts
        self._dictionary = dictionary

    def apply(self, columns: dict[int, Column], delta: Delta, cells: Cells, state: Ints, after: Ints) -> None:
        """Write the extremes of each cell into `after`; AssertionError for a row that goes, a bug in a plan."""
        assert delta.diffs is None or not bool((delta.diffs < 0).any()), "the plan says that rows only come"
        for (kind, argument, largest), part in self._parts.parts.items():
            if kind != EXTREME or argument is None:
                continue
            column, physical = columns[argument], self._parts.arguments[argument].physical
            kinds = np.array(word_kinds(physical), np.int64)
            strings = self._dictionary.now()
            gather_extremes(
                readonly(ordered_words(column.values, physical)), mask(column),
                cells.row_cell, cells.slot, cells.previous, state, state.shape[1] - after.shape[1],
                part.at, -1 if largest else 1, kinds, strings.heap, strings.places, after,
            )  # fmt: skip
