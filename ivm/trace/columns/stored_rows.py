"""Some rows of a store as a source of columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ivm.kernels.memory.places import STRIDE, WORDS
from ivm.trace.columns.column import Column, Ints
from ivm.trace.columns.computed import Read, TextFunction
from ivm.trace.columns.few_texts import MOST_ROWS
from ivm.trace.columns.places import tell_of
from ivm.trace.columns.stored_columns import StoredColumns
from ivm.trace.delta import Source


class StoredRows(Source):
    """A source over some rows of a store; a column is gathered when it is first read, and cold ones stay cold."""

    def __init__(self, columns: StoredColumns, rows: Ints | slice) -> None:
        self._columns = columns
        self._rows = rows
        self._gathered: dict[Read, Column] = {}
        self._places: Ints = np.zeros((columns.wanted.most, WORDS), np.int64)
        self._copies: list[Ints | None] = []
        self._told: set[int] = set()
        self._is_few = isinstance(rows, np.ndarray) and len(rows) <= MOST_ROWS

    @property
    def numbered_by(self) -> int:
        """See `Source.numbered_by`."""
        return self._columns.wanted.numbering

    def places(self, columns: Iterable[int]) -> Ints:
        """See `Source.places`; what was asked for once lies where it did."""
        if not self._told.issuperset(columns):
            self._tell([index for index in columns if index not in self._told])
        return self._places

    def _tell(self, columns: Sequence[int]) -> None:
        """Write down where columns lie from now on."""
        if self._is_few:
            self._read_few()
        places, rows = self._places, self._rows
        missing = [index for index in columns if not places.item(index, STRIDE)]
        if missing and isinstance(rows, np.ndarray) and len(rows) > MOST_ROWS:
            self._copies.append(self._columns.copy_to(places, np.array(missing, np.int64), rows))
        for index in missing:
            if not places.item(index, STRIDE):
                self._columns.wanted.want(index)
                tell_of(self._missing(index), places, index)
        self._told.update(columns)

    def _missing(self, index: int) -> Column:
        """The column of a number, of which nothing is told yet. A function is asked about codes, where these are told,
        so that what it says is remembered for the next time.
        """
        read = self._columns.wanted.numbered(index)
        if read is None:
            return self.column(index)
        column, function = read
        if read not in self._gathered and self._places.item(column, STRIDE) and function.memo is not None:
            self._gathered[read] = function.of_codes(self._columns.gather(column, self._rows))
        return self.column(read)

    def _read_few(self) -> None:
        """Copy a few rows with all of their columns, whoever asks for one: a further call costs more than they do."""
        rows = np.ascontiguousarray(self._rows, np.int64)
        copied = self._columns.copy_to(self._places, self._columns.every, rows)
        self._copies += copied, self._columns.few_texts(rows, self._places)
        self._is_few = False

    def column(self, index: Read) -> Column:
        """Column `index` of the rows, or a function of one."""
        column = self._gathered.get(index)
        if column is None:
            column = self._gathered[index] = self._columns.gather(index, self._rows)
        return column

    def computes(self, index: int, functions: Sequence[TextFunction]) -> int:
        """See `Source.computes`: if the store does, and nobody has read the codes."""
        if index in self._gathered or not self._columns.computes(index, functions):
            return 0
        return self._columns.wanted.numbering

    def number_of(self, index: int, function: TextFunction) -> int:
        """See `Source.number_of`."""
        return self._columns.wanted.number_of(index, function)
