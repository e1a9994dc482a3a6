"""A look-up of many rows, part by part of them, side by side: each part has a frame of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
    VISITED,
    WIDTH,
    look_up_rows,
)
from ivm.trace.columns.column import Ints
from ivm.trace.helpers import Errands, parts

MOST = 1 << 17
"""How many rows of a delta are looked up at once, and how many are found at once, unless those of one key are more."""
_LEAST_ROOM, _SPARE = 16, 1.25


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
