"""Threshold join: a stage that looks rows up by a bound, and visits only those on which a change of it does not cancel.

Changes that are equal in key, in all that is read later, and in time differ in their bounds alone, one of each or two.
Over the order of values, the sum of the diffs of those whose bounds admit a value is a step function; the rows where it
is zero are met by retractions and insertions alike. Only the steps that are not zero are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from ivm.catalog.types import Physical
from ivm.kernels.ordered.threshold_join import GT, LE, RANGE, moved_ranges, moved_windows
from ivm.operators.bound_leg import COMPARISONS, BoundLeg, Bounds
from ivm.operators.stage import Leg, Meeting, read_at
from ivm.trace.columns.column import Column, Ints, readonly_diffs
from ivm.trace.delta import Delta, Group
from ivm.trace.index.follower import Lookup
from ivm.trace.ordered.ordered_arrangement import OrderedArrangement, Ranges


@dataclass(frozen=True, eq=False)
class ThresholdJoin(Meeting):
    """Finds the rows of the key whose value is within `bounds`.

    A program tests the comparisons once more, as all predicates. `standing`: see `HalfJoin`. `visits[0]`: rows visited
    so far.
    """

    lookup: OrderedArrangement
    bounds: Bounds
    standing: bool = True
    visits: list[int] = field(default_factory=lambda: [0])
    cancels: ClassVar[bool] = True
    varies = True

    @property
    def visited(self) -> int:
        """Rows visited so far."""
        return self.visits[0]

    def over(self, lookups: Iterator[Lookup]) -> ThresholdJoin:
        """See `Stage.over`."""
        lookup = next(lookups)
        assert isinstance(lookup, OrderedArrangement), "a bound looks up what is in order"
        return replace(self, lookup=lookup, inclusive=True, standing=False)

    def variant(self, delta: Delta) -> int:
        """See `Stage.variant`: whether there are rows without a value."""
        return int(self.lookup.has_unordered)

    def leg(self, delta: Delta) -> Leg | None:
        """See `Stage.leg`: for changes of one time, of which the state is read where it is."""
        if not self.standing or self.lookup.has_unordered or not isinstance(delta.times, int):
            return None
        found = read_at(delta.layout, (*self.stream, *self.bounds.columns, *self.bounds.carried))
        return None if found is None else BoundLeg(self, self.lookup, self.bounds, self.visits, *found, delta)

    def passed(self, delta: Delta) -> Iterator[Delta]:
        """See `Stage.passed`. Cost: a sort of the changes, for each step a search, and the rows that it holds for."""
        changes, key = delta, self.lookup.layout.pack([delta.column(c) for c in self.stream], len(delta))
        bounds = [delta.column(column) for column in self.bounds.columns]
        words, missing = key
        for bound in bounds:
            if bound.valid is not None:
                missing = ~bound.valid if missing is None else missing | ~bound.valid
        if missing is not None and missing.any():  # NULL equals and compares to nothing
            kept = np.flatnonzero(~missing)
            changes, words = delta.take(kept), words[kept]
            bounds = [Column(bound.values[kept]) for bound in bounds]
        if len(changes):
            yield from self._met(changes, self._ranges(changes, words, bounds))
        if self.lookup.has_unordered:  # a program says what of the rows that no value can be computed of
            words, dropped = key
            wanted = np.arange(len(delta)) if dropped is None else np.flatnonzero(~dropped)
            diffs = 1 if delta.diffs is None else delta.diffs[wanted]
            yield from self._met(delta, self.lookup.whole(words, wanted, diffs, unordered=True))

    def _met(self, changes: Delta, ranges: Ranges) -> Iterator[Delta]:
        """The changes joined with the rows in their ranges."""
        for within, diffs, rows in self.lookup.read(ranges, changes.times, self.inclusive):
            met = Group(self.lookup.store.columns, rows)
            yield changes.with_diffs(None).take(within).bind(met, self.offset, self.width).with_diffs(diffs)
        self.visits[0] += ranges.visited

    def _ranges(self, changes: Delta, key: Ints, bounds: Sequence[Column]) -> Ranges:
        """The ranges of values that the changes concern."""
        lookup, n = self.lookup, len(changes)
        words, ahead = self._words(changes, key, bounds)
        by = words.T[::-1]
        if lookup.physical is Physical.CODE:
            values = np.concatenate([bound.values for bound in bounds])
            by = np.stack([lookup.dictionary.now().ranks(values), *by[1:]])
        first, *second = (COMPARISONS[each] for each in self.bounds.comparisons)
        ranges, diffs = np.empty((len(words), RANGE), np.int64), readonly_diffs(changes.diffs)
        if second:
            begins, ends = first == GT, second[0] == LE
            order, links = np.lexsort((np.repeat((begins, ends), n), *by)), np.empty((2, n), np.int64)
            found = moved_windows(words, ahead, lookup.keyed, order, diffs, begins + 2 * ends, links, ranges)
        else:
            order = np.lexsort(by)
            if first <= LE:
                order = order[::-1].copy()
            found = moved_ranges(words, ahead, lookup.keyed, order, diffs, first, ranges)
        return Ranges(words, ahead, ranges[:found])

    def _words(self, changes: Delta, key: Ints, bounds: Sequence[Column]) -> tuple[Ints, int]:
        """Words that are equal where changes cancel, how many of them the order does not know, then those of bounds.

        Those of all changes with one bound come before those with the next one.
        """
        n, carried = len(changes), self.bounds.carried_words
        ahead = carried + (not isinstance(changes.times, int))
        words = np.empty((len(bounds), n, ahead + self.lookup.width), np.int64)
        if carried:
            packed, _ = self.bounds.layout.pack([changes.column(c) for c in self.bounds.carried], n)
            words[:, :, :carried] = packed.reshape(n, carried)
        if ahead > carried:
            words[:, :, carried] = changes.times
        for each, bound in zip(words, bounds, strict=True):
            self.lookup.put(each[:, ahead:], key, bound)
        return words.reshape(len(bounds) * n, -1), ahead
