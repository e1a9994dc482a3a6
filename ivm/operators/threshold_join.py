"""Threshold join: a stage that looks rows up by a bound, and visits only those on which a change of it does not cancel.

Changes that are equal in key, in all that is read later, and in time differ in their bounds alone. Over the order of
values, the sum of the diffs of those whose bound admits a value is a step function; the rows where it is zero are met
by retractions and insertions alike. Only the steps that are not zero are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from catalog.types import Physical
from ivm.kernels.threshold_join import LE, RANGE, moved_ranges
from ivm.operators.mfp import Program
from ivm.operators.ordered_arrangement import OrderedArrangement, Ranges, Valued
from ivm.operators.ordering import ordered_words
from ivm.trace.column import Column, Ints
from ivm.trace.delta import Delta, Group
from ivm.trace.keys import KeyLayout
from ivm.trace.readonly import readonly

COMPARISONS = {"lt": 0, "le": 1, "eq": 2, "ge": 3, "gt": 4}
_ALL_ONE = readonly(np.empty(0, np.int64))


@dataclass(slots=True)
class Visits:
    """How many rows a stage has visited so far."""

    rows: int = 0


@dataclass(frozen=True, slots=True)
class ThresholdJoin:
    """Look the rows up whose value stands in `comparison` to `bound`; bind them from `offset` on, then run `program`.

    The key is the columns `stream`; `carried` are the columns bound before that are read later but for the bound, and
    `carried_layout` tells whether they are equal. `program` tests the comparison once more, as all predicates.
    """

    lookup: OrderedArrangement
    comparison: str
    bound: Valued
    stream: tuple[int, ...]
    carried: tuple[int, ...]
    carried_layout: KeyLayout
    offset: int
    width: int
    inclusive: bool
    program: Program | None
    visits: Visits

    def joined(self, delta: Delta) -> Iterator[Delta]:
        """The joined rows that passed `program`, in parts.

        Cost: a sort of the changes, for each step a search, and the rows that it holds for.
        """
        changes, key, values = self._comparable(delta)
        if len(changes) == 0:
            return
        ranges, sums = self._ranges(changes, key, values)
        for positions, rows in self.lookup.read(ranges, changes.times, self.inclusive):
            yield from self._passed(changes.take(ranges.within[positions]), sums[positions], rows)
        if self.lookup.has_unordered:
            wanted = self.lookup.unordered(key, np.arange(len(changes)))
            for positions, rows in self.lookup.read(wanted, changes.times, self.inclusive):
                yield from self._passed(changes.take(positions), changes.diff_array()[positions], rows)
            ranges.visited += wanted.visited
        self.visits.rows += ranges.visited

    def _comparable(self, delta: Delta) -> tuple[Delta, Ints, Column]:
        """The changes that have no NULL in key or bound, which equal and compare to nothing; their keys and bounds."""
        key, dropped = self.lookup.layout.pack([delta.column(c) for c in self.stream], len(delta))
        values = self.bound(delta)
        null = dropped
        if values.valid is not None:
            null = ~values.valid if dropped is None else dropped | ~values.valid
        if null is None or not null.any():
            return delta, key, values
        kept = np.flatnonzero(~null)
        return delta.take(kept), key[kept], Column(values.values[kept])

    def _ranges(self, changes: Delta, key: Ints, values: Column) -> tuple[Ranges, Ints]:
        """The ranges of values that the changes concern, and the diff with which each row of them is met."""
        lookup, n = self.lookup, len(changes)
        words, grouped = self._sortable(changes, key, values)
        order = np.lexsort(words.T[::-1])
        comparison = COMPARISONS[self.comparison]
        if comparison <= LE:
            order = order[::-1].copy()
        ranges, within, sums = np.empty((n, RANGE), np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
        diffs = _ALL_ONE if changes.diffs is None else readonly(np.ascontiguousarray(changes.diffs))
        found = moved_ranges(
            words, grouped, order, diffs, comparison, lookup.keyed, lookup.width, ranges, within, sums
        )  # fmt: skip
        return Ranges(lookup.bounds(key, n, values), ranges[:found], within[:found]), sums

    def _sortable(self, changes: Delta, key: Ints, values: Column) -> tuple[Ints, int]:
        """Words of each change: how many of them have to be equal for changes to cancel, then those of the bound."""
        n = len(changes)
        parts: list[Ints] = []
        if self.carried:
            parts.append(self.carried_layout.pack([changes.column(c) for c in self.carried], n)[0].reshape(n, -1))
        if self.stream:
            parts.append(key.reshape(n, -1))
        if not isinstance(changes.times, int):
            parts.append(changes.times.reshape(n, 1))
        grouped = sum(part.shape[1] for part in parts)
        if self.lookup.type.physical is Physical.CODE:
            parts.append(self.lookup.dictionary.ranks(values.values).reshape(n, 1))
        else:
            parts.append(ordered_words(values.values, self.lookup.type.physical))
        return np.concatenate(parts, axis=1), grouped

    def _passed(self, changes: Delta, diffs: Ints, rows: Ints) -> Iterator[Delta]:
        joined = replace(changes, diffs=diffs).bind(Group(self.lookup.store, rows), self.offset, self.width)
        passed = joined if self.program is None else self.program(joined)
        if passed is not None:
            yield passed
