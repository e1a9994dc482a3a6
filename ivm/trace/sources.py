"""Columns of deltas, as kernels are told where they lie: in which source, under which number."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from struct import Struct
from typing import Any

import numpy as np

from ivm.kernels.memory.append import NOTHING
from ivm.kernels.memory.places import SOURCE
from ivm.trace.columns.column import Column, Ints
from ivm.trace.columns.places import places_of
from ivm.trace.delta import Delta, Layout

_MOST = 64


def id_of(array: Any) -> int:
    """What a kernel is told of an array, which the caller holds; 0 if there is none."""
    return 0 if array is None else id(array)


class Sources:
    """The sources of `columns` of deltas of one `layout`: `places` int64 (columns, 2) is of each column in which of
    them it lies, of so many, and under which number. What a function makes of texts lies in one of its own.
    """

    __slots__ = ("_apart", "_groups", "count", "places")

    def __init__(self, columns: Sequence[int], layout: Layout) -> None:
        found = [place for column in columns if (place := layout.places[column]) is not None]
        assert len(found) == len(columns), "some column is not bound"
        self._groups: dict[int, dict[int, None]] = {}
        self._apart: list[int] = []
        for group, index in found:
            if isinstance(index, int):
                self._groups.setdefault(group, {})[index] = None
        numbers, places = {group: number for number, group in enumerate(self._groups)}, list[tuple[int, int]]()
        for column, (group, index) in zip(columns, found, strict=True):
            if isinstance(index, int):
                places.append((numbers[group], index))
            else:
                places.append((len(numbers), len(self._apart)))
                self._apart.append(column)
        self.count = len(numbers) + bool(self._apart)
        self.places: Ints = np.array(places, np.int64).reshape(len(places), 2)

    def of(self, delta: Delta) -> list[Any]:
        """Of each the places of its columns, and its references, or None, as long as somebody has the delta and this.

        Behind them may stand what is to be there meanwhile.
        """
        listed: list[Any] = []
        groups = delta.groups
        for number, columns in self._groups.items():
            group = groups[number]
            listed += group.source.places(columns), group.refs
        if self._apart:
            computed = [delta.column(column) for column in self._apart]
            listed += places_of(computed), None, computed
        return listed


def sources_of(columns: tuple[int, ...], layout: Layout) -> Sources:
    """The sources of columns of deltas of a layout, which remembers them."""
    known = layout.sources
    found: Sources | None = known.get(columns)
    if found is None:
        if len(known) >= _MOST:
            known.clear()
        found = known[columns] = Sources(columns, layout)
    return found


class SourcesByLayout(dict[Layout, Sources]):
    """The sources of the same `columns` of deltas of any layout, of which there are few."""

    def __init__(self, columns: Sequence[int]) -> None:
        super().__init__()
        self._columns = columns

    def __missing__(self, layout: Layout) -> Sources:
        if len(self) >= _MOST:
            self.clear()
        made = self[layout] = Sources(self._columns, layout)
        return made


class Frame:
    """What a kernel is told, `length` words: those that stay, and those that `tell` writes at each step, all of them.

    Behind them is room for so many `sources`. What the words refer to is `held`.
    """

    __slots__ = ("_held", "tell", "words")

    def __init__(self, stays: Sequence[int], length: int, sources: int, *held: object) -> None:
        self.words: Ints = np.zeros(length + SOURCE * sources, np.int64)
        self.words[: len(stays)] = stays
        self.tell = partial(Struct(f"{length - len(stays)}q").pack_into, self.words.data, 8 * len(stays))
        self._held = held


def source_of(columns: Sequence[Column | None]) -> tuple[list[Any], Ints]:
    """The one source that columns are, each under its number: what `Sources` gives for it, and its `places`."""
    reads = [(NOTHING if column is None else 0, number) for number, column in enumerate(columns)]
    return [places_of(columns), None, columns], np.array(reads, np.int64).reshape(len(reads), 2)
