"""What the groups of a straight loop give, one round behind the other, where machine code writes it."""

from __future__ import annotations

import numpy as np

from ivm.kernels.memory.places import ADDRESS
from ivm.kernels.step.drive import BEGIN, CHANGES, FROM, GIVEN, KEYS, LATER, LIE, ROOM, VALUES
from ivm.operators.projection import Given
from ivm.trace.columns.column import Column, Ints
from ivm.trace.columns.places import places_of
from ivm.trace.index.keys import KeyLayout

_LEAST, _MOST = 1 << 8, 1 << 16
_FEW = 1 << 12
"""So many rows are copied for who takes them."""


class GivenRows:
    """Rows of a key, of a value of so many bytes an `item` if that is not 0, of the round in which they come back, and
    of a one; with how often each is added. `frame` tells of them; see `step.drive`.
    """

    def __init__(self, layout: KeyLayout, item: int, frame: Ints) -> None:
        self._layout, self._item, self._frame = layout, item, frame
        self._room, self._taken, self._is_used_up = _LEAST, 0, True
        self._words: Ints = np.empty(0, np.int64)
        self._places = self._begins = self._words
        self.nothing = self._rows(self._words, 0, 0, 0)

    def begin(self) -> None:
        """There are none."""
        if self._is_used_up:
            self._allocate(self._room)
        self._frame[FROM] = self._frame[GIVEN] = self._taken = 0

    def end(self) -> None:
        """All are taken: next time there is less room if most was not needed."""
        if 4 * self._frame.item(GIVEN) < self._room > _LEAST:
            self._room //= 2
            self._is_used_up = True

    def take(self) -> tuple[Given, Ints]:
        """Those that were not taken yet, and how often each is added; they stay as they are."""
        begin, end = self._taken, self._frame.item(GIVEN)
        rows, diffs, self._taken = self.rows(begin, end), self.diffs(begin, end), end
        if end - begin <= _FEW:
            return Given([Column(column.values.copy()) for column in rows.columns]), diffs.copy()
        self._is_used_up = True
        return rows, diffs

    def rows(self, begin: int, end: int) -> Given:
        """Some of the rows."""
        return self._rows(self._words, self._frame.item(ROOM), begin, end)

    def diffs(self, begin: int, end: int) -> Ints:
        """How often some of the rows are added."""
        at = len(self._words) - self._frame.item(ROOM)
        return self._words[at + begin : at + end]

    def make_room(self, wanted: int) -> None:
        """Room for at least so many; those that there are were taken."""
        self._room = min(2 * self._room, _MOST)
        self._allocate(max(self._room, wanted))

    def _allocate(self, room: int) -> None:
        frame, width, valued = self._frame, self._layout.words, bool(self._item)
        self._words = words = np.empty((width + valued + 3) * room, np.int64)
        words[(width + valued + 1) * room : (width + valued + 2) * room] = 1
        at, each = words.ctypes.data, 8 * room
        frame[[KEYS, VALUES, LATER]] = at, at + width * each, at + (width + valued) * each
        frame[CHANGES] = at + (width + valued + 2) * each
        frame[[ROOM, FROM, GIVEN]] = room, 0, 0
        self._taken, self._is_used_up = 0, False
        self._places = places_of(self.rows(0, room).columns)
        self._begins = self._places[:, ADDRESS].copy()
        frame[[LIE, BEGIN]] = self._places.ctypes.data, self._begins.ctypes.data

    def _rows(self, words: Ints, room: int, begin: int, end: int) -> Given:
        width, layout = self._layout.words, self._layout
        at, columns = width * room, layout.cut(words, width * begin, end - begin)
        if self._item:
            values = words[at + begin : at + end]
            columns.append(Column(values.view(np.int32)[::2] if self._item == np.int32().itemsize else values))
            at += room
        later, ones = words[at + begin : at + end], words[at + room + begin : at + room + end]
        return Given([*columns, Column(later), Column(ones)])
