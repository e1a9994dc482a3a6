"""Routes: how a delta is carried along loops and look-ups by one call; see `ivm.kernels.step.records`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from struct import Struct
from sys import getrefcount
from typing import Any, Protocol

import numpy as np

from ivm.kernels.compiling.checking import BEYOND, CHECKS, spoil
from ivm.kernels.step.records import (
    ARENA_END,
    AT,
    CHUNK,
    HEAD,
    LEGS,
    LINE_LEGS,
    LINE_TABLE,
    MARKED,
    MOST,
    NO_ARENA,
    NONE,
    OWN_LEGS,
    OWN_TABLE,
    RACE_LEG,
    RACED,
    REACHED,
    TABLE,
    TIME,
    TOLD,
    WANTED,
    edge_words,
)
from ivm.kernels.step.walk import walk
from ivm.trace.columns.column import NOBODY, Array, Ints
from ivm.trace.delta import Delta
from ivm.trace.helpers import Errands, parts

Listed = Sequence[Array | None]
"""Of each group its places and its references, then times and diffs; None where there are none."""
MOST_FOUND = 1 << 17
"""How many rows a look-up finds at once, unless those of one key are more."""
_LEAST, _SPARE = 1 << 10, 4
_pack = Struct("8q").pack_into


class Words(Protocol):
    """What lays out the words of a leg."""

    def more(self, groups: int) -> int:
        """How many groups the edge behind it has, of so many before it."""
        ...

    def words(self, place: int, edges: tuple[int, int], groups: int) -> list[int]:
        """The words of the leg, which stands at a place, between two edges, of which the first has so many groups."""
        ...


class _Line:
    """The words of legs one behind the other, from a place on: of their edges, but for the first, their table, and
    their own. `parts` is where the words of each edge stand.
    """

    def __init__(self, legs: Sequence[Words], groups: int, place: int) -> None:
        """`groups`: how many the first edge has."""
        each, places = [groups], [HEAD, place]
        for leg in legs:
            each.append(leg.more(each[-1]))
            places.append(places[-1] + edge_words(each[-1]))
        self.parts = [slice(begin, begin + edge_words(count)) for begin, count in zip(places, each, strict=False)]
        *self.edges, self.table = places
        self.legs, words = list[int](), list[int]()
        for number, leg in enumerate(legs):
            self.legs.append(self.table + len(legs) + len(words))
            words += leg.words(self.legs[-1], (places[number], places[number + 1]), each[number])
        self.words = [*(0,) * (self.table - place), *self.legs, *words]


class Route:
    """One delta at a time goes along its legs. One thread at a time walks; others use copies.

    `legs` are the places of these, `edges` those of the edges. Size: some hundred words, and what walks need.
    """

    __slots__ = (
        "_chunk", "_earlier", "_given", "_lines", "_parts", "address", "edges", "is_used", "legs", "room", "view",
        "words",
    )  # fmt: skip

    def __init__(self, legs: Sequence[Words], groups: int, lines: Sequence[Sequence[Words]] = ()) -> None:
        """`groups`: how many the first edge has. `lines`: the legs that may follow a race, which is the only leg."""
        own = _Line(legs, groups, HEAD + edge_words(groups))
        self._lines, words = list[_Line](), own.words
        for line in lines:
            self._lines.append(_Line(line, groups, HEAD + edge_words(groups) + len(words)))
            words = words + self._lines[-1].words
        self.words: Ints = np.array([*(0,) * (HEAD + edge_words(groups)), *words], np.int64)
        self.words[[LEGS, TABLE, OWN_LEGS, OWN_TABLE]] = (len(legs), own.table) * 2
        self.words[[MOST, NONE]] = MOST_FOUND, id(None)
        for number, laid in enumerate(self._lines):
            at = own.legs[0] + RACE_LEG + RACED * number
            self.words[[at + LINE_LEGS, at + LINE_TABLE]] = len(laid.legs), laid.table
        self._parts, self.edges, self.legs = own.parts, own.edges, own.legs
        self.room = _LEAST
        """How many words of memory walks have needed."""
        self._be_idle()

    def _be_idle(self) -> None:
        """Be a route that nobody has walked yet, whose words are there."""
        self.address: int = self.words.ctypes.data
        self.view = self.words.data
        self._chunk, self._earlier, self._given = NOBODY, list[Ints](), list[int]()
        self.is_used = False
        """Whether more is left of the walk than memory for the next one, so that somebody has to `end` it."""

    def follow(self, way: int) -> None:
        """Edges and legs are those of the line of a way from now on."""
        line = self._lines[way]
        self._parts, self.edges, self.legs = line.parts, line.edges, line.legs

    def copy(self) -> Route:
        """Another one, for another thread."""
        made = Route.__new__(Route)
        made._lines, made._parts, made.edges, made.legs = self._lines, self._parts, self.edges, self.legs
        made.words, made.room = self.words.copy(), self.room
        made._be_idle()
        return made

    def go(self, listed: Listed, first: int, length: int, time: int = 0, marked: int = 0) -> int:
        """Let rows from `first` up to `length` come in, and go on; see `go_on`. `time`: of all rows.

        `marked`: 1 if the state of its ends is marked, so that they may change it.
        """
        chunk = self._chunk
        if getrefcount(chunk) > _OURS:
            chunk = self._chunk = self._memory()
        if CHECKS:
            spoil(chunk)
        _pack(self.view, 8 * TIME, time, marked, 0, 0, id(chunk), id(listed), first, length)
        said = walk(self.words, length)
        return self.gone(said, length) if said in (NO_ARENA, BEYOND) else said

    def ready(self) -> None:
        """Have memory for walks that somebody else begins."""
        if getrefcount(self._chunk) > _NOBODY_ELSE:
            self._chunk = self._memory()
        spoil(self._chunk)
        self.words[[TOLD, CHUNK]] = 0, id(self._chunk)

    def _memory(self) -> Ints:
        """Memory for a walk, where somebody still has something of what the last one made."""
        self.is_used |= self.room > _MOST_KEPT
        return np.empty(self.room, np.int64)

    def take(self, chunk: Ints) -> None:
        """Have the memory of a walk that `walk_ahead` has begun."""
        self._chunk = chunk
        self.is_used |= len(chunk) > _MOST_KEPT

    def give(self, place: int, word: int) -> None:
        """Tell a word for one walk alone, which else is zero."""
        self.words[place], self.is_used = word, True
        self._given.append(place)

    def go_on(self, rows: int) -> int:
        """What the walk says, about so many rows, where it does not lack memory; see `walk`."""
        while (said := walk(self.words, rows)) == NO_ARENA:
            self.more_memory()
        if said == BEYOND:
            raise IndexError(f"leg {self.at} of a route has met an index that is out of bounds")
        return said

    def gone(self, said: int, rows: int) -> int:
        """What the walk says that somebody else has begun, with whom it lacked memory, or has met what it must not."""
        if said == NO_ARENA:
            self.more_memory()
        return self.go_on(rows) if said in (NO_ARENA, BEYOND) else said

    def more_memory(self) -> None:
        """Memory for what the walk lacks it for."""
        chunk: Ints = np.empty(max(self.words.item(WANTED), self.room), np.int64)
        spoil(chunk)
        self._earlier.append(self._chunk)
        self._chunk, self.is_used = chunk, True
        self.words[CHUNK] = id(chunk)

    @property
    def memory(self) -> int:
        """The `id` of the newest part of the arena."""
        return id(self._chunk)

    @property
    def is_marked(self) -> bool:
        """Whether the state of its ends is marked for the walk under way."""
        return self.words.item(MARKED) != 0

    def mark(self) -> None:
        """The state of its ends is marked now: they may change it on this walk."""
        self.words[MARKED] = 1

    @property
    def at(self) -> int:
        """The leg to go on with; below zero once all is done."""
        return self.words.item(AT)

    def end(self) -> None:
        """All is read of a walk of which more `is_used`. How much memory it needed is remembered, for the next one."""
        chunks, words, room = [*self._earlier, self._chunk], self.words, self.room
        if not words.item(CHUNK):  # else nobody has taken the newest part
            needed = sum(map(len, chunks)) - (words.item(ARENA_END) - words.item(REACHED) >> 3)
            if needed > room:
                room = needed + (needed >> 2)
            self.room = max(min(room, _SPARE * needed), _LEAST)
        if self._earlier or len(self._chunk) > _MOST_KEPT:
            self._chunk, self._earlier = NOBODY, []
        while self._given:
            words[self._given.pop()] = 0
        self.is_used = False

    def edge(self, number: int) -> list[int]:
        """The words of an edge."""
        edge: list[int] = self.words[self._parts[number]].tolist()
        return edge

    def moved(self, address: int, count: int, given: Any = None) -> Ints:
        """So many words at an address: in the arena, or else some of those that were given."""
        chunk = self._chunk
        at = address - self.words.item(ARENA_END) >> 3
        if -len(chunk) <= at < 0:
            at += len(chunk)
            return chunk[at : at + count]
        chunk, begin = self.arena_of(address)
        if not begin:
            assert given is not None, "what nobody has given lies in the arena"
            chunk, begin = given, address if len(given) == count else given.ctypes.data
        at = address - begin >> 3
        return chunk if len(chunk) == count else chunk[at : at + count]

    def arena_of(self, address: int) -> tuple[Ints, int]:
        """The part of the arena in which an address lies, and where that begins; 0 if it is none of the arena's."""
        chunk = self._chunk
        begin = self.words.item(ARENA_END) - 8 * len(chunk)
        if 0 <= address - begin < 8 * len(chunk):
            return chunk, begin
        for chunk in self._earlier:
            begin = chunk.ctypes.data
            if 0 <= address - begin < 8 * len(chunk):
                return chunk, begin
        return NOBODY, 0


class Arenas:
    """Memory for walks that are begun by one call: so many arrays, of at least `room` words, of which `ids` tell.

    Who has one given keeps it; it is renewed before the next call.
    """

    def __init__(self, count: int) -> None:
        self.room = _LEAST
        self._chunks: list[Ints] = [NOBODY] * count
        self.ids: Ints = np.zeros(count, np.int64)
        self._given = list(range(count))

    def renewed(self) -> Ints:
        """The `id`s of all, now that none of them is anybody's."""
        if len(self._chunks[0]) < self.room:
            self._given = list(range(len(self._chunks)))
        for number in self._given:
            self._chunks[number] = np.empty(self.room, np.int64)
            self.ids[number] = id(self._chunks[number])
            if CHECKS:
                spoil(self._chunks[number])
        self._given.clear()
        return self.ids

    def give(self, number: int) -> Ints:
        """The one of a number."""
        self._given.append(number)
        return self._chunks[number]


def listed_of(delta: Delta, head: Sequence[Sequence[int]]) -> list[Array | None]:
    """What a route is told of a delta, of each of whose groups these columns are read."""
    listed: list[Array | None] = []  # in the annotation it costs nothing
    groups = delta.groups
    for number, columns in enumerate(head):  # a zip that is told to be strict takes longer than all else here
        group = groups[number]
        listed += (group.source.places(columns) if columns else NOBODY), group.refs
    listed += (None if isinstance(delta.times, int) else delta.times), delta.diffs
    return listed


_MOST_KEPT = 1 << 14
"""How many words a route keeps for itself."""
_NOBODY_ELSE, _OURS = 2, 3
"""The references that a variable and an argument are; with one that a route keeps."""


def side_by_side(errands: Errands, route: Route, listed: Listed, length: int, time: int = 0) -> list[tuple[Route, int]]:
    """Copies of a route, along which stretches of so many rows have begun to go, and what each has said."""
    stretches = parts(length)
    routes = [route.copy() for _ in stretches]
    said = errands.all(
        [partial(each.go, listed, of.start, of.stop, time) for each, of in zip(routes, stretches, strict=True)]
    )
    return list(zip(routes, said, strict=True))
