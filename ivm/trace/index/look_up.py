"""How the rows of a delta find their partners in an arrangement: by one step of a kernel, with all that goes along."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from ivm.kernels.hashing.look_up import STRIDED
from ivm.kernels.memory.places import STRIDE, UNREADABLE
from ivm.trace.columns.column import NOBODY, Array, Column, Ints
from ivm.trace.columns.computed import Read
from ivm.trace.columns.places import places_of
from ivm.trace.delta import Delta, Group, Layout, narrowed
from ivm.trace.index.index import Index
from ivm.trace.index.keys import KeyLayout
from ivm.trace.index.search import MOST, Asked, Search, Seen
from ivm.trace.rows.row_store import RowStore
from ivm.trace.time import stamp, stamps

Joined = tuple[Delta | None, int]
"""The rows that were found, if any; and the row of the delta to go on with."""


class Arranged(Protocol):
    """What is looked up in; see `Arrangement`."""

    store: RowStore
    index: Index
    key: tuple[int, ...]
    layout: KeyLayout

    def settle(self) -> None:
        """Wait for what others index, or index it here."""
        ...


class _Key(NamedTuple):
    """How the key of deltas of one layout is read: its form, and of each group the columns of the source.

    `gathered`: what of it, a group and what is read of that, is gathered, and lies behind the groups.
    """

    form: Ints
    columns: tuple[tuple[int, ...], ...]
    gathered: tuple[tuple[int, Read], ...]


class LookUp:
    """Looks the columns `stream` of deltas up in an arrangement; what is found gets bound from column `offset` on.

    `inclusive`: changes at the time of a row itself are seen.
    """

    __slots__ = ("_arrangement", "_inclusive", "_keys", "_offset", "_search", "_stream", "_width")

    def __init__(
        self, arrangement: Arranged, stream: tuple[int, ...], offset: int, width: int, *, inclusive: bool
    ) -> None:
        self._arrangement = arrangement
        self._stream, self._offset, self._width = stream, offset, width
        self._inclusive = inclusive
        self._keys: dict[tuple[Layout, int], _Key] = {}
        self._search = Search()

    def join(self, delta: Delta, start: int) -> Joined | None:
        """What is found for rows from `start` on, of which there is one; None if `Arrangement.look_up` is the way.

        Cost: see `Search.run`.
        """
        if start or delta.length > MOST:
            delta = delta.slice(start, min(start + MOST, delta.length))
        arrangement = self._arrangement
        arrangement.settle()
        index, store = arrangement.index, arrangement.store
        died = store.died
        index.learn(died)
        key = self._keys.get((delta.layout, len(delta.groups))) or self._key_of(delta, set())
        times, run = delta.times, index.run_at()
        if isinstance(times, int):
            as_of = times if self._inclusive else times - 1
            seen = Seen(store.limit(as_of), stamp(as_of))
        else:
            since = times if self._inclusive else times - 1
            seen = Seen(0, 0, store.limits(since), stamps(since))
        found = self._search.run(index, _asked(delta, key), seen, died, run)
        if found == UNREADABLE:
            found = self._search.run(index, _asked(delta, self._gathering(delta)), seen, died, run)
        elif found == STRIDED:
            joined = self.join(_packed(delta), 0)
            return None if joined is None else (joined[0], start + joined[1])
        if isinstance(found, int):
            return None
        at, count, every, out, room = found
        if not count:
            return None, start + at
        rows = Group(store.columns, out[room : room + count])
        if every:
            return delta.bind(rows, self._offset, self._width), start + at
        return self._gathered(delta, out, room, count, rows), start + at

    def _key_of(self, delta: Delta, apart: set[int]) -> _Key:
        """How the key of a delta is read, of which parts are gathered: those `apart`, and functions."""
        layout, columns = delta.layout, [dict[int, None]() for _ in delta.groups]
        gathered, places = list[tuple[int, Read]](), list[tuple[int, int]]()
        for part, column in enumerate(self._stream):
            place = layout.places[column]
            assert place is not None, f"column {column} is not bound"
            group, read = place
            if part in apart or isinstance(read, tuple):
                places.append((len(columns), len(gathered)))
                gathered.append(place)
            else:
                columns[group][read] = None
                places.append((group, read))
        key = _Key(self._arrangement.layout.form_of(places), tuple(map(tuple, columns)), tuple(gathered))
        if not apart:
            self._keys[layout, len(columns)] = key
        return key

    def _gathering(self, delta: Delta) -> _Key:
        """How the key is read of a delta of whose columns some have no places now."""
        apart = set[int]()
        for part, column in enumerate(self._stream):
            place = delta.layout.places[column]
            assert place is not None, f"column {column} is not bound"
            group, read = place
            if isinstance(read, int) and not delta.groups[group].source.places((read,))[read, STRIDE]:
                apart.add(part)
        return self._key_of(delta, apart)

    def _gathered(self, delta: Delta, out: Ints, room: int, found: int, rows: Group) -> Delta:
        """The rows that were found, beside those of the delta that have them, which lie behind one another in `out`."""
        groups, times, diffs = narrowed(delta, delta.groups, out, 2 * room, room, found)
        layout = delta.layout.bind(len(groups), self._offset, self._width)
        groups.append(rows)
        return Delta(groups, layout, found, times, diffs)


def _asked(delta: Delta, key: _Key) -> Asked:
    """What a kernel is asked for the rows of a delta."""
    arrays, along = list[Array | None](), 0
    for group, columns in zip(delta.groups, key.columns, strict=True):
        refs = group.refs
        along += refs is not None
        arrays += (group.source.places(columns) if columns else NOBODY), refs
    kept: list[Column] = []
    if key.gathered:
        kept += (delta.groups[group].column(read) for group, read in key.gathered)
        arrays += places_of(kept), None
    times, diffs = delta.times, delta.diffs
    if not isinstance(times, int):
        arrays.append(times)
        along += 1
    if diffs is not None:
        arrays.append(diffs)
        along += 1
    return Asked(key.form, arrays, len(delta.groups) + bool(kept), along, delta.length, kept)


def _packed(delta: Delta) -> Delta:
    """The same, whose references, times and diffs are of int64, one behind the other."""
    groups = [
        each if each.refs is None else Group(each.source, np.ascontiguousarray(each.refs, np.int64))
        for each in delta.groups
    ]
    times = delta.times if isinstance(delta.times, int) else np.ascontiguousarray(delta.times, np.int64)
    diffs = None if delta.diffs is None else np.ascontiguousarray(delta.diffs, np.int64)
    return Delta(groups, delta.layout, delta.length, times, diffs)
