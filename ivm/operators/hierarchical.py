"""Hierarchical aggregates: MIN and MAX from ordered values, so that losing the extreme costs a logarithm."""

from __future__ import annotations

import numpy as np

from catalog.types import Physical
from ivm.kernels.groups.accumulate import EXTREME
from ivm.kernels.ordered.extremes import NOT_WANTED, apply_extremes
from ivm.operators.accumulable import Accumulators
from ivm.operators.accumulator import mask
from ivm.operators.groups import Cells, frozen, frozen_diffs, frozen_times
from ivm.operators.ordered_batch import OrderedBatch, OrderedPart, OrderedParts, in_order
from ivm.operators.ordering import Term, ordered_words
from ivm.trace.column import Column, Ints
from ivm.trace.delta import Delta
from ivm.trace.dictionary import TextDictionary
from ivm.trace.ordered_tree import OrderedTree


class _Extreme(OrderedPart):
    """The values of one column in order, by the group's slot, for its MIN, its MAX or both."""

    def __init__(self, argument: int, physical: Physical, dictionary: TextDictionary) -> None:
        self.argument = argument
        self.physical = physical
        super().__init__(OrderedTree(np.array([0, *Term(0, physical, False).kinds], np.int64), 1, dictionary))

    def apply(self, column: Column, delta: Delta, cells: Cells, parts: Accumulators, state: Ints, after: Ints) -> None:
        """Apply a batch, and write its cells' extremes."""
        words = ordered_words(column.values, self.physical)
        keys = np.empty((len(words), 1 + words.shape[1]), np.int64)
        keys[:, 0] = cells.slot[cells.row_cell]
        keys[:, 1:] = words
        batch = self.batch = OrderedBatch(frozen(keys), mask(column), frozen_diffs(delta.diffs))
        least = parts.parts.get((EXTREME, self.argument, False))
        most = parts.parts.get((EXTREME, self.argument, True))
        self.tree.make_room(len(keys))
        apply_extremes(
            *self.tree.arguments, batch.keys, batch.valid, batch.diffs, frozen_times(delta.times),
            in_order(batch.keys, self.tree.kinds, delta.times),
            cells.row_cell, cells.slot, cells.previous, state, state.shape[1] - after.shape[1],
            NOT_WANTED if least is None else least.at, NOT_WANTED if most is None else most.at, after, _PROBE.copy(),
        )  # fmt: skip


class Extremes(OrderedParts[_Extreme]):
    """The ordered state of all MIN and MAX of a reduce; one tree serves both of a column."""

    def __init__(self, parts: Accumulators, dictionary: TextDictionary) -> None:
        self._parts = parts
        wanted = dict.fromkeys(a for kind, a, _ in parts.parts if kind == EXTREME and a is not None)
        super().__init__([_Extreme(argument, parts.arguments[argument].physical, dictionary) for argument in wanted])

    def apply(self, columns: dict[int, Column], delta: Delta, cells: Cells, state: Ints, after: Ints) -> None:
        """Apply a batch in the order of its times, and write the extremes of each cell into `after`.

        `state` are the groups' rows, whose last words are the fields that they came with.
        """
        for each in self._all:
            each.apply(columns[each.argument], delta, cells, self._parts, state, after)


_PROBE: Ints = np.zeros((1, 1), np.int64)
