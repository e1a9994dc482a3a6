"""What a walk has made of rows: columns that lie in its arena."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ivm.catalog.types import Physical
from ivm.kernels.memory.places import ADDRESS, STRIDE, VALIDITY, WORDS
from ivm.trace.columns.column import DTYPES, Column, Ints
from ivm.trace.columns.computed import Read
from ivm.trace.delta import Source


class Made(Source):
    """Columns of `types`, so many rows of each, whose `places` (columns, WORDS) lie in the `arena` with them.

    `begin`: the address of the arena. A column is an object once somebody asks for it.
    """

    __slots__ = ("_arena", "_begin", "_made", "_places", "_rows", "_types")

    def __init__(self, arena: Ints, begin: int, places: int, types: Sequence[Physical], rows: int) -> None:
        self._arena, self._begin, self._types, self._rows = arena, begin, types, rows
        self._places: Ints = np.ndarray((len(types), WORDS), np.int64, arena, places - begin)
        self._made: dict[int, Column] = {}

    def places(self, columns: Iterable[int]) -> Ints:
        """See `Source.places`."""
        return self._places

    def column(self, index: Read) -> Column:
        """Column `index`."""
        assert not isinstance(index, tuple), "what is made computes nothing"
        column = self._made.get(index)
        if column is None:
            column = self._made[index] = self._column(index)
        return column

    def _column(self, index: int) -> Column:
        place, physical, rows = self._places[index], self._types[index], self._rows
        address, stride, valid = place.item(ADDRESS), place.item(STRIDE), None
        if place.item(VALIDITY):
            valid = np.ndarray((rows,), np.bool_, self._arena, place.item(VALIDITY) - self._begin)
        wide = physical is Physical.WIDE
        shape, strides = ((rows, 2), (stride, 8)) if wide else ((rows,), (stride,))
        return Column(np.ndarray(shape, DTYPES[physical], self._arena, address - self._begin, strides), valid)
