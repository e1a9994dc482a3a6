"""A batch of rows as it came, an Arrow table: the source of what a commit changes."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from ivm.trace.arrow import Reader
from ivm.trace.column import Column, Ints
from ivm.trace.computed import Read, TextFunction, compute
from ivm.trace.delta import Source
from ivm.trace.sequences import numbers_from


class Batch(Source):
    """A source over an Arrow table of one batch; a column is made when it is first read, then kept."""

    def __init__(self, table: pa.Table, readers: Sequence[Reader]) -> None:
        self.table = table
        self._readers = readers
        self._made: dict[Read, Column] = {}
        self._by_bytes: dict[int, bool] = {}

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def column(self, index: Read) -> Column:
        """Column `index` in physical form, or a function of one, computed in the better of both ways."""
        column = self._made.get(index)
        if column is None:
            column = self._made[index] = self._computed(*index) if isinstance(index, tuple) else self._converted(index)
        return column

    def computes(self, index: int, functions: Sequence[TextFunction]) -> bool:
        """Whether they are computed already, or the column's bytes are to be read (see `TextHabit`)."""
        if index in self._made:
            return False
        if all((index, function) in self._made for function in functions):
            return True
        return self._reads_bytes(index, all(function.light for function in functions))

    def _converted(self, index: int) -> Column:
        column = self._readers[index].read(self.table.column(index))
        if self._by_bytes.get(index):
            self._readers[index].habit.encoded()
        return column

    def _computed(self, index: int, function: TextFunction) -> Column:
        if index not in self._made and self._reads_bytes(index, function.light):
            return compute(self.table.column(index).chunks, function)
        return function.of_codes(self.column(index))

    def _reads_bytes(self, index: int, light: bool) -> bool:
        known = self._by_bytes.get(index)
        if known is None:
            known = self._by_bytes[index] = self._readers[index].habit.by_bytes(self.table.column(index), light)
        return known

    def take(self, rows: Ints) -> Batch:
        """The batch of the rows at `rows`."""
        taken = Batch(self.table.take(numbers_from(rows)), self._readers)
        taken._made = {index: column.take(rows) for index, column in self._made.items()}
        taken._by_bytes = dict(self._by_bytes)
        return taken
