"""The columns of a store's rows as rows come to them, and go again: by batches, in one call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from struct import Struct
from typing import Any

import numpy as np
import pyarrow as pa

from ivm.catalog.types import SqlType
from ivm.kernels.memory.append import DONE, GIVEN, NO_MASK
from ivm.kernels.memory.places import SOURCE, STRIDE, UNREADABLE
from ivm.kernels.step.append import APART, WANTING, append_rows
from ivm.trace.columns.batch import Batch
from ivm.trace.columns.cold_columns import ColdColumns
from ivm.trace.columns.column import NOBODY, Ints
from ivm.trace.columns.coming import Coming
from ivm.trace.columns.computed import ComputedColumns
from ivm.trace.columns.few_texts import WantedTexts
from ivm.trace.columns.growable import HotColumn
from ivm.trace.columns.placed_columns import NOTHING_PLACED, Placed, placed_in
from ivm.trace.columns.places import NONE, Places
from ivm.trace.delta import Delta, Source
from ivm.trace.sources import SourcesByLayout, id_of, source_of
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.time import all_or_each

_DONE = DONE, APART
_pack = Struct("7q").pack_into


class AppendedColumns:
    """Rows 0 to `rows` of columns of `types`, of which some are hot, and others `cold`; see `StoredColumns`."""

    def __init__(
        self, types: Sequence[SqlType], dictionary: TextDictionary, *, cold: bool, wanted: WantedTexts | None = None
    ) -> None:
        self.types = tuple(types)
        self.wanted = wanted or WantedTexts(types, dictionary)
        """What is read of few texts, of those that come as well."""
        self.rows = 0
        self._dictionary = dictionary
        self._cold = ColdColumns(types, dictionary, range(len(types)) if cold else ())
        self._places, self._sources = Places(self.wanted.most), SourcesByLayout(range(len(types)))
        self._rows, self._given = [*self._places.words], np.zeros(GIVEN + SOURCE * len(self._places.words), np.int64)
        self._hot: Mapping[int, HotColumn] = {} if cold else self._empty(range(len(types)))
        self._computed, self._placed = ComputedColumns(), NOTHING_PLACED
        self._newest: tuple[int, Batch] | None = None
        self._coming: Coming | None = None
        self._told, self._wanted = set[int](), set[int]()
        self._edition, self.edition = 0, np.zeros(1, np.int64)
        """Changes when the places that are wanted have to be told anew."""
        self._is_fixed = False

    def _empty(self, indexes: Iterable[int]) -> Mapping[int, HotColumn]:
        return {i: HotColumn(self.types[i].physical, self._rows[i]) for i in indexes}

    def append(
        self, source: Delta | Source, count: int, words: Ints = NOBODY, times: Ints | int = 0, keys: Ints = NOBODY
    ) -> int:
        """Add the `count` rows of `source`. While columns are cold, that is a `Batch`.

        `words`: of the store, to which they come at `times`, which ascend, if many; `keys`: see `append_rows`.
        All of it is done by one call: what `append_rows` has said. Nothing is done where that is above APART.
        """
        if isinstance(source, Delta):
            sources = self._sources[source.layout]
            said = self._append_hot(sources.of(source), sources.places, count, words, times, keys)
            if said in _DONE:
                self.rows += count
            return self._append(source, count, words, times, keys) if said == UNREADABLE else said
        if not isinstance(source, Batch):
            return self._append(source, count, words, times, keys)
        coming, rows = self._coming, self.rows
        if coming is None or coming.batches is not self._cold.batches or coming.version != self._computed.version:
            coming = self._coming = self._lay()
        listed = None if coming is None else [source.places(coming.hot), None]
        lying = source.addresses
        if coming is None or lying is None:
            return self._append(source, count, words, times, keys)
        time, each = all_or_each(times)
        _pack(self._given.data, 0, rows, count, time, id_of(each), 0, id(listed), NONE)
        pieces, told, own = coming.pieces, coming.told, self._places.words
        while (said := append_rows(words, keys, own, coming.reads, self._given, pieces, told, lying)) not in _DONE:
            if not self._makes_way(said, coming.hot, count):
                return self._append(source, count, words, times, keys) if said == UNREADABLE else said
            coming.make_room(count)
        self._newest = rows, source
        if count and len(pieces):
            self._cold.hold(source.rows, lying)
        coming.came(rows + count, like=said == DONE)
        if said == APART:
            self._forget()
        self.rows = rows + count
        return said

    def make_room(self, said: int, rows: int) -> None:
        """Room for what a kernel says is lacking before there can be so many rows, all of whose columns are hot."""
        self._makes_way(said, self._hot, rows - self.rows)

    def came(self, rows: int) -> None:
        """A kernel has written so many rows in all, all of whose columns are hot."""
        for column in self._hot.values():
            column.lengthen(rows)
        self.rows = rows

    def _lay(self) -> Coming | None:
        """What batches come to as of now; None where a function that is kept has no number."""
        version, placed, batches = self._computed.version, self._at_hand(), self._cold.batches
        if placed is None:
            return None
        told = {index: column for index, column in batches.in_place.items() if index in self._told}
        if any(len(column) != len(batches.pieces) for column in told.values()):
            self._forget()
            told = {}
        return Coming(placed, batches, told, in_pieces=bool(self._cold.indexes), version=version)

    def _append(self, source: Delta | Source, count: int, words: Ints, times: Ints | int, keys: Ints) -> int:
        """As `append`, of what does not lie as batches do: its columns are read here, and nothing is told of pieces."""
        columns = [source.column(i) if i in self._hot else None for i in range(len(self.types))]
        said = self._append_hot(*source_of(columns), count, words, times, keys)
        if said not in _DONE:
            return said
        self._computed.append(source.column)
        if isinstance(source, Batch):
            self._forget()
            self._newest, rows = (self.rows, source), source.rows
            if self._cold.indexes:
                for each in (rows,) if isinstance(rows, pa.RecordBatch) else rows.to_batches():
                    self._cold.append(each, source.addresses)
        self.rows += count
        return said

    def _append_hot(
        self, listed: list[Any], reads: Ints, count: int, words: Ints, times: Ints | int, keys: Ints
    ) -> int:
        """Add rows of columns that are hot, as `Sources` says how they are read."""
        time, each = all_or_each(times)
        _pack(self._given.data, 0, self.rows, count, time, id_of(each), 0, id(listed), NONE)
        own, hot = self._places.words, self._hot
        while (said := append_rows(words, keys, own, reads, self._given, NOBODY, NOBODY, own)) not in _DONE:
            if not self._makes_way(said, hot, count):
                return said
        for column in hot.values():
            column.lengthen(self.rows + count)
        return said

    def _makes_way(self, said: int, hot: Mapping[int, HotColumn], count: int) -> bool:
        """Whether what `append_rows` has asked for could be done, of columns that are to have so many rows more."""
        if said == WANTING:
            for index, column in hot.items():
                column.reserve(self.rows + count)
                if not self._rows[index][STRIDE]:  # somebody was interrupted before he told of it
                    column.tell(self._rows[index])
        elif said <= NO_MASK:
            hot[NO_MASK - said].begin_mask()
        else:
            return False
        return True

    def _at_hand(self) -> Placed | None:
        """What has a place here; None if some function has none, or it is not here that rows come."""
        placed: Placed | None = self._placed
        if self._placed.hot is not self._hot or self._placed.version != self._computed.version:
            if self._is_fixed:
                return None
            placed = placed_in(self._rows, self.wanted, self._hot, self._computed, len(self.types))
            self._placed = placed or NOTHING_PLACED
        return placed

    def truncate(self, rows: int) -> None:
        """Cut off the rows from `rows` on, where a batch has begun."""
        self._newest = None
        self._forget()
        self.rows = min(self.rows, rows)
        for column in self._hot.values():
            column.truncate(rows)
        self._cold.truncate(rows)
        self._computed.truncate(rows)

    def _forget(self) -> None:
        """What was told of places holds no longer."""
        self._coming = None
        self._told.clear()
        self._edition += 1
        self.edition[0] = self._edition
