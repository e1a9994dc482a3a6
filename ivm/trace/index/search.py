"""Searches in an index: what kernels are asked, and how many rows are worked at part by part, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from struct import Struct
from typing import NamedTuple, Protocol

import numpy as np

from ivm.kernels.hashing.keys import FORM, INTEGER
from ivm.kernels.hashing.look_up import (
    AT,
    COUNT,
    EVERY,
    HELD,
    LENGTH,
    LONG,
    LONG_ROOM,
    NO_ROOM,
    OUT,
    ROOM,
    SEARCHED,
    TIRED,
    TOLD,
    VISITED,
    WIDTH,
    frame_words,
    look_up_rows,
)
from ivm.trace.columns.column import NOBODY, Array, Bools, Column, Ints
from ivm.trace.columns.places import places_of
from ivm.trace.helpers import Errands, at_hand, parts

MOST = 1 << 17
"""How many rows of a delta are looked up at once, and how many are found at once, unless those of one key are more."""
_LEAST_ROOM, _SPARE = 16, 1.25
_pack = Struct("32q").pack_into


_MOST_LONG = 1024
_LONG = 4096
"""Rows from which on others may run meanwhile: that is told to the kernel by the length of the frame."""
_SLOWLY = 1 / 16
"""How much the latest number of matches counts where it is below those before."""
_NONE = id(None)
Run = tuple[Ints, Ints]
"""How kernels read the keys of an index's own rows: the form of the key, and where the columns of the store lie."""


class Indexed(Protocol):
    """What is searched; see `Index`."""

    block: Ints
    words: int
    unique: bool
    since: int
    visited: int

    def note(self, searched: int, long: Ints) -> None:
        """Learn from a search."""
        ...


class Asked(NamedTuple):
    """Rows whose keys are looked up: the form of the key, of so many `sources`; see `ivm.kernels.hashing.look_up`.

    `arrays`: of each source its places and references, then what else goes along; `along` of all of these do. `kept` is
    there meanwhile.
    """

    form: Ints
    arrays: list[Array | None]
    sources: int
    along: int
    length: int
    kept: object = None


class Seen(NamedTuple):
    """Up to which row of the store each row sees, and deaths behind which stamp: for all alike, or for each."""

    limit: int
    stamp: int
    limits: Ints | None = None
    stamps: Ints | None = None


class Searched(NamedTuple):
    """What was found for the rows before number `at`, so much: in `out`, whose arrays are `room` apart.

    `every`: each row has found one, and what goes along is not there.
    """

    at: int
    found: int
    every: bool
    out: Ints
    room: int


def asked_of_words(words: Ints, valid: Bools | None) -> Asked:
    """Keys (n, W) that are words already; those that are not `valid` (None: all are) find nothing."""
    columns = [Column(words[:, w], valid if w == 0 else None) for w in range(words.shape[1])]
    return Asked(_form_of_words(words.shape[1]), [places_of(columns), None], 1, 0, len(words), columns)


@cache
def _form_of_words(words: int) -> Ints:
    return np.array([(0, w, INTEGER, w, -1, -1, 0) for w in range(words)], np.int64).reshape(words, FORM)


def seen_of(limits: Ints, stamps: Ints, start: int) -> Seen:
    """What keys from number `start` on see; of length 1 limits and stamps are those of all."""
    limit = limits.item(0) if len(limits) == 1 else 0
    stamp = stamps.item(0) if len(stamps) == 1 else 0
    return Seen(limit, stamp, limits[start:] if len(limits) > 1 else None, stamps[start:] if len(stamps) > 1 else None)


class Search:
    """Searches of one kind. How many a row has found lately is remembered, for the room of the next ones.

    Size: a frame of some KiB.
    """

    __slots__ = ("_idle", "_matches")

    def __init__(self) -> None:
        self._idle: tuple[list[Ints], list[Ints]] = [], []
        self._matches = 1.0

    def run(self, index: Indexed, asked: Asked, seen: Seen, died: Ints, run: Run | None) -> Searched | int:
        """What is found for the first rows, at least one; or why that cannot be told, as the kernel says it.

        Others help with many rows. Cost: about two random accesses a row, one for each further entry that is met, and a
        gather of what goes along.
        """
        form, arrays, sources, along, length, _ = asked
        unique, width = index.unique, index.words
        errands = at_hand(length)
        room, tired = length, NOBODY
        if not unique:
            if errands is None:
                room = room_for(length, self._matches)
            if len(died):
                tired = np.empty(_MOST_LONG * width, np.int64)
        limit, stamp, limits, stamps = seen
        own_form, own_places = run or (NOBODY, NOBODY)
        out: Ints = np.empty((2 + along) * room, np.int64)
        frame = self._frame(frame_words(sources, along, width), length)
        _pack(
            frame.data, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, length, id(out), room, id(index.block), width, unique,
            id(died) if len(died) else 0, limit, 0 if limits is None else id(limits), stamp,
            0 if stamps is None else id(stamps), index.since, id(tired), len(tired) // width, id(form), len(form),
            sources, along, id(arrays), _NONE, 0 if run is None else id(own_form), len(own_form), id(own_places),
        )  # fmt: skip
        if errands is None:
            said, out, room = look_up_all(frame, 0, out, room)
        else:
            said, out, room = look_up_by_parts(errands, frame, out, tired, 0.0 if unique else self._matches)
        at, found, every, _, visited, long, searched, _, _ = frame[:TOLD].tolist()
        self._idle[length >= _LONG].append(frame)
        if said < 0 and said != NO_ROOM:
            return said
        index.visited += visited
        if searched or long:
            index.note(searched, tired[: long * width].reshape(long, width))
        if not unique:
            matches = found / at
            before = self._matches
            self._matches = matches if matches > before else before + (matches - before) * _SLOWLY
        return Searched(at, found, bool(every), out, room)

    def _frame(self, words: int, rows: int) -> Ints:
        """A frame that nobody else uses, for so many rows."""
        is_long = rows >= _LONG
        idle = self._idle[is_long]
        while idle:
            frame = idle.pop()
            if len(frame) >= words:
                return frame
        return np.empty(max(words, _LONG) if is_long else words, np.int64)


def room_for(rows: int, matches: float) -> int:
    """How much room to begin with, where so many rows find so many each."""
    return min(int(rows * matches * _SPARE) + _LEAST_ROOM, MOST)


def look_up_all(frame: Ints, begin: int, out: Ints, room: int) -> tuple[int, Ints, int]:
    """Look up the rows of a frame, from number `begin` on, until there are too many: what the kernel said, and OUT with
    its ROOM, which has become larger where it had to.
    """
    said = look_up_rows(frame)
    while said == NO_ROOM and (room < MOST or not frame.item(COUNT)):
        done, found = frame.item(AT) - begin, frame.item(COUNT)
        wanted = int(found / done * (frame.item(LENGTH) - begin) * _SPARE) if done else 0
        more = max(2 * room, min(wanted, MOST))
        grown: Ints = np.empty(len(out) // room * more, np.int64)
        grown.reshape(-1, more)[:, :found] = out.reshape(-1, room)[:, :found]
        out, room = grown, more
        frame[OUT], frame[ROOM] = id(grown), more
        said = look_up_rows(frame)
    return said, out, room


def look_up_by_parts(errands: Errands, frame: Ints, out: Ints, tired: Ints, matches: float) -> tuple[int, Ints, int]:
    """As `look_up_all`, of a frame that has everything but OUT. Afterwards it tells of all that was found, as if one
    had found it.

    `out` has an array of the frame's LENGTH for all that goes there, as it is needed where `matches` is 0: each row
    finds at most one. Else another one is made, for about so many `matches` a row. `tired` is LONG. Cost: that of
    `look_up_all`, and a copy of what was found but for the first part, where not each row has found exactly one.
    """
    length = frame.item(LENGTH)
    arrays, end = len(out) // length, min(length, max(int(2 * MOST / matches), 1)) if matches else length
    pieces = [_piece(frame, each, out, arrays, matches) for each in parts(end, int(end * max(matches, 1)))]
    errands.all([piece.run for piece in pieces])
    for number, piece in enumerate(pieces):
        if piece.said == NO_ROOM:
            del pieces[number + 1 :]
        elif piece.said < 0:
            return piece.said, out, length
    frame[AT], frame[COUNT] = pieces[-1].frame[AT], sum(len(piece) for piece in pieces)
    frame[EVERY] = frame.item(AT) == length and all(piece.frame.item(EVERY) for piece in pieces)
    for piece in pieces:
        _note(frame, tired, piece)
    return pieces[-1].said, *_together(frame, pieces, out.reshape(arrays, length), matches > 0)


@dataclass(slots=True)
class _Piece:
    """The rows of a frame from number `begin` on, with the room for what they find, and for keys with long chains."""

    frame: Ints
    begin: int
    out: Ints
    room: int
    tired: Ints
    said: int = 0

    def __len__(self) -> int:
        return self.frame.item(COUNT)

    def run(self) -> None:
        self.said, self.out, self.room = look_up_all(self.frame, self.begin, self.out, self.room)


def _piece(whole: Ints, rows: slice, out: Ints, arrays: int, matches: float) -> _Piece:
    """A part of what a frame tells of. Where rows find at most one each, they have their places in the whole room."""
    frame, tired = whole.copy(), np.empty(whole.item(LONG_ROOM) * whole.item(WIDTH), np.int64)
    room, mine = whole.item(LENGTH), out[rows.start :]
    if matches:
        room = room_for(rows.stop - rows.start, matches)
        mine = np.empty(arrays * room, np.int64)
    frame[AT], frame[LENGTH] = rows.start, rows.stop
    frame[OUT], frame[ROOM], frame[LONG] = id(mine), room, id(tired)
    return _Piece(frame, rows.start, mine, room, tired)


def _note(frame: Ints, tired: Ints, piece: _Piece) -> None:
    """Add to what a frame tells of how its rows were found."""
    noted, width = frame.item(TIRED), frame.item(WIDTH)
    more = min(piece.frame.item(TIRED), frame.item(LONG_ROOM) - noted)
    tired[noted * width : (noted + more) * width] = piece.tired[: more * width]
    frame[TIRED] = noted + more
    frame[VISITED] += piece.frame[VISITED]
    frame[SEARCHED] += piece.frame[SEARCHED]
    frame[HELD] = max(frame.item(HELD), piece.frame.item(HELD))


def _together(frame: Ints, pieces: list[_Piece], out: Ints, apart: bool) -> tuple[Ints, int]:
    """What parts have found, behind one another: in rooms `apart`, or each in its place of `out`."""
    every, found, end = frame.item(EVERY), frame.item(COUNT), 0
    if apart:
        out = np.empty((len(out), found), np.int64)
    for piece in pieces:
        if piece.frame.item(EVERY) and not every:
            piece.frame[EVERY] = 0
            look_up_rows(piece.frame)  # it gathers what it has found
        if apart or piece.begin != end:
            there = piece.out.reshape(len(out), piece.room) if apart else out[:, piece.begin :]
            out[:, end : end + len(piece)] = there[:, : len(piece)]
        end += len(piece)
    return out.reshape(-1), out.shape[1]
