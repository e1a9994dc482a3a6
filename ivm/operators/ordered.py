"""Ordered aggregates: arg_min, arg_max, quantiles, string_agg and list, from the rows of each group kept in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from catalog.types import SqlType
from ivm.kernels.counted_set import apply_quantiles
from ivm.kernels.ordered_rows import apply_rows
from ivm.kernels.ordered_set import apply_extremes
from ivm.operators.accumulable import Accumulators
from ivm.operators.groups import Cells, frozen, frozen_diffs, frozen_times
from ivm.operators.lists import joined, listed
from ivm.operators.ordered_rows import ARGS, FORMS, QUANTILES, ROWS, Ordered
from ivm.operators.ordered_sets import OrderedSets
from ivm.operators.ordering import RowOrder, ordered_words
from ivm.operators.quantile import between, quantile
from ivm.trace.column import Bools, Column, Ints
from ivm.trace.delta import Delta
from ivm.trace.dictionary import TextDictionary


@dataclass(frozen=True, slots=True)
class Wanted:
    """One aggregate of a set: its number among the reduce's, and what it is made of."""

    index: int
    function: str
    argument: int
    argument_type: SqlType
    type: SqlType
    parameters: tuple[object, ...]


@dataclass(slots=True)
class _Batch:
    """What a step applied, to take it back."""

    keys: Ints
    valid: Bools
    diffs: Ints
    times: Ints
    cells: Cells


class OrderedState:
    """The ordered rows of each group that some aggregates share, and those aggregates."""

    def __init__(
        self, form: str, order: Ordered, wanted: Sequence[Wanted], parts: Accumulators, dictionary: TextDictionary
    ) -> None:
        self._form = form
        self._order = order
        self.wanted = tuple(wanted)
        self._parts = parts
        self._dictionary = dictionary
        self._rows = RowOrder(tuple(replace(term, column=i) for i, term in enumerate(order.terms)))
        self._places = {term.column: i for i, term in enumerate(order.terms)}
        self.sets = OrderedSets(self._rows.kinds)
        self._batch: _Batch | None = None
        if form == QUANTILES:
            self._quantiles = [quantile(w.function, w.parameters[0]) for w in self.wanted]

    def apply(self, delta: Delta, cells: Cells, groups: int, after: Ints) -> None:
        """Apply a batch in the order of its times, and write the aggregates of each cell into `after`."""
        columns = [delta.column(term.column) for term in self._order.terms]
        masks = [m for m in (delta.column(c).valid for c in self._order.required) if m is not None]
        valid = np.logical_and.reduce(masks).reshape(-1, 1) if masks else _NO_MASK
        batch = _Batch(
            frozen(self._rows.encode(columns, len(delta))),
            frozen(np.ascontiguousarray(valid)),
            frozen_diffs(delta.diffs),
            frozen_times(delta.times),
            cells,
        )
        self.sets.make_room(len(delta), groups)
        self._batch = batch
        _RUN[self._form](self, batch, 1, after)

    def commit(self) -> None:
        """The last batch is final."""
        self._batch = None
        self.sets.give_back()

    def abort(self) -> None:
        """Take the last batch back."""
        if self._batch is not None:
            _RUN[self._form](self, self._batch, -1, _NO_FIELDS)
        self._batch = None
        self.sets.give_back()

    def args(self, batch: _Batch, sign: int, after: Ints) -> None:
        """Apply a batch; the argument of each cell's first row."""
        first = np.zeros((len(batch.cells) if sign > 0 else 1, 1 + len(self.sets.kinds)), np.int64)
        self._run(apply_extremes, batch, sign, 0, -1, first)
        if sign > 0:
            columns = self._rows.decode(first[:, 1:])
            for wanted in self.wanted:
                self._put(after, wanted, first[:, 0] != 0, columns[self._places[wanted.argument]])

    def quantiles(self, batch: _Batch, sign: int, after: Ints) -> None:
        """Apply a batch; the quantiles of each cell's rows."""
        count, width = len(batch.cells), len(self.sets.kinds)
        plan = np.array([q.row() for q in self._quantiles], np.int64)
        fractions = np.array([q.fraction for q in self._quantiles], np.float64)
        present = np.zeros(count, np.bool_)
        picked = np.zeros((count, len(plan), 2 * width), np.int64)
        shares = np.zeros((count, len(plan)), np.float64)
        self._run(apply_quantiles, batch, sign, plan, fractions, present, picked, shares)
        for q, wanted in enumerate(self.wanted if sign > 0 else ()):
            low, high = (self._rows.decode(picked[:, q, side : side + width])[0] for side in (0, width))
            if wanted.function == "quantile_cont":
                low = Column(between(low.values, high.values, shares[:, q], wanted.argument_type, wanted.type))
            self._put(after, wanted, present, low)

    def rows(self, batch: _Batch, sign: int, after: Ints) -> None:
        """Apply a batch; all rows of each cell, joined or listed."""
        present = np.zeros(len(batch.cells), np.bool_)
        offsets = np.zeros(len(batch.cells) + 1, np.int64)
        out = self._run(apply_rows, batch, sign, present, offsets)
        if sign < 0:
            return
        columns = self._rows.decode(out)
        for wanted in self.wanted:
            column = columns[self._places[wanted.argument]]
            if wanted.function == "string_agg":
                codes = joined(column, offsets, str(wanted.parameters[0]), self._dictionary)
            else:
                codes = listed(column, offsets, wanted.argument_type.physical, self._dictionary)
            self._put(after, wanted, present, Column(codes))

    def _run(self, kernel: Any, batch: _Batch, sign: int, *rest: object) -> Any:
        sets, dictionary = self.sets, self._dictionary
        return kernel(
            sets.nodes, sets.roots, sets.sizes, sets.kinds, dictionary.heap, dictionary.offsets,
            batch.keys, batch.valid, batch.diffs, batch.times, sign, batch.cells.row_cell, batch.cells.slot, *rest,
        )  # fmt: skip

    def _put(self, after: Ints, wanted: Wanted, present: Bools, column: Column) -> None:
        """Write a value of each cell: a one and its ordered words, or zeros where there is none."""
        words = ordered_words(column.values, wanted.type.physical)
        field = self._parts.field(wanted.index)
        after[:, field] = present
        after[:, field + 1 : field + 1 + words.shape[1]] = np.where(present[:, None], words, 0)


class OrderedAggregates:
    """All ordered aggregates of a reduce; those that want the same rows in the same order share them."""

    def __init__(self, parts: Accumulators, dictionary: TextDictionary) -> None:
        found: dict[tuple[str, Ordered], list[Wanted]] = {}
        for index, spec in enumerate(parts.aggregates):
            if spec.ordered is None:
                continue
            assert spec.argument is not None, "an ordered aggregate has an argument"
            assert spec.argument_type is not None, "and its type"
            wanted = Wanted(index, spec.function, spec.argument, spec.argument_type, spec.type, spec.parameters)
            found.setdefault((FORMS[spec.function], spec.ordered), []).append(wanted)
        self._all = [OrderedState(*key, wanted, parts, dictionary) for key, wanted in found.items()]

    @property
    def visited(self) -> int:
        """Nodes visited so far."""
        return sum(each.sets.visited for each in self._all)

    @property
    def entries(self) -> int:
        """Distinct rows kept."""
        return sum(each.sets.entries for each in self._all)

    @property
    def nbytes(self) -> int:
        """Bytes of all sets."""
        return sum(each.sets.nbytes for each in self._all)

    def apply(self, delta: Delta, cells: Cells, groups: int, after: Ints) -> None:
        """Apply a batch in the order of its times, and write the aggregates of each cell into `after`."""
        for each in self._all:
            each.apply(delta, cells, groups, after)

    def commit(self) -> None:
        """The last batch is final."""
        for each in self._all:
            each.commit()

    def abort(self) -> None:
        """Take the last batch back."""
        for each in self._all:
            each.abort()


_NO_MASK: Bools = np.empty((0, 1), np.bool_)
_NO_FIELDS: Ints = np.empty((0, 1), np.int64)
_RUN = {ARGS: OrderedState.args, QUANTILES: OrderedState.quantiles, ROWS: OrderedState.rows}
