"""Aggregates whose rows are kept in order: MIN and MAX, arg_min, arg_max, quantiles, string_agg and list.

MIN and MAX of rows that only come keep themselves alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from ivm.catalog.types import Physical
from ivm.kernels.groups.accumulate import EXTREME, ORDERED
from ivm.kernels.groups.append_only import gather_extremes
from ivm.kernels.ordered.aggregates import (
    BETWEEN,
    EXACT,
    NOT_WANTED,
    ROUNDED,
    apply_extremes,
    apply_quantiles,
    apply_rows,
)
from ivm.kernels.texts.dictionary import Bytes
from ivm.kernels.types import Int32s
from ivm.operators.accumulable import FIRST, QUANTILES, ROWS, Accumulators, AggregateSpec, Ordered
from ivm.operators.accumulator import mask
from ivm.operators.between import between
from ivm.operators.folds import FOLDS
from ivm.trace.columns.arrow import joined, lists_of
from ivm.trace.columns.column import DTYPES, Bools, Column, Ints, readonly, readonly_times
from ivm.trace.delta import Delta
from ivm.trace.keyed.group_table import Cells
from ivm.trace.ordered.ordered_tree import ALL_COUNT, OrderedRows, in_order
from ivm.trace.ordered.row_order import RowOrder, Term, ordered_words, word_kinds
from ivm.trace.text.dictionary import TextDictionary

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
            found, there = columns[self._places[spec.argument]], first[:, 0] != 0
            self._put(after, index, there if found.valid is None else there & found.valid, found)

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
        filled = np.flatnonzero(present)
        for index, spec in self._wanted.items():
            place = self._places[spec.argument]
            if spec.function in FOLDS:
                self._put(after, index, *self._folded(spec, columns, offsets, filled, len(cells)))
                continue
            if spec.function == "string_agg":
                codes = joined(columns[place], offsets, str(spec.parameters[0]), self._dictionary)
            else:
                codes = lists_of(columns[place], offsets, self._rows.terms[place].type, self._dictionary)
            self._put(after, index, present, Column(codes))

    def _folded(
        self, spec: AggregateSpec, columns: list[Column], offsets: Ints, filled: Ints, cells: int
    ) -> tuple[Bools, Column]:
        """A fold of each cell that has rows: which there are, and their values."""
        present = np.zeros(cells, np.bool_)
        values = np.zeros((cells, 2) if spec.type.physical is Physical.WIDE else cells, DTYPES[spec.type.physical])
        if len(filled):
            values[filled], there = FOLDS[spec.function](columns, np.append(offsets[filled], offsets[-1]), spec.type)
            present[filled] = True if there is None else there
        return present, Column(values)

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

    def apply(self, delta: Delta, cells: Cells, state: Ints, after: Ints) -> None:
        """Apply a batch in the order of its times, and write the extremes of each cell into `after`.

        `state` are the groups' rows, whose last words are the fields that they came with.
        """
        for argument, tree in self._trees.items():
            column = delta.column(argument)
            batch = tree.batch([column], cells.slot[cells.row_cell], mask(column), delta.diffs, delta.times)
            least = self._parts.parts.get((EXTREME, argument, False))
            most = self._parts.parts.get((EXTREME, argument, True))
            apply_extremes(
                *tree.changing(batch), *batch, readonly_times(delta.times), cells.row_cell, cells.slot, cells.previous,
                state, state.shape[1] - after.shape[1], NOT_WANTED if least is None else least.at,
                NOT_WANTED if most is None else most.at, after, _probe(),
            )  # fmt: skip


class AppendOnlyExtremes:
    """All MIN and MAX of a reduce whose input never loses a row; in place of `Extremes`.

    The extreme itself is all there is to keep, as a field of its group.
    """

    states: tuple[OrderedRows, ...] = ()

    def __init__(self, parts: Accumulators, dictionary: TextDictionary) -> None:
        self._parts = parts
        self._dictionary = dictionary

    def apply(self, delta: Delta, cells: Cells, state: Ints, after: Ints) -> None:
        """Write the extremes of each cell into `after`; AssertionError for a row that goes, a bug in a plan."""
        assert delta.diffs is None or not bool((delta.diffs < 0).any()), "the plan says that rows only come"
        for (kind, argument, largest), part in self._parts.parts.items():
            if kind != EXTREME or argument is None:
                continue
            column, physical = delta.column(argument), self._parts.arguments[argument].physical
            kinds = np.array(word_kinds(physical), np.int64)
            strings = self._dictionary.now()
            gather_extremes(
                readonly(ordered_words(column.values, physical)), mask(column),
                cells.row_cell, cells.slot, cells.previous, state, state.shape[1] - after.shape[1],
                part.at, -1 if largest else 1, kinds, strings.heap, strings.places, after,
            )  # fmt: skip


_MOST_DIGITS = 9  # so that a fraction times a number of rows stays in 64 bits


class Quantile(NamedTuple):
    """One quantile: how it is placed (see `apply_quantiles`), and at which fraction of the rows."""

    kind: int
    numerator: int
    denominator: int
    fraction: float


def quantile(function: str, given: object) -> Quantile:
    """The quantile of quantile_cont or quantile_disc at a fraction, a Decimal or a float."""
    assert isinstance(given, Decimal | float), "the binder takes constant fractions only"
    if function == "quantile_cont":
        return Quantile(BETWEEN, 0, 1, float(given))
    if isinstance(given, Decimal) and -given.as_tuple().exponent <= _MOST_DIGITS:  # type: ignore[operator]
        exact = Fraction(given)
        return Quantile(EXACT, exact.numerator, exact.denominator, float(given))
    return Quantile(ROUNDED, 0, 1, float(given))
