"""Threshold join: a stage that looks rows up by a bound, and visits only those on which a change of it does not cancel.

Changes that are equal in key, in all that is read later, and in time differ in their bounds alone. Over the order of
values, the sum of the diffs of those whose bound admits a value is a step function; the rows where it is zero are met
by retractions and insertions alike. Only the steps that are not zero are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from catalog.types import Physical
from ivm.kernels.ordered.threshold_join import LE, RANGE, moved_ranges
from ivm.operators.stage import Meeting
from ivm.trace.columns.column import Bools, Column, Ints, readonly_diffs
from ivm.trace.delta import Delta, Group
from ivm.trace.index.follower import Lookup
from ivm.trace.index.keys import KeyLayout
from ivm.trace.ordered.ordered_arrangement import OrderedArrangement, Ranges, Valued
from ivm.trace.ordered.row_order import ordered_words

COMPARISONS = {"lt": 0, "le": 1, "eq": 2, "ge": 3, "gt": 4}


@dataclass(frozen=True, eq=False)
class ThresholdJoin(Meeting):
    """Finds the rows of the key whose value stands in `comparison` to `bound`.

    `carried` are the columns bound before that are read later but for the bound, and `carried_layout` tells whether
    they are equal. A program tests the comparison once more, as all predicates. `visits[0]`: rows visited so far.
    """

    lookup: OrderedArrangement
    comparison: str
    bound: Valued
    carried: tuple[int, ...]
    carried_layout: KeyLayout
    visits: list[int] = field(default_factory=lambda: [0])

    @property
    def visited(self) -> int:
        """Rows visited so far."""
        return self.visits[0]

    def over(self, lookup: Lookup) -> ThresholdJoin:
        """See `Meeting.over`."""
        assert isinstance(lookup, OrderedArrangement), "a bound looks up what is in order"
        return replace(self, lookup=lookup, inclusive=True)

    def passed(self, delta: Delta) -> Iterator[Delta]:
        """See `Stage.passed`. Cost: a sort of the changes, for each step a search, and the rows that it holds for."""
        changes, key = delta, self.lookup.layout.pack([delta.column(c) for c in self.stream], len(delta))
        values = self.bound(delta)
        words, missing = key
        if values.valid is not None:
            missing = ~values.valid if missing is None else missing | ~values.valid
        if missing is not None and missing.any():  # NULL equals and compares to nothing
            kept = np.flatnonzero(~missing)
            changes, words, values = delta.take(kept), words[kept], Column(values.values[kept])
        if len(changes):
            ranges, sums = self._ranges(changes, words, values)
            for positions, rows in self.lookup.read(ranges, changes.times, self.inclusive):
                yield self._joined(changes.take(ranges.within[positions]), sums[positions], rows)
            self.visits[0] += ranges.visited
        if self.lookup.has_unordered:
            yield from self._meet_unordered(delta, *key)

    def _meet_unordered(self, delta: Delta, words: Ints, dropped: Bools | None) -> Iterator[Delta]:
        """Join each change with the rows of its key that no value can be computed of: a program says what of that."""
        wanted = np.arange(len(delta)) if dropped is None else np.flatnonzero(~dropped)
        ranges = self.lookup.unordered(words, wanted)
        for positions, rows in self.lookup.read(ranges, delta.times, self.inclusive):
            changes = wanted[positions]
            yield self._joined(delta.take(changes), delta.diff_array()[changes], rows)
        self.visits[0] += ranges.visited

    def _ranges(self, changes: Delta, key: Ints, values: Column) -> tuple[Ranges, Ints]:
        """The ranges of values that the changes concern, and the diff with which each row of them is met."""
        lookup, n = self.lookup, len(changes)
        words, grouped = self._sortable(changes, key, values)
        order = np.lexsort(words.T[::-1])
        comparison = COMPARISONS[self.comparison]
        if comparison <= LE:
            order = order[::-1].copy()
        ranges, within, sums = np.empty((n, RANGE), np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
        diffs = readonly_diffs(changes.diffs)
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
            parts.append(self.lookup.dictionary.now().ranks(values.values).reshape(n, 1))
        else:
            parts.append(ordered_words(values.values, self.lookup.type.physical))
        return np.concatenate(parts, axis=1), grouped

    def _joined(self, changes: Delta, diffs: Ints, rows: Ints) -> Delta:
        return changes.with_diffs(diffs).bind(Group(self.lookup.store.columns, rows), self.offset, self.width)
