"""Updates, rows with times and diffs, in columns that grow at their end."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Any

import numpy as np

from ivm.catalog.types import Physical, SqlType
from ivm.kernels.memory.append import GIVEN, NO_MASK, append_updates
from ivm.kernels.memory.places import ADDRESS, BIT, SIZE, SOURCE, STRIDE, UNREADABLE, VALIDITY, WORDS
from ivm.kernels.memory.updates import COLUMNS, LENGTH, ROOM
from ivm.trace.columns.column import DTYPES, Column, Ints
from ivm.trace.columns.growable import Growable
from ivm.trace.columns.places import NONE
from ivm.trace.delta import Delta
from ivm.trace.sources import SourcesByLayout, id_of, source_of
from ivm.trace.time import all_or_each

_pack = Struct("7q").pack_into


class Updates:
    """Columns, times and diffs of updates, which grow at their end. Nobody writes to those that are there.

    Kernels are told of them by words at an `address` (see `ivm.kernels.memory.updates`).
    """

    def __init__(self, types: Sequence[SqlType]) -> None:
        number = np.dtype(np.int64)
        kept = [(DTYPES[each.physical], 2 if each.physical is Physical.WIDE else None) for each in types]
        self._values: list[Growable[Any]] = [
            Growable(dtype, width, may_be_stale=True) for dtype, width in (*kept, (number, None), (number, None))
        ]
        """The columns, the times, the diffs."""
        self._valid: list[Growable[np.bool_] | None] = [None] * len(types)
        words: Ints = np.zeros(COLUMNS + WORDS * len(self._values), np.int64)
        self.address: int = words.ctypes.data
        self._words, self._kept = words.data, words[COLUMNS:].reshape(len(self._values), WORDS)
        self._sources = SourcesByLayout(range(len(types)))
        self._given: Ints = np.zeros(GIVEN + SOURCE * len(types), np.int64)

    @property
    def length(self) -> int:
        """How many there are."""
        return self._words[LENGTH]

    @property
    def nbytes(self) -> int:
        """Bytes of what they take."""
        masks = sum(mask is not None for mask in self._valid)
        return self.length * (sum(each.array.strides[0] for each in self._values) + masks)

    def add(self, delta: Delta) -> int:
        """More of them; how many of them take something back."""
        sources, times, diffs = self._sources[delta.layout], delta.times, delta.diffs
        retracted = self._append(sources.of(delta), sources.places, times, diffs, delta.length)
        return self.append(delta.columns(), times, diffs, delta.length) if retracted == UNREADABLE else retracted

    def append(self, columns: Sequence[Column], times: Ints | int, diffs: Ints | None, length: int) -> int:
        """The same, of columns."""
        return self._append(*source_of(columns), times, diffs, length)

    def _append(self, listed: list[Any], reads: Ints, times: Ints | int, diffs: Ints | None, length: int) -> int:
        """The same, of columns as `Sources` says how they are read; UNREADABLE if they are not, and nothing is done."""
        before = self._words[LENGTH]
        end = before + length
        if end > self._words[ROOM]:
            self._make_room(end)
        time, each = all_or_each(times)
        _pack(self._given.data, 0, before, length, time, id_of(each), id_of(diffs), id(listed), NONE)
        while (said := int(append_updates(self._kept, reads, self._given))) <= NO_MASK:
            self.make_room(length, said)
        if said != UNREADABLE:
            self._words[LENGTH] = end
        return said

    def make_room(self, rows: int, lacks: int) -> None:
        """Room for so many more, and what a kernel `lacks` (see `ivm.kernels.memory.append`), if it is a mask."""
        if lacks <= NO_MASK:
            self._begin_mask(NO_MASK - lacks)
        self._make_room(self.length + rows)

    @property
    def times(self) -> Ints:
        """The times, and what lies behind them."""
        return self._values[-2].array

    @property
    def diffs(self) -> Ints:
        """The diffs, and what lies behind them."""
        return self._values[-1].array

    def truncate(self, length: int) -> None:
        """Cut the tail off."""
        self._words[LENGTH] = min(self.length, length)

    def part(self, start: int, end: int) -> tuple[list[Column], Ints, Ints]:
        """Columns, times and diffs of those from `start` to `end`, which nobody writes to."""
        *values, times, diffs = (each.array[start:end] for each in self._values)
        masks = (None if mask is None else mask.array[start:end] for mask in self._valid)
        return [Column(*both) for both in zip(values, masks, strict=True)], times, diffs

    def _begin_mask(self, column: int) -> None:
        """A mask for a column, if it has none: all values were valid so far."""
        if self._valid[column] is None:
            mask = Growable(np.dtype(np.bool_))
            mask.fill(True, self.length)
            self._words[ROOM] = 0
            self._valid[column] = mask

    def _make_room(self, length: int) -> None:
        """Room for so many updates."""
        self._words[ROOM] = 0  # until everything has moved, and it is written down where to
        growing = [each for each in (*self._values, *self._valid) if each is not None]
        for each in growing:
            each.length = self.length
            each.reserve(length)
        for place, each in zip(self._kept, self._values, strict=True):
            place[ADDRESS], place[STRIDE], place[SIZE] = each.array.ctypes.data, *2 * each.array.strides[:1]
        for place, mask in zip(self._kept, self._valid, strict=False):
            place[VALIDITY], place[BIT] = 0 if mask is None else mask.array.ctypes.data, -1
        self._words[ROOM] = min(len(each.array) for each in growing)
