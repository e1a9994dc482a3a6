"""What reads the rows of a store as of a time, and tells when they came and died."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ivm.trace.columns.column import Bools, Ints
from ivm.trace.columns.stored_columns import StoredColumns
from ivm.trace.columns.stored_rows import StoredRows
from ivm.trace.text.texts import Strings
from ivm.trace.time import Births, stamp, times_of

SEGMENT_ROWS = 1 << 16
_CHUNK_ROWS = 1 << 14


class Lives(NamedTuple):
    """When rows came and died after a time: `born` are times, each that of the rows from `first` on, and the rows
    `dead`, ascending, died at `died`.
    """

    since: int
    first: Ints
    born: Ints
    dead: Ints
    died: Ints


class RowsReader:
    """The first `rows` rows of `columns`, but for those that had died by a time; texts are those of `strings`.

    Of all that it reads nothing is written again but deaths at later times: rows are appended behind those that it
    sees, batches are Arrow's, and where rows get other numbers, it keeps what there was. Cost: nothing until it reads.
    """

    def __init__(
        self, columns: StoredColumns, rows: int, died: Ints, as_of: int, strings: Strings, births: Births
    ) -> None:
        self.numbering = columns.numbering
        """What is the same for two readers of a store if a row has the same number for both; it holds no rows."""
        self._stored = columns.held()  # what becomes hot from now on has codes that `strings` may not know
        self._strings = strings
        self._limit = rows
        self._died = died
        self._births = births
        self._as_of = as_of
        self._latest = stamp(as_of)

    def since(self, time: int) -> RowsReader:
        """The same rows, with those that died after a time before."""
        other = copy(self)
        other._latest = min(stamp(time), self._latest)
        return other

    def lives(self, since: int) -> Lives:
        """When those rows came and died that did so after a time that is not forgotten. Cost: a pass over deaths."""
        born, first = self._births.between(since, self._as_of)
        died = self._died[: self._limit]
        dead = np.flatnonzero((died > stamp(since)) & (died <= self._latest))
        return Lives(since, first, born, dead, times_of(died[dead]))

    def chunks(self) -> Iterator[tuple[StoredRows, int]]:
        """The rows in chunks of at most 16,384, each with its length; their columns are gathered when they are read."""
        for rows in self._stretches(0, self._limit, _CHUNK_ROWS):
            yield StoredRows(self._columns, rows), rows.stop - rows.start if isinstance(rows, slice) else len(rows)

    def first(self, names: Sequence[str], most: int) -> pa.Table:
        """At most so many of the rows, of those that have been there longest, as `arrow` has them."""
        there = (rows for rows in self._stretches(0, self._limit, _CHUNK_ROWS) if isinstance(rows, slice) or len(rows))
        some = next(there, slice(0, 0))
        some = slice(some.start, min(some.start + most, some.stop)) if isinstance(some, slice) else some[:most]
        return self._table(names, range(len(self._columns.types)), some)

    def arrow(
        self, names: Sequence[str], wanted: Sequence[int] | None = None, part: int = 0, of: int = 1
    ) -> pa.Table:  # fmt: skip
        """The columns `wanted`, or all, under these names; cold columns come straight from their batches. Of the rows
        one of so many parts, by their numbers.
        """
        rows = self._visible(slice(self._limit * part // of, self._limit * (part + 1) // of))
        return self._table(names, wanted or range(len(self._columns.types)), rows)

    def _table(self, names: Sequence[str], wanted: Sequence[int], rows: Ints | slice) -> pa.Table:
        return pa.table([self._columns.arrow(index, rows) for index in wanted], names=list(names))

    @property
    def rows(self) -> int:
        """How many rows there were, those that had died included."""
        return self._limit

    def living(self) -> Bools:
        """For each row whether it had not died. Cost: a pass over them."""
        if len(self._died) == 0:
            return np.ones(self._limit, np.bool_)
        alive: Bools = self._died[: self._limit] > self._latest
        return alive

    def kept(self, first: int, stop: int) -> Iterator[list[pa.Array]]:
        """Those of the rows from number `first` to `stop` that had not died, at most 65,536 at a time: their columns as
        they are kept.

        So one column may come in arrays of several types, all of which a store takes.
        """
        for rows in self._stretches(first, stop, SEGMENT_ROWS):
            if isinstance(rows, slice) or len(rows):
                yield [self._columns.kept(index, rows) for index in range(len(self._columns.types))]

    @cached_property
    def _columns(self) -> StoredColumns:
        return self._stored.fixed(self._limit, self._strings)

    def _stretches(self, first: int, stop: int, most: int) -> Iterator[Ints | slice]:
        """Those of the rows from number `first` to `stop` that had not died, stretches of at most so many apart."""
        for start in range(first, stop, most):
            yield self._visible(slice(start, min(start + most, stop)))

    def _visible(self, rows: slice) -> Ints | slice:
        """Those of a stretch of rows that had not died; a slice where no row is missing."""
        if len(self._died) == 0:
            return rows
        alive: Bools = self._died[rows] > self._latest
        return rows if alive.all() else rows.start + np.flatnonzero(alive)
