"""Look-ups as legs of a route: of rows in an index, and of groups."""

from __future__ import annotations

from collections.abc import Sequence

from ivm.kernels.hashing.search import AT
from ivm.kernels.step.records import FIRST, FOUND
from ivm.operators.entered import Entered
from ivm.operators.reduce import GroupLookup
from ivm.operators.stage import Leg, Meeting
from ivm.trace.columns.column import Column
from ivm.trace.columns.computed import Read
from ivm.trace.delta import Columns, Delta, Group, Source
from ivm.trace.index.arrangement import Arrangement
from ivm.trace.index.keys import KeyLayout
from ivm.trace.index.search import SearchWords, Seen, report, tell
from ivm.trace.keyed.group_search import GroupWords
from ivm.trace.route import Route, Words
from ivm.trace.time import stamp


class _KeyedLeg(Leg):
    """How a route looks up by the key that deltas of one layout have, as `layout` packs it. Functions in it are made
    before.
    """

    _words: Words

    def __init__(self, stage: Meeting, layout: KeyLayout, delta: Delta) -> None:
        groups, read = len(delta.groups), dict[int, dict[int, None]]()
        self._apart, places = list[tuple[int, Read]](), list[tuple[int, int]]()
        for column in stage.stream:
            place = delta.layout.places[column]
            assert place is not None, f"column {column} is not bound"
            group, inner = place
            if isinstance(inner, tuple):
                places.append((groups, len(self._apart)))
                self._apart.append(place)
            else:
                places.append((group, inner))
                read.setdefault(group, {})[inner] = None
        self.extra = int(bool(self._apart))
        self.is_first = self.makes = bool(self._apart)
        self.reads = [(group, tuple(columns)) for group, columns in read.items()]
        if self._apart:
            self.reads.append((groups, range(len(self._apart))))
        self.goes_on = range(groups + self.extra)
        self.layout = delta.layout.bind(groups + self.extra, stage.offset, stage.width)
        self._form = layout.form_of(places)

    def more(self, groups: int) -> int:
        """See `Words.more`."""
        return self._words.more(groups)

    def words(self, place: int, edges: tuple[int, int], groups: int) -> list[int]:
        """See `Words.words`."""
        return self._words.words(place, edges, groups)

    def extended(self, delta: Delta) -> Delta:
        """See `Leg.extended`: with the functions that the key has."""
        made: list[Column] = [delta.groups[group].column(read) for group, read in self._apart]
        return Delta([*delta.groups, Group(Columns(made))], delta.layout, delta.length, delta.times, delta.diffs)


class IndexLeg(_KeyedLeg):
    """Rows are looked up in an index. `standing`: a walk finds them by itself.

    `entered`: what says as of which time, where that of the changes is another clock's.
    """

    def __init__(
        self, stage: Meeting, standing: bool, arrangement: Arrangement, delta: Delta, entered: Entered | None = None
    ) -> None:
        super().__init__(stage, arrangement.layout, delta)
        self._arrangement, self._inclusive, self._entered = arrangement, stage.inclusive, entered
        self.tells = entered is not None or not standing
        words, unique = None if self.tells else arrangement.words, arrangement.unique
        self._words = SearchWords(self._form, arrangement.layout.words, unique, words, stage.inclusive)

    def source(self) -> Source:
        """See `Leg.source`."""
        return self._arrangement.store.columns

    def begin(
        self, route: Route, number: int, delta: Delta, columns: Sequence[int], sources: Sequence[Source]
    ) -> object:
        """See `Leg.begin`: which rows are seen, and where the state lies."""
        arrangement = self._arrangement
        arrangement.settle()
        index, store = arrangement.index, arrangement.store
        times = delta.times if self._entered is None else self._entered.time
        assert isinstance(times, int), "walks find by themselves what each of several times sees"
        as_of = times if self._inclusive else times - 1
        seen = Seen(store.died_at, store.limit(as_of), 0, stamp(as_of), 0)
        tell(route, number, index, seen, index.run_at(), store.columns.told(columns))
        return None

    def want(self, columns: Sequence[int]) -> None:
        """See `Leg.want`."""
        self._arrangement.store.columns.want(columns)

    def ready(self) -> None:
        """See `Leg.ready`."""
        self._arrangement.tell()

    def asked(self, route: Route, number: int, delta: Delta, columns: Sequence[int]) -> object:
        """See `Leg.asked`."""
        self._arrangement.tell()
        return None

    def end(self, route: Route, number: int) -> None:
        """See `Leg.end`."""
        report(route, number, self._arrangement.layout.words, self._arrangement)

    def stopped_at(self, route: Route, number: int, delta: Delta) -> Delta:
        """See `Leg.stopped_at`: the rows that nothing was found for yet."""
        done = route.words.item(route.legs[number] + FOUND + AT) - route.words.item(route.edges[number] + FIRST)
        return delta.slice(done, delta.length)


class GroupLeg(_KeyedLeg):
    """Groups are looked up, and the columns of theirs that the stage has read are made."""

    def __init__(self, stage: Meeting, lookup: GroupLookup, delta: Delta) -> None:
        super().__init__(stage, lookup.layout, delta)
        wanted = lookup.wanted(stage.wanted)
        self._lookup, self.made = lookup, wanted.types
        self._words = GroupWords(self._form, wanted, inclusive=stage.inclusive)

    def begin(
        self, route: Route, number: int, delta: Delta, columns: Sequence[int], sources: Sequence[Source]
    ) -> object:
        """See `Leg.begin`: what groups there are, and what they are made of."""
        return self._lookup.tell(route, number)
