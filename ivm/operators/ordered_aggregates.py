"""Ordered aggregates: arg_min, arg_max, quantiles, string_agg and list, from the rows of each group kept in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ivm.kernels.groups.accumulate import ORDERED
from ivm.kernels.ordered.extremes import NOT_WANTED, apply_extremes
from ivm.kernels.ordered.quantiles import apply_quantiles
from ivm.kernels.ordered.rows import apply_rows
from ivm.kernels.texts.dictionary import Bytes
from ivm.kernels.types import Int32s
from ivm.operators.accumulable import FIRST, QUANTILES, ROWS, Accumulators, AggregateSpec, Ordered
from ivm.operators.quantile import between, quantile
from ivm.trace.cells import Cells
from ivm.trace.column import Bools, Column, Ints
from ivm.trace.delta import Delta
from ivm.trace.dictionary import TextDictionary
from ivm.trace.lists import joined, lists_of
from ivm.trace.ordered_rows import OrderedRows, in_order
from ivm.trace.ordered_tree import ALL_COUNT
from ivm.trace.readonly import readonly, readonly_times
from ivm.trace.row_order import RowOrder, ordered_words

_Arguments = tuple[Ints, Ints, Ints, Ints, Bytes, Ints, Ints, Bools, Ints, Ints, Ints, Int32s, Int32s]


class OrderedSet:
    """The rows of each group that some aggregates share, in order, and those aggregates, by number."""

    def __init__(
        self,
        order: Ordered,
        wanted: Mapping[int, AggregateSpec],
        parts: Accumulators,
        dictionary: TextDictionary,
    ) -> None:
        self._order = order
        self._wanted = wanted
        self._parts = parts
        self._dictionary = dictionary
        self._rows = RowOrder(tuple(replace(term, column=i) for i, term in enumerate(order.terms)))
        self._places: dict[int | None, int] = {term.column: i for i, term in enumerate(order.terms)}
        self.tree = OrderedRows(self._rows, dictionary, places=order.form == QUANTILES)
        if order.form == QUANTILES:
            self._quantiles = [quantile(spec.function, spec.parameters[0]) for spec in wanted.values()]

    def apply(self, delta: Delta, cells: Cells, after: Ints) -> None:
        """Apply a batch in the order of its times, and write the aggregates of each cell into `after`."""
        columns = [delta.column(term.column) for term in self._order.terms]
        masks = [m for m in (delta.column(c).valid for c in self._order.required) if m is not None]
        valid = readonly(np.logical_and.reduce(masks).reshape(-1, 1)) if masks else ALL_COUNT
        batch = self.tree.batch(columns, cells.slot[cells.row_cell], valid, delta.diffs)
        batch = batch._replace(order=self._order_of(batch.keys, delta.times, cells))
        arguments = (
            *self.tree.changing(batch), *batch, readonly_times(delta.times), cells.row_cell, cells.slot,
        )  # fmt: skip
        if self._order.form == FIRST:
            self._firsts(arguments, cells, after)
        elif self._order.form == QUANTILES:
            self._picked(arguments, cells, after)
        else:
            self._all_rows(arguments, cells, after)

    def _order_of(self, keys: Ints, times: Ints | int, cells: Cells) -> Ints:
        """In which order to take the rows: as the tree has them, or so that each cell is read where its last row is."""
        order = in_order(keys, self.tree.kinds, times)
        if len(order) or self._order.form == ROWS or not isinstance(times, int) or not 1 < len(keys) <= 2 * len(cells):
            return order
        return readonly(np.argsort(cells.row_cell, kind="stable"))

    def _firsts(self, arguments: _Arguments, cells: Cells, after: Ints) -> None:
        """Apply the batch; the argument of each cell's first row."""
        first = np.zeros((len(cells), len(self.tree.kinds)), np.int64)
        apply_extremes(*arguments, cells.previous, _NO_STATE, 0, 0, NOT_WANTED, first, _probe())
        columns = self._rows.decode(first[:, 1:])
        for index, spec in self._wanted.items():
            self._put(after, index, first[:, 0] != 0, columns[self._places[spec.argument]])

    def _picked(self, arguments: _Arguments, cells: Cells, after: Ints) -> None:
        """Apply the batch; the quantiles of each cell's rows."""
        count, width = len(cells), len(self._rows.kinds)
        plan = np.array([q[:3] for q in self._quantiles], np.int64)
        fractions = np.array([q.fraction for q in self._quantiles], np.float64)
        present = np.zeros(count, np.bool_)
        picked = np.zeros((count, len(plan), 2 * width), np.int64)
        shares = np.zeros((count, len(plan)), np.float64)
        apply_quantiles(*arguments, plan, fractions, present, picked, shares, _probe())
        for q, (index, spec) in enumerate(self._wanted.items()):
            low, high = (self._rows.decode(picked[:, q, side : side + width])[0] for side in (0, width))
            if spec.function == "quantile_cont":
                low = Column(between(low.values, high.values, shares[:, q], self._rows.terms[0].type, spec.type))
            self._put(after, index, present, low)

    def _all_rows(self, arguments: _Arguments, cells: Cells, after: Ints) -> None:
        """Apply the batch; all rows of each cell, joined or listed."""
        present = np.zeros(len(cells), np.bool_)
        offsets = np.zeros(len(cells) + 1, np.int64)
        columns = self._rows.decode(apply_rows(*arguments, present, offsets, _probe()))
        for index, spec in self._wanted.items():
            place = self._places[spec.argument]
            if spec.function == "string_agg":
                codes = joined(columns[place], offsets, str(spec.parameters[0]), self._dictionary)
            else:
                codes = lists_of(columns[place], offsets, self._rows.terms[place].type.physical, self._dictionary)
            self._put(after, index, present, Column(codes))

    def _put(self, after: Ints, index: int, present: Bools, column: Column) -> None:
        """Write a value of each cell: a one and its ordered words, or zeros where there is none."""
        words = ordered_words(column.values, self._wanted[index].type.physical)
        field = self._parts.parts[ORDERED, index, False].at
        after[:, field] = present
        after[:, field + 1 : field + 1 + words.shape[1]] = np.where(present[:, None], words, 0)


def ordered_sets(parts: Accumulators, dictionary: TextDictionary) -> list[OrderedSet]:
    """For all ordered aggregates of a reduce; those that want the same rows in the same order share them."""
    found: dict[Ordered, dict[int, AggregateSpec]] = {}
    for index, spec in enumerate(parts.aggregates):
        if spec.ordered is not None:
            found.setdefault(spec.ordered, {})[index] = spec
    return [OrderedSet(order, wanted, parts, dictionary) for order, wanted in found.items()]


_NO_STATE: Ints = np.empty((0, 1), np.int64)


def _probe() -> Ints:
    return np.zeros((1, 1), np.int64)
