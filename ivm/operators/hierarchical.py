"""Hierarchical aggregates: MIN and MAX from ordered values, so that losing the extreme costs a logarithm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from catalog.types import Physical
from ivm.kernels.accumulate import EXTREME
from ivm.kernels.ordered_set import LIVE, USED, VISITED, apply_extremes
from ivm.operators.accumulable import Accumulators
from ivm.operators.groups import Cells, frozen, frozen_diffs, frozen_times
from ivm.operators.ordering import Term, ordered_words
from ivm.trace.column import Bools, Column, Ints
from ivm.trace.delta import Delta
from ivm.trace.dictionary import TextDictionary
from ivm.trace.growable import Growable


class OrderedSets:
    """An ordered multiset of key words for each group, in `nodes`, with `roots` by the group's slot."""

    def __init__(self, kinds: Ints) -> None:
        self.kinds = kinds
        self._clear()

    def _clear(self) -> None:
        self._nodes: Growable[np.int64] = Growable(np.dtype(np.int64), len(self.kinds) + 3)
        self.roots = np.zeros(0, np.int32)
        self.sizes = np.zeros(4, np.int64)

    @property
    def nodes(self) -> Ints:
        """The nodes (see `ivm.kernels.ordered_set`)."""
        return self._nodes.array

    @property
    def visited(self) -> int:
        """Nodes visited so far."""
        return int(self.sizes[VISITED])

    @property
    def entries(self) -> int:
        """Nodes in use."""
        return int(self.sizes[LIVE])

    @property
    def used(self) -> int:
        """Nodes below which all in use lie."""
        return int(self.sizes[USED])

    @property
    def nbytes(self) -> int:
        """Bytes of all nodes that were ever in use, and of the roots."""
        return int(self.sizes[USED]) * self.nodes.shape[1] * 8 + self.roots.nbytes

    def make_room(self, more: int, groups: int) -> None:
        """Room for as many new nodes, and for the roots of groups in slots below `groups`; amortized."""
        self._nodes.length = int(self.sizes[USED])
        self._nodes.reserve(self._nodes.length + more)
        if groups > len(self.roots):
            roots = np.zeros(groups, np.int32)
            roots[: len(self.roots)] = self.roots
            self.roots = roots

    def give_back(self) -> None:
        """Free everything where no node is in use; keep the count of nodes visited."""
        if self.sizes[LIVE] == 0 and self.sizes[USED] > 0:
            visited = self.visited
            self._clear()
            self.sizes[VISITED] = visited


@dataclass(slots=True)
class _Batch:
    """What a step applied, to take it back."""

    keys: Ints
    valid: Bools
    diffs: Ints
    times: Ints
    cells: Cells


class _Extreme:
    """The ordered values of one column, for its MIN, its MAX or both."""

    def __init__(self, argument: int, physical: Physical) -> None:
        self.argument = argument
        self.physical = physical
        self.sets = OrderedSets(np.array(Term(0, physical, False).kinds, np.int64))
        self.batch: _Batch | None = None

    def apply(self, batch: _Batch, sign: int, parts: Accumulators, dictionary: TextDictionary, after: Ints) -> None:
        """Apply a batch, or take it back, and write its cells' extremes."""
        least = parts.parts.get((EXTREME, self.argument, False))
        most = parts.parts.get((EXTREME, self.argument, True))
        sets = self.sets
        apply_extremes(
            sets.nodes, sets.roots, sets.sizes, sets.kinds, dictionary.heap, dictionary.offsets,
            batch.keys, batch.valid, batch.diffs, batch.times, sign, batch.cells.row_cell, batch.cells.slot,
            -1 if least is None else least.at, -1 if most is None else most.at, after,
        )  # fmt: skip


class Extremes:
    """The ordered state of all MIN and MAX of a reduce; one set serves both of a column.

    `apply` changes the sets at once; `abort` takes the batch back, `commit` makes it final.
    """

    def __init__(self, parts: Accumulators, dictionary: TextDictionary) -> None:
        self._parts = parts
        self._dictionary = dictionary
        wanted = dict.fromkeys(a for kind, a, _ in parts.parts if kind == EXTREME and a is not None)
        self._all = [_Extreme(argument, parts.arguments[argument].physical) for argument in wanted]

    @property
    def visited(self) -> int:
        """Nodes visited so far."""
        return sum(each.sets.visited for each in self._all)

    @property
    def entries(self) -> int:
        """Distinct values kept."""
        return sum(each.sets.entries for each in self._all)

    @property
    def nbytes(self) -> int:
        """Bytes of all sets."""
        return sum(each.sets.nbytes for each in self._all)

    def apply(self, columns: dict[int, Column], delta: Delta, cells: Cells, groups: int, after: Ints) -> None:
        """Apply a batch in the order of its times, and write the extremes of each cell into `after`."""
        for each in self._all:
            column = columns[each.argument]
            valid = _NO_MASK if column.valid is None else np.ascontiguousarray(column.valid).reshape(-1, 1)
            keys = ordered_words(column.values, each.physical)
            batch = _Batch(frozen(keys), frozen(valid), frozen_diffs(delta.diffs), frozen_times(delta.times), cells)
            each.sets.make_room(len(delta), groups)
            each.batch = batch
            each.apply(batch, 1, self._parts, self._dictionary, after)

    def commit(self) -> None:
        """The last batch is final."""
        for each in self._all:
            each.batch = None
            each.sets.give_back()

    def abort(self) -> None:
        """Take the last batch back."""
        for each in self._all:
            if each.batch is not None:
                each.apply(each.batch, -1, self._parts, self._dictionary, _NO_FIELDS)
            each.batch = None
            each.sets.give_back()


_NO_MASK: Bools = np.empty((0, 1), np.bool_)
_NO_FIELDS: Ints = np.empty((0, 1), np.int64)
