"""How the rows of a delta find their partners in an arrangement: by one step of a kernel, with all that goes along."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from struct import Struct
from typing import Protocol

import numpy as np

from ivm.kernels.hashing.keys import PART
from ivm.kernels.hashing.look_up import (
    HEAD,
    NEAR,
    NO_ROOM,
    TOLD,
    frame_words,
)
from ivm.trace.columns.column import NOBODY, Array, Ints
from ivm.trace.columns.computed import Read
from ivm.trace.delta import Delta, Group, Layout, in_array, narrowed
from ivm.trace.helpers import at_hand
from ivm.trace.index.index import Index
from ivm.trace.index.keys import KeyLayout
from ivm.trace.index.look_up_parts import MOST, look_up_all, look_up_by_parts, room_for
from ivm.trace.rows.row_store import RowStore
from ivm.trace.time import stamp, stamps

_SLOWLY = 1 / 16
"""How much the latest number of matches counts where it is below those before."""
_MOST_LONG = 1024
_LONG = 4096
"""Rows from which on others may run meanwhile: that is told to the kernel by the length of the frame."""
_INT64 = np.dtype(np.int64)

Joined = tuple[Delta | None, int]
"""The rows that were found, if any; and the row of the delta to go on with."""
_KeyPart = tuple[int, Read, tuple[int, int, int]]
"""Of a part of a key: its group in the delta, what is read of that, and how it is packed."""


class Arranged(Protocol):
    """What is looked up in; see `Arrangement`."""

    store: RowStore
    index: Index
    key: tuple[int, ...]
    layout: KeyLayout

    def settle(self) -> None:
        """Wait for what others index, or index it here."""
        ...


class LookUp:
    """Looks the columns `stream` of deltas up in an arrangement; what is found gets bound from column `offset` on.

    `inclusive`: changes at the time of a row itself are seen. How many a row has found lately is remembered, for the
    room of the next ones; so is whether some were looked for in the index's run. Size: a frame of some KiB.
    """

    __slots__ = (
        *("_arrangement", "_form", "_idle", "_inclusive", "_keys", "_matches", "_offset", "_searches", "_stream"),
        "_width",
    )

    def __init__(
        self, arrangement: Arranged, stream: tuple[int, ...], offset: int, width: int, *, inclusive: bool
    ) -> None:
        self._arrangement = arrangement
        self._stream, self._offset, self._width = stream, offset, width
        self._inclusive = inclusive
        self._form = [(kind, word, half) for _, kind, word, half in arrangement.layout.form(stream).tolist()]
        self._keys: dict[Layout, tuple[_KeyPart, ...]] = {}
        self._idle: tuple[list[Ints], list[Ints]] = [], []
        self._matches = 1.0
        self._searches = False

    def join(self, delta: Delta, start: int) -> Joined | None:
        """What is found for rows from `start` on, of which there is one; None if `Arrangement.look_up` is the way.

        Others help with many rows. Cost: about two random accesses a row, one for each further entry that is met, and a
        gather of all references.
        """
        if start or delta.length > MOST:
            delta = delta.slice(start, min(start + MOST, delta.length))
        self._arrangement.settle()
        found = self._joined(delta)
        if found is None and not self._searches:
            self._searches = True
            found = self._joined(delta)
        return None if found is None else (found[0], start + found[1])

    def _joined(self, delta: Delta) -> Joined | None:
        """What is found for the first rows, at least one; None where the index's run is to be searched by others."""
        arrangement, times = self._arrangement, delta.times
        held: list[object] = []
        index, store = arrangement.index, arrangement.store
        died, unique, width, length = store.died, index.unique, index.words, delta.length
        index.learn(died)
        parts, arrays = self._described(delta, held)
        run = self._in_run(held) if self._searches and index.backlog else ()
        if run is None:
            return None
        errands = at_hand(length)
        count, room, tired = len(arrays) // 2, length, NOBODY
        if not unique:
            if errands is None:
                room = room_for(length, self._matches)
            if len(died):
                tired = np.empty(_MOST_LONG * width, np.int64)
        if isinstance(times, int):
            as_of = times if self._inclusive else times - 1
            seen = store.limit(as_of), 0, stamp(as_of), 0
        else:
            seen = self._seen(times, held)
        behind = HEAD + len(parts) + len(arrays)
        out: Ints = np.empty((2 + count) * room, np.int64)
        frame = self._frame(frame_words(len(self._form), count, width), length)
        _words(behind + len(run)).pack_into(
            frame.data, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, length, id(out), room, id(index.block), width, unique,
            id(died) if len(died) else 0, *seen, index.since, id(tired), len(tired) // width, len(self._form), count,
            behind if run else 0, 0, 0, *parts, *arrays, *run,
        )  # fmt: skip
        if errands is None:
            said, out, room = look_up_all(frame, 0, out, room)
        else:
            said, out, room = look_up_by_parts(errands, frame, out, tired, 0.0 if unique else self._matches)
        at, found, every, _, visited, long, searched, held_blocks, _ = frame[:TOLD].tolist()
        self._idle[length >= _LONG].append(frame)
        if said < 0 and said != NO_ROOM:
            return None
        self._searches = held_blocks > 0
        index.visited += visited
        if searched or long:
            index.note(searched, tired[: long * width].reshape(long, width))
        if not unique:
            matches = found / at
            before = self._matches
            self._matches = matches if matches > before else before + (matches - before) * _SLOWLY
        if not found:
            return None, at
        rows = Group(store.columns, out[room : room + found])
        if every:
            return delta.bind(rows, self._offset, self._width), at
        return self._gathered(delta, out, room, found, rows), at

    def _described(self, delta: Delta, held: list[object]) -> tuple[list[int], list[int]]:
        """The parts of the key and the arrays of the delta, as the frame has them."""
        parts: list[int] = []
        arrays: list[int] = []
        places: list[int] = []
        groups, begin = delta.groups, HEAD + PART * len(self._form)
        for group in groups:
            refs = group.refs
            if refs is None:
                places.append(0)
            else:
                places.append(begin + len(arrays))
                arrays += id(refs) if refs.dtype is _INT64 else _converted(refs, held), 0
        for number, read, form in self._keys.get(delta.layout) or self._key_of(delta.layout):
            where = groups[number].source.where(read, held)
            if where is None:
                parts += (*form, *in_array(groups[number].column(read), held), 0)
            else:
                parts += (*form, *where, places[number])
        times, diffs = delta.times, delta.diffs
        if not isinstance(times, int):
            arrays += id(times) if times.dtype is _INT64 else _converted(times, held), 0
        if diffs is not None:
            arrays += id(diffs) if diffs.dtype is _INT64 else _converted(diffs, held), 0
        return parts, arrays

    def _in_run(self, held: list[object]) -> Sequence[int] | None:
        """The parts of the key as the rows of the store have it; None if kernels find some of them nowhere."""
        parts: list[int] = []
        columns = self._arrangement.store.columns
        for column, form in zip(self._arrangement.key, self._form, strict=True):
            where = columns.where(column, held)
            if where is None:
                return None
            parts += (*form, *where, NEAR)
        return parts

    def _key_of(self, layout: Layout) -> tuple[_KeyPart, ...]:
        found: list[_KeyPart] = []
        for column, form in zip(self._stream, self._form, strict=True):
            place = layout.places[column]
            assert place is not None, f"column {column} is not bound"
            found.append((*place, form))
        key = self._keys[layout] = tuple(found)
        return key

    def _seen(self, times: Ints, held: list[object]) -> tuple[int, int, int, int]:
        """For each row up to which row of the store it sees, and which deaths."""
        as_of = times if self._inclusive else times - 1
        limits, stamped = self._arrangement.store.limits(as_of), stamps(as_of)
        held += (limits, stamped)
        return 0, id(limits), 0, id(stamped)

    def _frame(self, words: int, rows: int) -> Ints:
        """A frame that nobody else uses, for so many rows."""
        is_long = rows >= _LONG
        idle = self._idle[is_long]
        while idle:
            frame = idle.pop()
            if len(frame) >= words:
                return frame
        return np.empty(max(words, _LONG) if is_long else words, np.int64)

    def _gathered(self, delta: Delta, out: Ints, room: int, found: int, rows: Group) -> Delta:
        """The rows that were found, beside those of the delta that have them, which lie behind one another in `out`."""
        groups, times, diffs = narrowed(delta, delta.groups, out, 2 * room, room, found)
        layout = delta.layout.bind(len(groups), self._offset, self._width)
        groups.append(rows)
        return Delta(groups, layout, found, times, diffs)


def _converted(array: Array, held: list[object]) -> int:
    """The `id` of an array as int64."""
    words = array.astype(np.int64, copy=False)
    held.append(words)
    return id(words)


@cache
def _words(count: int) -> Struct:
    return Struct(f"{count}q")
