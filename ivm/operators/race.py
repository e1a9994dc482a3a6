"""Races: of several orders in which inputs are bound each change goes the one whose first look-up meets fewest rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ivm.kernels.hashing.search import FORM, PARTS, SCRATCH, SEARCHED, WIDTH
from ivm.kernels.memory.places import SOURCE
from ivm.kernels.step.race import (
    ARRANGED,
    LEARNT,
    LISTED,
    LOOK_UP,
    LOOK_UPS,
    MET,
    NONE,
    RACE,
    SEARCHING,
    race,
    scratch_words,
)
from ivm.kernels.step.records import ASKS
from ivm.operators.stage import Meeting, Stage
from ivm.operators.walk import Walk
from ivm.trace.columns.column import Ints
from ivm.trace.delta import Delta, Layout, delta_of
from ivm.trace.index.arrangement import Arrangement
from ivm.trace.index.follower import Lookup
from ivm.trace.lessons import note
from ivm.trace.sources import Sources

_MOST = 64


@dataclass(frozen=True, eq=False)
class Race(Stage):
    """Each of the `ways` binds the same inputs, and begins with a look-up in an index.

    Which way a change goes is decided once, before any: so each goes one way, whatever commits come in between. Cost:
    as many times the rows that the best of the first look-ups meets as there are ways; then that way.
    """

    is_light = True

    ways: tuple[tuple[Stage, ...], ...]
    _walks: tuple[Walk, ...] = field(init=False, repr=False)
    _columns: tuple[int, ...] = field(init=False, repr=False)
    _frames: dict[Layout, _Frame] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        made = object.__setattr__
        made(self, "_walks", tuple(map(Walk, self.ways)))
        made(self, "_columns", tuple(c for way in self.ways for c in _first(way).stream))
        made(self, "_frames", {})

    @property
    def met(self) -> int:
        """How many entries races have met so far."""
        return sum(frame.met for frame in self._frames.values())

    @property
    def meetings(self) -> Sequence[Meeting]:
        """See `Stage.meetings`: those of all ways."""
        return [meeting for way in self.ways for stage in way for meeting in stage.meetings]

    def over(self, lookups: Iterator[Lookup]) -> Race:
        """See `Stage.over`."""
        return replace(self, ways=tuple(tuple(stage.over(lookups) for stage in way) for way in self.ways))

    def passed(self, delta: Delta) -> Iterator[Delta]:
        """See `Stage.passed`: what has gone one way after the other."""
        for walk, part in self._split(delta):
            yield from walk.parts(part)

    def all(self, delta: Delta) -> list[Delta]:
        """See `Stage.all`."""
        return [each for walk, part in self._split(delta) for each in walk.all(part)]

    def _split(self, delta: Delta) -> list[tuple[Walk, Delta]]:
        """The rows that go each way, of those that any goes."""
        winners, winner = self.decided(delta)
        if winner < len(self.ways):
            return [(self._walks[winner], delta)]
        rows = [np.flatnonzero(winners == number) for number in range(winner)]
        return [(walk, delta.take(each)) for walk, each in zip(self._walks, rows, strict=True) if len(each)]

    def decided(self, delta: Delta) -> tuple[Ints, int]:
        """Which way each row goes; and which one all go, or how many ways there are."""
        frame, winners = self._frames.get(delta.layout), np.empty(delta.length, np.int64)
        if frame is None:
            if len(self._frames) >= _MOST:
                self._frames.clear()
            frame = self._frames[delta.layout] = _Frame(self.ways, Sources(self._columns, delta.layout))
        winner = frame.run(delta, winners)
        if winner < 0:  # kernels cannot read some column, or references, where they lie
            gathered = delta_of([delta.column(column) for column in self._columns], 0, None, delta.length)
            plain = Sources(range(len(self._columns)), gathered.layout)
            winner = _Frame(self.ways, plain).run(gathered, winners)
        assert winner >= 0, "columns that are there, and those of a run, have places"
        return winners, winner


class _Frame:
    """What the kernel is told, of deltas whose key columns, those of one way after the other, are these `sources`."""

    __slots__ = ("_arrangements", "_held", "_sources", "_words")

    def __init__(self, ways: Sequence[Sequence[Stage]], sources: Sources) -> None:
        places, done = sources.places.tolist(), 0
        words: Ints = np.zeros(RACE + LOOK_UP * len(ways) + SOURCE * sources.count, np.int64)
        words[[NONE, LOOK_UPS]] = id(None), len(ways)
        self._words, self._sources = words, sources
        self._arrangements, self._held = list[tuple[int, Arrangement]](), list[Ints]()
        for number, way in enumerate(ways):
            arrangement, at = _first(way).lookup, RACE + LOOK_UP * number
            assert isinstance(arrangement, Arrangement), "what races is looked up in an index"
            layout, stop = arrangement.layout, done + len(_first(way).stream)
            form, scratch = layout.form_of(places[done:stop]), np.empty(scratch_words(layout.words), np.int64)
            words[at + ARRANGED], done = arrangement.words.ctypes.data, stop
            search = words[at + SEARCHING : at + LOOK_UP]
            search[[FORM, PARTS, WIDTH, SCRATCH]] = form.ctypes.data, len(form), layout.words, scratch.ctypes.data
            self._arrangements.append((at + SEARCHING, arrangement))
            self._held += form, scratch

    @property
    def met(self) -> int:
        """How many entries were met so far."""
        return self._words.item(MET)

    def run(self, delta: Delta, winners: Ints) -> int:
        """What the kernel says, where it need not ask; the indexes are to learn from it."""
        words, listed = self._words, self._sources.of(delta)
        words[LISTED] = id(listed)
        while (said := race(words, winners)) == ASKS:
            for _, arrangement in self._arrangements:
                arrangement.tell()
        if words.item(LEARNT):
            words[LEARNT] = 0
            for at, arrangement in self._arrangements:
                note(arrangement, words.item(at + SEARCHED), None)
                words[at + SEARCHED] = 0
        return int(said)


def _first(way: Sequence[Stage]) -> Meeting:
    """The look-up with which a way begins."""
    meeting = way[0]
    assert isinstance(meeting, Meeting), "a way begins with a look-up"
    return meeting
