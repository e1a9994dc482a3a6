"""What a store's rows were at a time: a reader, which nobody has to wait for, and who waits for nobody."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa

from ivm.trace.column import Bools, Ints
from ivm.trace.stored_columns import StoredColumns, StoredRows
from ivm.trace.texts import Strings
from ivm.trace.time import stamp

_CHUNK_ROWS = 1 << 15


class RowsReader:
    """The first `rows` rows of `columns`, but for those that had died by a time; texts are those of `strings`.

    Of all that it reads nothing is written again but deaths at later times: rows are appended behind those that it
    sees, batches are Arrow's, and where rows get other numbers, it keeps what there was. Cost: nothing until it reads.
    """

    def __init__(self, columns: StoredColumns, rows: int, died: Ints, as_of: int, strings: Strings) -> None:
        self._stored = columns
        self._strings = strings
        self._limit = rows
        self._died = died
        self._latest = stamp(as_of)

    def chunks(self) -> Iterator[tuple[StoredRows, int]]:
        """The rows in chunks of at most 32,768, each with its length; their columns are gathered when they are read."""
        for start in range(0, self._limit, _CHUNK_ROWS):
            rows = self._visible(slice(start, min(start + _CHUNK_ROWS, self._limit)))
            yield StoredRows(self._columns, rows), rows.stop - rows.start if isinstance(rows, slice) else len(rows)

    def arrow(self, names: Sequence[str]) -> pa.Table:
        """The rows under these column names; cold columns come straight from their batches."""
        rows = self._visible(slice(0, self._limit))
        columns = [self._columns.arrow(index, rows) for index in range(len(self._columns.types))]
        return pa.table(columns, names=list(names))

    @cached_property
    def _columns(self) -> StoredColumns:
        return self._stored.fixed(self._limit, self._strings)

    def _visible(self, rows: slice) -> Ints | slice:
        """Those of a stretch of rows that had not died; a slice where no row is missing."""
        if len(self._died) == 0:
            return rows
        alive: Bools = self._died[rows] > self._latest
        return rows if alive.all() else rows.start + np.flatnonzero(alive)
