"""Forks: routes that begin with a race, and go on along the line of the way on which all rows go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ivm.kernels.hashing.search import FORM, PARTS, SEARCHED, WIDTH
from ivm.kernels.step.records import (
    ASKS,
    ELSEWHERE,
    FEW,
    MET,
    RACE,
    RACE_LEG,
    RACED,
    RACED_ARRANGED,
    SEARCHING,
    STRIDED,
    TOLD,
    WAY,
    WAYS,
    WINNERS,
)
from ivm.operators.way import Way
from ivm.trace.columns.column import Ints
from ivm.trace.delta import Delta, Layout
from ivm.trace.index.arrangement import Arrangement
from ivm.trace.lessons import note
from ivm.trace.route import Route, listed_of

NOWHERE = -1


class Ran(NamedTuple):
    """What has come of a race: the route, what the walk has said, the way on which all rows go, or NOWHERE, and how
    many entries were met; `kept` is to be there until the walk has ended.
    """

    route: Route
    said: int
    way: int
    met: int
    kept: object


@dataclass(frozen=True, slots=True)
class Racer:
    """The look-up with which a way begins: in an index, by these columns of deltas."""

    arrangement: Arrangement
    stream: Sequence[int]

    def places(self, layout: Layout) -> list[tuple[int, int]]:
        """Where the columns of its key lie; none if some is made by a function."""
        found = [layout.places[column] for column in self.stream]
        places = [(place[0], place[1]) for place in found if place is not None and isinstance(place[1], int)]
        return places if len(places) == len(found) else []


class Fork:
    """The race as a route does it, for deltas that lie as one does; `lines` are the ways that are known to go on."""

    def __init__(self, racers: Sequence[Racer], few: int, delta: Delta, lines: Sequence[Way | None]) -> None:
        self.lines, self._racers = lines, racers
        self._words = _RaceWords(racers, few, delta.layout)  # forms of keys lie there
        head = [dict[int, None]() for _ in delta.groups]
        for racer in racers:
            for group, column in racer.places(delta.layout):
                head[group][column] = None
        for line in lines:
            for group, columns in enumerate(line.head if line is not None else ()):
                head[group].update(dict.fromkeys(columns))
        self._head = [tuple(each) for each in head]
        self._route = Route([self._words], len(head), [() if line is None else line.legs for line in lines])
        self._at = self._route.legs[0]
        self.idle = list[Route]()

    def run(self, delta: Delta) -> Ran:
        """Race, and walk on where all rows go one way that is known."""
        try:
            route = self.idle.pop()
        except IndexError:
            route = self._route.copy()
        listed, words, at = listed_of(delta, self._head), route.words, self._at
        said = route.go(listed, 0, delta.length, delta.times if isinstance(delta.times, int) else 0)
        while said == ASKS and words.item(at + WAY) == NOWHERE:
            for racer in self._racers:
                racer.arrangement.tell()
            said = route.go_on(delta.length)
        if said == STRIDED:  # nobody has raced
            return Ran(route, said, NOWHERE, 0, listed)
        if words.item(TOLD):
            self._learn(words)
        return Ran(route, said, words.item(at + WAY), words.item(at + MET), listed)

    def divided(self, ran: Ran, delta: Delta) -> list[tuple[int, Delta]] | None:
        """Each way with its rows, of the ways that any row goes; None if the race could not read their keys."""
        if ran.way != NOWHERE:
            return [(ran.way, delta)]
        if ran.said != ELSEWHERE:
            return None
        winners = ran.route.moved(ran.route.words.item(self._at + WINNERS), delta.length)
        rows = (np.flatnonzero(winners == way) for way in range(len(self.lines)))
        return [(way, delta.take(each)) for way, each in enumerate(rows) if len(each)]

    def take_back(self, route: Route) -> None:
        """Nobody reads any more what has come along a route."""
        route.end()
        self.idle.append(route)

    def _learn(self, words: Ints) -> None:
        """Let the indexes learn from what was met."""
        for number, racer in enumerate(self._racers):
            at = self._at + RACE_LEG + RACED * number + SEARCHING + SEARCHED
            if words.item(at):
                note(racer.arrangement, words.item(at), None)
                words[at] = 0


class _RaceWords:
    """What a route is told of a race."""

    def __init__(self, racers: Sequence[Racer], few: int, layout: Layout) -> None:
        self._racers, self._few = racers, few
        self._forms = [racer.arrangement.layout.form_of(racer.places(layout)) for racer in racers]

    def more(self, groups: int) -> int:
        """See `Words.more`."""
        return groups

    def words(self, place: int, edges: tuple[int, int], groups: int) -> list[int]:
        """See `Words.words`."""
        words = [RACE, *edges, groups, *(0,) * (RACE_LEG - 4 + RACED * len(self._racers))]
        words[WAYS], words[FEW] = len(self._racers), self._few
        for number, (racer, form) in enumerate(zip(self._racers, self._forms, strict=True)):
            at = RACE_LEG + RACED * number
            words[at + RACED_ARRANGED] = racer.arrangement.words.ctypes.data
            search = at + SEARCHING
            words[search + FORM], words[search + PARTS] = form.ctypes.data, len(form)
            words[search + WIDTH] = racer.arrangement.layout.words
        return words
