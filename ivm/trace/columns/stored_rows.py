"""Some rows of a store as a source of columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ivm.kernels.memory.places import STRIDE, WORDS
from ivm.trace.columns.column import Column, Ints
from ivm.trace.columns.computed import Read, TextFunction
from ivm.trace.columns.places import tell_of
from ivm.trace.columns.stored_columns import StoredColumns
from ivm.trace.delta import Source

_FEW = 1 << 6
"""So many rows are copied with all of their columns, whoever asks for one: a further call costs more than they do."""


class StoredRows(Source):
    """A source over some rows of a store; a column is gathered when it is first read, and cold ones stay cold."""

    def __init__(self, columns: StoredColumns, rows: Ints | slice) -> None:
        self._columns = columns
        self._rows = rows
        self._gathered: dict[Read, Column] = {}
        self._places: Ints = np.zeros((len(columns.types), WORDS), np.int64)
        self._copies: list[Ints] = []
        self._told = set[int]()

    def places(self, columns: Iterable[int]) -> Ints:
        """See `Source.places`; what was asked for once lies where it did."""
        if not self._told.issuperset(columns):
            self._tell([index for index in columns if index not in self._told])
        return self._places

    def _tell(self, columns: Sequence[int]) -> None:
        """Write down where columns lie from now on."""
        places, rows = self._places, self._rows
        missing = [index for index in columns if not places.item(index, STRIDE)]
        if missing and isinstance(rows, np.ndarray) and (len(rows) > _FEW or not self._copies):
            wanted = self._columns.every if len(rows) <= _FEW else np.array(missing, np.int64)
            self._copies.append(self._columns.copy_to(places, wanted, rows))
        for index in missing:
            if not places.item(index, STRIDE):
                tell_of(self.column(index), places, index)
        self._told.update(columns)

    def column(self, index: Read) -> Column:
        """Column `index` of the rows, or a function of one."""
        column = self._gathered.get(index)
        if column is None:
            column = self._gathered[index] = self._columns.gather(index, self._rows)
        return column

    def computes(self, index: int, functions: Sequence[TextFunction]) -> bool:
        """Whether the store does, and nobody has read the codes."""
        return index not in self._gathered and self._columns.computes(index, functions)
