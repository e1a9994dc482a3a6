"""Record batches one after the other, whose columns are read by row number where they lie."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from ivm.kernels.memory.places import WORDS
from ivm.trace.columns.column import Ints
from ivm.trace.columns.growable import Growable
from ivm.trace.columns.in_place import InPlace, Pieces
from ivm.trace.columns.placed_texts import PlacedTexts

FAN, SEALED = 32, 9
"""How many batches are put together at once, and the level of one that stays as it is."""


class Lying:
    """Of batches one after the other the addresses of places that say where the texts of some columns lie.

    `block` tells of them. Size: 8 bytes a batch, and places where these are not known anyway.
    """

    def __init__(self, columns: frozenset[int] = frozenset()) -> None:
        self.columns = columns
        self.block: Ints = np.zeros(2, np.int64)
        self.addresses: Growable[np.int64] = Growable(np.dtype(np.int64), block=self.block)
        self._places: list[Ints] = []

    def add(self, number: int, places: Ints) -> None:
        """Those of the next batch, which is this one."""
        self._places[number:] = [places]
        self.addresses.push(places.ctypes.data)

    def truncate(self, count: int) -> None:
        """Forget all but the first `count` batches."""
        self.addresses.truncate(count)

    def first(self, count: int) -> Lying:
        """The first `count` batches."""
        made, known = Lying(self.columns), self.addresses.view()[:count]
        made._places = self._places[: len(known)]
        made.addresses.append(known)
        return made


@dataclass(slots=True)
class Batches:
    """Record batches one after the other: of each where it begins, how often it was put together, and where its columns
    lie, as far as that is known (see `Located`), and the texts of columns, once somebody has asked.

    `in_place`: the columns that are read where they lie; `lying`: where texts lie of which few rows are read.
    """

    batches: list[pa.RecordBatch] = field(default_factory=list)
    levels: list[int] = field(default_factory=list)
    places: list[Ints | None] = field(default_factory=list)
    texts: list[dict[int, PlacedTexts | None]] = field(default_factory=list)
    pieces: Pieces = field(default_factory=Pieces)
    in_place: dict[int, InPlace] = field(default_factory=dict)
    lying: Lying = field(default_factory=Lying)

    def truncate(self, rows: int) -> None:
        """Cut off the batches from row `rows` on, where one begins, and whatever was left half pushed."""
        count = len(self.pieces)
        while count and self.pieces.start(count - 1) >= rows:
            count -= 1
        for column in self.in_place.values():
            column.truncate(count)
        self.pieces.truncate(count)
        self.lying.truncate(count)
        del self.batches[count:], self.levels[count:], self.places[count:], self.texts[count:]

    def first(self, rows: int) -> Batches:
        """The first `rows` rows, as they are now."""
        count = self.pieces.piece_of(rows - 1) + 1 if rows else 0
        levels, texts = [SEALED] * count, [dict(each) for each in self.texts[:count]]
        return Batches(self.batches[:count], levels, self.places[:count], texts, self.pieces.first(count))

    def wider(self, more: Mapping[str, pa.Scalar]) -> Batches:
        """The same rows, each with these values in further columns behind the others. Cost: writes these columns."""
        count, most = len(self.batches), max((batch.num_rows for batch in self.batches), default=0)
        whole = {name: pa.repeat(value, most) for name, value in more.items()}
        batches = []
        for batch in self.batches:
            arrays = [array.slice(0, batch.num_rows) for array in whole.values()]
            names = [*batch.schema.names, *whole]
            batches.append(pa.RecordBatch.from_arrays([*batch.columns, *arrays], names=names))
        unknown = np.zeros((len(more), WORDS), np.int64)
        places = [None if each is None else np.concatenate([each, unknown]) for each in self.places]
        pieces = self.pieces.first(count)
        in_place = {index: column.first(count, pieces) for index, column in self.in_place.items()}
        return Batches(batches, list(self.levels), places, [{} for _ in batches], pieces, in_place)

    def with_together(self, first: int, whole: pa.RecordBatch, level: int) -> Batches:
        """The same rows, those of so many batches from number `first` on in one. Columns that are read in place are to
        follow.
        """
        batches = [*self.batches[:first], whole, *self.batches[first + FAN :]]
        levels = [*self.levels[:first], level, *self.levels[first + FAN :]]
        places = [*self.places[:first], None, *self.places[first + FAN :]]
        texts = [*self.texts[:first], {}, *self.texts[first + FAN :]]
        pieces = self.pieces.joined(first, FAN)
        return Batches(batches, levels, places, texts, pieces, self.in_place, self.lying.first(first))

    def ready(self) -> int | None:
        """The first of so many small batches of one level side by side, if there are any among the newest."""
        at = len(self.levels)
        while at and self.levels[at - 1] != SEALED:
            end, level = at, self.levels[at - 1]
            while at and self.levels[at - 1] == level:
                at -= 1
            if end - at >= FAN:
                return at
        return None
