"""Half-joins: changes find the rows of their keys in an arrangement, and go on with them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ivm.kernels.hashing.search import AT
from ivm.kernels.step.records import FIRST, FOUND, GIVEN
from ivm.kernels.step.state import EARLIER
from ivm.operators.operator import NOTHING
from ivm.operators.stage import Leg, Stage
from ivm.trace.columns.column import Column, Ints, every
from ivm.trace.columns.computed import Computed, Read
from ivm.trace.delta import Columns, Delta, Group, Source
from ivm.trace.index.arrangement import Arrangement
from ivm.trace.index.follower import Lookup
from ivm.trace.index.search import SearchWords, Seen, learn, tell
from ivm.trace.route import Route
from ivm.trace.time import stamp, stamps

PART = 1 << 17
FIRST_PART = 1 << 12
_LEAST_PART = 1 << 8


@dataclass(frozen=True, eq=False)
class Meeting(Stage):
    """A stage that binds rows of `lookup` to changes, from column `offset` on, by their columns `stream`.

    `inclusive`: changes at the time of a row itself are seen. `read`: those of the columns bound that are read later,
    `computed` those of whose text only functions are read, with them.
    """

    lookup: Lookup
    stream: tuple[int, ...]
    offset: int
    width: int
    inclusive: bool
    read: tuple[int, ...]
    computed: Computed

    @property
    def visited(self) -> int:
        """Rows visited so far where a bound has moved."""
        return 0

    @abstractmethod
    def over(self, lookup: Lookup) -> Meeting:
        """The same stage, which sees every row that is found there."""


@dataclass(frozen=True, eq=False)
class HalfJoin(Meeting):
    """Finds the rows of the key, over parts of the delta that meet about `PART` rows each.

    `unique`: at most one row is found for each. `standing`: changes come at the present, as it is in a commit, so that
    walks find the state by themselves. Cost: a probe for each row and what it finds.
    """

    unique: bool
    standing: bool = True

    def over(self, lookup: Lookup) -> HalfJoin:
        """See `Meeting.over`."""
        return replace(self, lookup=lookup, inclusive=True, standing=False)

    def passed(self, delta: Delta) -> Iterator[Delta]:
        """See `Stage.passed`."""
        start, length, size = 0, len(delta), PART if self.unique else FIRST_PART
        while start < length:
            stop = min(start + size, length)
            joined = self._look_up(delta.slice(start, stop))
            if stop < length:
                size = next_size(stop - start, len(joined))
            yield joined
            start = stop

    def _look_up(self, delta: Delta) -> Delta:
        words, dropped = self.lookup.layout.pack([delta.column(c) for c in self.stream], len(delta))
        positions, rows = self.lookup.look_up(words, dropped, delta.times, self.inclusive)
        if len(positions) == 0:
            return NOTHING
        every = len(positions) == len(delta) and (self.unique or _is_every_row(positions))
        joined = delta if every else delta.take(positions)
        return joined.bind(rows, self.offset, self.width)

    def leg(self, delta: Delta) -> Leg | None:
        """See `Stage.leg`: a search, where rows are found by an index."""
        if not isinstance(self.lookup, Arrangement):
            return None
        return _Search(self, self.lookup, delta)


class _Search(Leg):
    """How a route looks up what deltas of one layout have, of so many groups. Functions in the key are made before."""

    def __init__(self, stage: HalfJoin, arrangement: Arrangement, delta: Delta) -> None:
        self._arrangement, self._inclusive = arrangement, stage.inclusive
        self.tells = not (stage.standing and isinstance(delta.times, int))
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
        self.is_first = bool(self._apart)
        self.reads = [(group, tuple(columns)) for group, columns in read.items()]
        if self._apart:
            self.reads.append((groups, range(len(self._apart))))
        self.goes_on = range(groups + self.extra)
        self.layout = delta.layout.bind(groups + self.extra, stage.offset, stage.width)
        words, unique = None if self.tells else arrangement.words, arrangement.unique
        form, width = arrangement.layout.form_of(places), arrangement.layout.words
        self._words = SearchWords(form, width, unique, words, stage.inclusive)

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

    def source(self) -> Source:
        """See `Leg.source`."""
        return self._arrangement.store.columns

    def begin(
        self, route: Route, number: int, delta: Delta, columns: Sequence[int], sources: Sequence[Source]
    ) -> object:
        """See `Leg.begin`: which rows are seen, and where the state lies."""
        arrangement = self._arrangement
        arrangement.learn()
        index, store, times = arrangement.index, arrangement.store, delta.times
        limits: tuple[Ints, Ints] | None = None
        if isinstance(times, int):
            as_of = times if self._inclusive else times - 1
            seen = Seen(store.died_at, store.limit(as_of), 0, stamp(as_of), 0)
        else:
            since = times if self._inclusive else times - 1
            limits = store.limits(since), stamps(since)
            seen = Seen(store.died_at, 0, limits[0].ctypes.data, 0, limits[1].ctypes.data)
        tell(route, number, index, seen, index.run_at(), store.columns.told(columns))
        return limits

    def want(self, columns: Sequence[int]) -> None:
        """See `Leg.want`."""
        self._arrangement.store.columns.want(columns)

    def ready(self) -> None:
        """See `Leg.ready`."""
        self._arrangement.tell()

    def asked(self, route: Route, number: int, delta: Delta, columns: Sequence[int]) -> object:
        """See `Leg.asked`."""
        arrangement, times = self._arrangement, delta.times
        arrangement.tell()
        assert isinstance(times, int), "where there are several, it tells each time"
        if times - (not self._inclusive) >= arrangement.store.words.item(EARLIER):
            return None
        given = route.legs[number] + GIVEN  # of what was long ago less is known
        route.words[given] = 1
        route.given.append(given)
        return self.begin(route, number, delta, columns, ())

    def end(self, route: Route, number: int) -> None:
        """See `Leg.end`."""
        learn(route, number, self._arrangement.index)

    def stopped_at(self, route: Route, number: int, delta: Delta) -> Delta:
        """See `Leg.stopped_at`: the rows that nothing was found for yet."""
        done = route.words.item(route.legs[number] + FOUND + AT) - route.words.item(route.edges[number] + FIRST)
        return delta.slice(done, delta.length)


def next_size(rows: int, matches: int) -> int:
    """How many rows to take next, where so many met so many matches: as many as meet about `PART`."""
    return max(_LEAST_PART, min(PART, PART * rows // max(matches, 1)))


def _is_every_row(positions: Ints) -> bool:
    """Whether each of as many rows found exactly one partner, so that nothing has to move; positions ascend."""
    return bool(positions[-1] == len(positions) - 1 and every(positions[1:] > positions[:-1]))
