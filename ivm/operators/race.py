"""Races: of several orders in which inputs are bound each change goes the one whose first look-up meets fewest rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from struct import Struct
from typing import Any

import numpy as np

from ivm.kernels.hashing.race import LISTED, NONE, RACE, SEARCHES, race, scratch_words
from ivm.kernels.hashing.search import FORM, PARTS, SCRATCH, SEARCH, SEARCHED, STATE, WIDTH
from ivm.kernels.memory.places import SOURCE
from ivm.operators.stage import Meeting, Stage
from ivm.operators.walk import Walk
from ivm.trace.columns.column import NOBODY, Ints
from ivm.trace.delta import Delta, Layout
from ivm.trace.index.arrangement import Arrangement
from ivm.trace.index.follower import Lookup
from ivm.trace.sources import SourcesByLayout, source_of

_MOST = 64
_tell = Struct("5q").pack_into


@dataclass(frozen=True, eq=False)
class Race(Stage):
    """Each of the `ways` binds the same inputs, and begins with a look-up in an index.

    Which way a change goes is decided once, before any: so each goes one way, whatever commits come in between. Cost:
    as many times the rows that the best of the first look-ups meets as there are ways; then that way.
    """

    ways: tuple[tuple[Stage, ...], ...]
    _walks: tuple[Walk, ...] = field(init=False, repr=False)
    _columns: tuple[int, ...] = field(init=False, repr=False)
    _sources: SourcesByLayout = field(init=False, repr=False)
    _frames: dict[Layout | None, _Frame] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        made = object.__setattr__
        made(self, "_walks", tuple(map(Walk, self.ways)))
        made(self, "_columns", tuple(c for way in self.ways for c in _first(way).stream))
        made(self, "_sources", SourcesByLayout(self._columns))
        made(self, "_frames", {})

    @property
    def meetings(self) -> Sequence[Meeting]:
        """See `Stage.meetings`: those of all ways."""
        return [meeting for way in self.ways for stage in way for meeting in stage.meetings]

    def over(self, lookups: Iterator[Lookup]) -> Race:
        """See `Stage.over`."""
        return replace(self, ways=tuple(tuple(stage.over(lookups) for stage in way) for way in self.ways))

    def passed(self, delta: Delta) -> Iterator[Delta]:
        """See `Stage.passed`: what has gone one way after the other."""
        winners, winner = self._run(delta)
        if winner < len(self.ways):
            yield from self._walks[winner].parts(delta)
            return
        for number, walk in enumerate(self._walks):
            rows = np.flatnonzero(winners == number)
            if len(rows):
                yield from walk.parts(delta.take(rows))

    def _run(self, delta: Delta) -> tuple[Ints, int]:
        """Which way each row goes, and which one all go, if it is one."""
        winners, sources = np.empty(delta.length, np.int64), self._sources[delta.layout]
        frame = self._frames.get(delta.layout)
        if frame is None:
            if len(self._frames) >= _MOST:
                self._frames.clear()
            frame = self._frames[delta.layout] = _Frame(self.ways, sources.places, sources.count)
        winner = frame.run(sources.of(delta), winners)
        if winner < 0:  # kernels cannot read some column, or reference, where it lies
            listed, places = source_of([delta.column(column) for column in self._columns])
            winner = _Frame(self.ways, places, 1).run(listed, winners)
        assert winner >= 0, "columns that are there, and those of a run, have places"
        return winners, winner


class _Frame:
    """What the kernel is told, where key columns lie in these `places`, one after the other, of so many sources."""

    __slots__ = ("_held", "_lookups", "_words")

    def __init__(self, ways: Sequence[Sequence[Stage]], places: Ints, sources: int) -> None:
        lookups = [_first(way).lookup for way in ways]
        self._words: Ints = np.zeros(RACE + SEARCH * len(lookups) + SOURCE * sources, np.int64)
        self._words[[NONE, SEARCHES]] = id(None), len(lookups)
        self._lookups, self._held, done = list[tuple[int, Arrangement]](), list[Ints](), 0
        for number, lookup in enumerate(lookups):
            assert isinstance(lookup, Arrangement), "what races is looked up in an index"
            layout, at = lookup.layout, RACE + SEARCH * number
            form = layout.form_of(places[done : done + len(layout.parts)].tolist())
            done += len(layout.parts)
            scratch = np.empty(scratch_words(layout.words), np.int64)
            self._words[[at + FORM, at + PARTS, at + WIDTH]] = form.ctypes.data, len(form), layout.words
            self._words[at + SCRATCH] = scratch.ctypes.data
            self._lookups.append((at, lookup))
            self._held += form, scratch

    def run(self, listed: list[Any], winners: Ints) -> int:
        """What the kernel says of rows whose sources are `listed`, and lets the indexes learn from it."""
        words = self._words
        for at, lookup in self._lookups:
            lookup.learn()
            places, form, parts = lookup.index.run_at()
            _tell(words.data, 8 * (at + STATE), places, 0, form, parts, lookup.index.address)
        words[LISTED] = id(listed)
        said = race(words, winners)
        for at, lookup in self._lookups:
            searched = words.item(at + SEARCHED)
            if searched:
                words[at + SEARCHED] = 0
                lookup.index.note(searched, NOBODY)
        return int(said)


def _first(way: Sequence[Stage]) -> Meeting:
    """The look-up with which a way begins."""
    meeting = way[0]
    assert isinstance(meeting, Meeting), "a way begins with a look-up"
    return meeting
