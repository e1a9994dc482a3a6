"""Races: of several orders in which inputs are bound each change goes the one whose first look-up meets fewest rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from ivm.operators.fork import NOWHERE, Fork, Racer, Ran
from ivm.operators.stage import Meeting, Stage
from ivm.operators.walk import Walk
from ivm.operators.way import Key, Way
from ivm.trace.delta import Delta, delta_of
from ivm.trace.helpers import at_hand
from ivm.trace.index.arrangement import Arrangement
from ivm.trace.index.follower import Lookup

_MOST = 64
_FEW = 16
_Went = list[tuple[Walk, Delta]]


@dataclass(eq=False)
class Race(Stage):
    """Each of the `ways` binds the same inputs, and begins with a look-up in an index.

    Which way a change goes is decided once, before any: so each goes one way, whatever commits come in between. It is
    the first one if that meets at most `few` rows. `met`: how many entries races have met so far. Cost: as many times
    the rows that the best of the first look-ups meets as there are ways; then that way.
    """

    is_light = True

    ways: tuple[tuple[Stage, ...], ...]
    few: int = _FEW
    met: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._walks = tuple(map(Walk, self.ways))
        self._racers = tuple(map(_racer, self.ways))
        self._forks: dict[tuple[Key, bool], Fork] = {}
        self._apart: Fork | None = None

    @property
    def meetings(self) -> Sequence[Meeting]:
        """See `Stage.meetings`: those of all ways."""
        return [meeting for way in self.ways for stage in way for meeting in stage.meetings]

    def over(self, lookups: Iterator[Lookup]) -> Race:
        """See `Stage.over`."""
        return replace(self, ways=tuple(tuple(stage.over(lookups) for stage in way) for way in self.ways))

    def passed(self, delta: Delta) -> Iterator[Delta]:
        """See `Stage.passed`: what has gone one way after the other."""
        went = self._along(delta)
        yield from went if not isinstance(went, list) else (p for walk, part in went for p in walk.parts(part))

    def all(self, delta: Delta) -> list[Delta]:
        """See `Stage.all`."""
        went = self._along(delta)
        return list(went) if not isinstance(went, list) else [p for walk, part in went for p in walk.all(part)]

    def _along(self, delta: Delta) -> Iterable[Delta] | _Went:
        """What comes of all rows, if one call leads them the same way; else the rows for each way that any go."""
        key = self._walks[0].key(delta, 0), at_hand(delta.length) is None
        fork = self._forks.get(key) or self._forked(key, delta)
        if fork is None:
            return self._read_apart(delta)
        ran = fork.run(delta)
        self.met += ran.met
        line = fork.lines[ran.way] if ran.way != NOWHERE else None
        if line is not None:
            return self._led(key, fork, ran, line, delta)
        parts = fork.divided(ran, delta)
        fork.take_back(ran.route)
        if parts is None:
            return self._read_apart(delta)
        if key[1] and ran.way != NOWHERE and _line(self._walks[ran.way], delta) is not None:
            self._forks.pop(key, None)  # the next one goes on
        return [(self._walks[way], part) for way, part in parts]

    def _forked(self, key: tuple[Key, bool], delta: Delta) -> Fork | None:
        """The fork for deltas like this; None if functions make keys. Many rows are only divided: helpers lead them."""
        if not all(racer.places(delta.layout) for racer in self._racers):
            return None
        if len(self._forks) >= _MOST:
            self._forks.clear()
        lines = [_line(walk, delta) if key[1] else None for walk in self._walks]
        fork = self._forks[key] = Fork(self._racers, self.few, delta, lines)
        return fork

    def _led(self, key: tuple[Key, bool], fork: Fork, ran: Ran, line: Way, delta: Delta) -> Iterable[Delta]:
        """What comes of rows that all go one way, along its line."""
        route = ran.route
        route.follow(ran.way)
        if route.at >= 0 or (ran.said and line.end < len(self._walks[ran.way].stages)):
            return self._rest(key, ran, line, delta)
        parts = (line.result(route, delta),) if ran.said else ()
        line.leave(route)
        fork.idle.append(route)
        return parts

    def _rest(self, key: tuple[Key, bool], ran: Ran, line: Way, delta: Delta) -> Iterator[Delta]:
        """Go on with a walk that has stopped on its line."""
        walk = self._walks[ran.way]
        yield from walk.after(line, line.rest([(ran.route, ran.said)], delta, [ran.kept]))
        if walk.way(delta) is not line:
            self._forks.pop(key, None)

    def _read_apart(self, delta: Delta) -> _Went:
        """The rows that go each way, where kernels cannot read keys, or references, where they lie."""
        columns = [delta.column(column) for racer in self._racers for column in racer.stream]
        gathered = delta_of(columns, 0, None, delta.length)
        if self._apart is None:
            places, racers = iter(range(len(columns))), list[Racer]()
            for racer in self._racers:
                racers.append(Racer(racer.arrangement, [next(places) for _ in racer.stream]))
            self._apart = Fork(racers, self.few, gathered, [None] * len(racers))
        ran = self._apart.run(gathered)
        self.met += ran.met
        parts = self._apart.divided(ran, delta)
        self._apart.take_back(ran.route)
        assert parts is not None, "columns that are there, and those of a run, have places"
        return [(self._walks[way], part) for way, part in parts]


def _racer(way: Sequence[Stage]) -> Racer:
    """The look-up with which a way begins."""
    meeting = way[0]
    assert isinstance(meeting, Meeting), "a way begins with a look-up"
    assert isinstance(meeting.lookup, Arrangement), "what races is looked up in an index"
    return Racer(meeting.lookup, meeting.stream)


def _line(walk: Walk, delta: Delta) -> Way | None:
    """The way on which such deltas begin a walk, where nothing is to be told of them before."""
    way = walk.way(delta)
    return way if way is not None and way.is_ready else None
