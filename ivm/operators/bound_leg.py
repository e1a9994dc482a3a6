"""A look-up by bounds as a leg of a route: see `ivm.kernels.step.bound`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from struct import Struct

import numpy as np

from ivm.kernels.hashing.keys import FORM, INTEGER
from ivm.kernels.ordered.threshold_join import GT, LE
from ivm.kernels.step.records import (
    BOUND,
    BOUND_FORMS,
    BOUND_LEG,
    BOUND_PARTS,
    BOUND_WORDS,
    BOUNDS,
    CARRIED,
    CARRIED_FORM,
    CARRIED_PARTS,
    COMPARED,
    KEYED,
    KINDS,
    MOST_MET,
    TREE,
    VALUE_KIND,
    VISITS,
)
from ivm.operators.stage import At, Leg, Meeting, Reads
from ivm.trace.columns.column import KINDS as VALUE_KINDS
from ivm.trace.delta import Delta, Source
from ivm.trace.index.keys import KeyLayout
from ivm.trace.ordered.ordered_arrangement import OrderedArrangement
from ivm.trace.route import Route
from ivm.trace.time import stamp

COMPARISONS = {"lt": 0, "le": 1, "eq": 2, "ge": 3, "gt": 4}
_FEW = 64
_pack = Struct("7q").pack_into


@dataclass(frozen=True, eq=False)
class Bounds:
    """The value of a row stands in each of `comparisons` to the one of `columns` at its place.

    There is one comparison, or two: a gt or ge, then a lt or le. `carried` are the columns bound before that are read
    later but for the bounds, and `layout` tells whether they are equal.
    """

    comparisons: tuple[str, ...]
    columns: tuple[int, ...]
    carried: tuple[int, ...]
    layout: KeyLayout

    @property
    def carried_words(self) -> int:
        """How many words of the packed columns decide whether two changes cancel."""
        return self.layout.words if self.carried else 0


class BoundLeg(Leg):
    """Changes of bounds meet rows in order, for deltas of one layout and of one time. `visits[0]`: rows visited.

    `places` are those of the columns of the key, then of the bounds, then of what is carried.
    """

    splits = False

    def __init__(
        self, stage: Meeting, lookup: OrderedArrangement, bounds: Bounds, visits: list[int], places: At, reads: Reads,
        delta: Delta,
    ) -> None:  # fmt: skip
        self._lookup, self._bounds, self._inclusive, self._visits = lookup, bounds, stage.inclusive, visits
        kind, keyed = VALUE_KINDS.get(lookup.physical, INTEGER), len(stage.stream)
        behind = keyed + len(bounds.columns)
        keys = lookup.layout.form_of(places[:keyed]).tolist()
        values = [(*place, kind, lookup.keyed, -1, -1, 0) for place in places[keyed:behind]]
        self._forms = np.array([[*keys, value] for value in values], np.int64).reshape(len(values), -1, FORM)
        self._carried = bounds.layout.form_of(places[behind:])
        self._kind, self._kinds, self.reads = kind, lookup.kinds, reads
        self.goes_on = range(len(delta.groups))
        self.layout = delta.layout.bind(len(delta.groups), stage.offset, stage.width)

    def more(self, groups: int) -> int:
        """See `Words.more`."""
        return groups + 1

    def words(self, place: int, edges: tuple[int, int], groups: int) -> list[int]:
        """See `Words.words`."""
        lookup, (bounds, parts, _) = self._lookup, self._forms.shape
        first, *second = (COMPARISONS[each] for each in self._bounds.comparisons)
        words = [BOUND, *edges, groups, *(0,) * (BOUND_LEG - 4 + groups + 2)]
        words[BOUND_FORMS], words[BOUND_PARTS], words[BOUNDS] = self._forms.ctypes.data, parts, bounds
        words[BOUND_WORDS], words[KEYED], words[VALUE_KIND] = lookup.width, lookup.keyed, self._kind
        words[COMPARED] = (first == GT) + 2 * (second[0] == LE) if second else first
        words[CARRIED_FORM], words[CARRIED_PARTS] = self._carried.ctypes.data, len(self._carried)
        words[CARRIED], words[KINDS], words[MOST_MET] = self._bounds.carried_words, self._kinds.ctypes.data, _FEW
        return words

    def source(self) -> Source:
        """See `Leg.source`."""
        return self._lookup.store.columns

    def begin(
        self, route: Route, number: int, delta: Delta, columns: Sequence[int], sources: Sequence[Source]
    ) -> object:
        """See `Leg.begin`: where the rows lie in order, and which of them are seen."""
        lookup = self._lookup
        assert isinstance(delta.times, int), "changes of several times are for Python"
        store, strings = lookup.store, lookup.dictionary.now()
        as_of = delta.times if self._inclusive else delta.times - 1
        _pack(
            route.view, 8 * (route.legs[number] + TREE), lookup.address, id(strings.heap), id(strings.places),
            store.limit(as_of), stamp(as_of), store.died_at, store.columns.told(columns),
        )  # fmt: skip
        return strings

    def want(self, columns: Sequence[int]) -> None:
        """See `Leg.want`."""
        self._lookup.store.columns.want(columns)

    def end(self, route: Route, number: int) -> None:
        """See `Leg.end`: how many rows were visited."""
        at = route.legs[number] + VISITS
        self._visits[0] += route.words.item(at)
        route.words[at] = 0
