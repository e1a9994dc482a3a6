"""Hierarchical aggregates: MIN and MAX from ordered values, so that losing the extreme costs a logarithm."""

from __future__ import annotations

import numpy as np

from catalog.types import SqlType
from ivm.kernels.groups.accumulate import EXTREME
from ivm.kernels.ordered.extremes import NOT_WANTED, apply_extremes
from ivm.operators.accumulable import Accumulators
from ivm.operators.accumulator import mask
from ivm.trace.cells import Cells
from ivm.trace.column import Column, Ints
from ivm.trace.delta import Delta
from ivm.trace.dictionary import TextDictionary
from ivm.trace.ordered_rows import OrderedRows, in_order
from ivm.trace.readonly import readonly_times
from ivm.trace.row_order import RowOrder, Term


class Extremes:
    """All MIN and MAX of a reduce. State: for each column its values in order, for both, by the group's slot."""

    def __init__(self, parts: Accumulators, dictionary: TextDictionary) -> None:
        self._parts = parts
        self._trees: dict[int, OrderedRows] = {}
        for spec in parts.aggregates:
            if spec.function in ("min", "max") and spec.argument is not None and spec.argument not in self._trees:
                assert spec.argument_type is not None, "an aggregate with an argument has the argument's type"
                self._trees[spec.argument] = _values_of(spec.argument_type, dictionary)

    @property
    def states(self) -> tuple[OrderedRows, ...]:
        """The trees."""
        return tuple(self._trees.values())

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


def _values_of(type_: SqlType, dictionary: TextDictionary) -> OrderedRows:
    return OrderedRows(RowOrder((Term(0, type_, False),)), dictionary, places=False)
