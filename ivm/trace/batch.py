"""A batch of rows as it came, an Arrow table: the source of what a commit changes."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from ivm.trace.arrow import Reader
from ivm.trace.column import Column, Ints
from ivm.trace.computed import TextFunction, compute
from ivm.trace.delta import Source
from ivm.trace.sequences import numbers_from


class Batch(Source):
    """A source over an Arrow table of one batch; a column is converted when it is first read, then kept."""

    def __init__(self, table: pa.Table, readers: Sequence[Reader]) -> None:
        self.table = table
        self._readers = readers
        self._converted: dict[int, Column] = {}
        self._computed: dict[tuple[int, TextFunction], Column] = {}
        self._by_bytes: dict[int, bool] = {}

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def column(self, index: int) -> Column:
        """Column `index` in physical form."""
        column = self._converted.get(index)
        if column is None:
            column = self._converted[index] = self._readers[index].read(self.table.column(index))
            if self._by_bytes.get(index):
                self._readers[index].habit.encoded()
        return column

    def computes(self, index: int, functions: Sequence[TextFunction]) -> bool:
        """Whether they are computed already, or the column's bytes are to be read (see `TextHabit`)."""
        if index in self._converted:
            return False
        if all((index, function) in self._computed for function in functions):
            return True
        return self._reads_bytes(index, all(function.light for function in functions))

    def computed(self, index: int, function: TextFunction) -> Column:
        """The function of column `index`, computed when it is first asked for, in the better of both ways."""
        column = self._computed.get((index, function))
        if column is None:
            if index not in self._converted and self._reads_bytes(index, function.light):
                column = compute(self.table.column(index).chunks, function)
            else:
                column = function.of_codes(self.column(index))
            self._computed[index, function] = column
        return column

    def _reads_bytes(self, index: int, light: bool) -> bool:
        known = self._by_bytes.get(index)
        if known is None:
            known = self._by_bytes[index] = self._readers[index].habit.by_bytes(self.table.column(index), light)
        return known

    def take(self, rows: Ints) -> Batch:
        """The batch of the rows at `rows`."""
        taken = Batch(self.table.take(numbers_from(rows)), self._readers)
        taken._converted = {i: column.take(rows) for i, column in self._converted.items()}
        taken._computed = {key: column.take(rows) for key, column in self._computed.items()}
        taken._by_bytes = dict(self._by_bytes)
        return taken
