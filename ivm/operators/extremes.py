"""MIN and MAX: from ordered values, so that losing the extreme costs a logarithm, or of rows that only come."""

from __future__ import annotations

import numpy as np

from ivm.kernels.groups.accumulate import EXTREME
from ivm.kernels.groups.append_only_extremes import gather_extremes
from ivm.kernels.ordered.extremes import NOT_WANTED, apply_extremes
from ivm.operators.accumulable import Accumulators
from ivm.operators.accumulator import mask
from ivm.trace.cells import Cells
from ivm.trace.column import Column, Ints
from ivm.trace.delta import Delta
from ivm.trace.dictionary import TextDictionary
from ivm.trace.ordered_rows import OrderedRows, in_order
from ivm.trace.readonly import readonly, readonly_times
from ivm.trace.row_order import RowOrder, Term, ordered_words, word_kinds


class Extremes:
    """All MIN and MAX of a reduce. State: for each column its values in order, for both, by the group's slot."""

    def __init__(self, parts: Accumulators, dictionary: TextDictionary) -> None:
        self._parts = parts
        self._trees: dict[int, OrderedRows] = {}
        for spec in parts.aggregates:
            if spec.function in ("min", "max") and spec.argument is not None and spec.argument not in self._trees:
                assert spec.argument_type is not None, "an aggregate with an argument has the argument's type"
                order = RowOrder((Term(0, spec.argument_type, False),))
                self._trees[spec.argument] = OrderedRows(order, dictionary, places=False)
        self.states = tuple(self._trees.values())

    def apply(self, columns: dict[int, Column], delta: Delta, cells: Cells, state: Ints, after: Ints) -> None:
        """Apply a batch in the order of its times, and write the extremes of each cell into `after`.

        `state` are the groups' rows, whose last words are the fields that they came with.
        """
        for argument, tree in self._trees.items():
            column = columns[argument]
            batch = tree.batch([column], cells.slot[cells.row_cell], mask(column), delta.diffs)
            batch = batch._replace(order=in_order(batch.keys, tree.kinds, delta.times))
            least, most = (self._parts.parts.get((EXTREME, argument, largest)) for largest in (False, True))
            apply_extremes(
                *tree.changing(batch), *batch, readonly_times(delta.times), cells.row_cell, cells.slot, cells.previous,
                state, state.shape[1] - after.shape[1], NOT_WANTED if least is None else least.at,
                NOT_WANTED if most is None else most.at, after, np.zeros((1, 1), np.int64),
            )  # fmt: skip


class AppendOnlyExtremes:
    """All MIN and MAX of a reduce whose input never loses a row; in place of `Extremes`.

    The extreme itself is all there is to keep, as a field of its group.
    """

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
