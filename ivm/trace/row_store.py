"""A row store: a collection's rows in columns, appended in the order of time, never moved while anybody reads.

A row comes at a time, and may die at a later one. Since rows come in time order, "came by t" is "row number below
limit(t)"; so any reader as of any time sees row r iff r < limit(t) and died[r] > t, and several versions cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from catalog.errors import Error
from catalog.types import SqlType
from ivm.trace.applied import Applied
from ivm.trace.arrow import to_arrow
from ivm.trace.batch import Batch
from ivm.trace.codes import AT_ONCE
from ivm.trace.cold_columns import ColdColumns
from ivm.trace.column import Array, Bools, Column, Ints, ascending
from ivm.trace.computed import MOST_KEPT, ComputedColumns, TextFunction, compute
from ivm.trace.delta import Columnar, Source
from ivm.trace.dictionary import TextDictionary
from ivm.trace.growable import Growable
from ivm.trace.hot_column import HotColumn
from ivm.trace.in_place import is_readable
from ivm.trace.strings import Strings
from ivm.trace.time import FOREVER, Births

MOST_ROWS = 2**31 - 1
"""How many rows a store has numbers for, dead ones that are not yet compacted included."""
_NOBODY = np.empty(0, np.int64)
_COMPACT_FROM = 100_000
_CONVERT_ROWS = 1 << 15


@dataclass(frozen=True, slots=True)
class Mark:
    """A state of a store to which `rollback` returns."""

    rows: int
    kills: int
    times: int
    last: int


@dataclass(frozen=True, slots=True)
class Compaction:
    """New numbers of rows: r is now mapping[r] (int32, -1 if gone); survivors_before[r] rows below r are left
    (int64).
    """

    mapping: np.typing.NDArray[np.int32]
    survivors_before: Ints
    rows: int


class RowStore(Source):
    """Rows of columns of `types`.

    A column is "hot" if it is kept contiguous, in physical form. With `cold`, columns stay Arrow batches as they came,
    not copied: numbers, dates and timestamps are read there, text and truth values become hot for who reads them by
    row number (`heat`), and leave the batches. Size: the hot values, the batches, and 8 bytes a row once a row has
    died.
    """

    def __init__(self, types: Sequence[SqlType], dictionary: TextDictionary, *, cold: bool = True) -> None:
        self.types = tuple(types)
        self.rows = 0
        self._dictionary = dictionary
        self._cold = ColdColumns(types, dictionary, range(len(types)) if cold else ())
        self._hot = {} if cold else {i: HotColumn(t.physical) for i, t in enumerate(types)}
        self._computed = ComputedColumns()
        self._births = Births()
        self._died: Growable[np.int64] | None = None
        self._kills: list[Applied] = []
        self._dead = 0
        self._compact_at = _COMPACT_FROM
        self._newest: tuple[int, Batch] | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of columns, deaths and times in use."""
        deaths = 0 if self._died is None else self._died.nbytes
        hot = sum(column.nbytes for column in self._hot.values()) + self._computed.nbytes
        return hot + self._cold.nbytes + deaths + self._births.nbytes

    @property
    def last_time(self) -> int:
        """The time of the newest row."""
        return self._births.last

    @property
    def died(self) -> Ints:
        """When each row died, FOREVER if it lives; of length 0 while no row ever died."""
        return _NOBODY if self._died is None else self._died.array[: self.rows]

    @property
    def dead(self) -> int:
        """How many rows have died."""
        return self._dead + sum(len(kills.killed) for kills in self._kills)

    @property
    def killed(self) -> Ints:
        """The rows that have died since the last `commit`, int64."""
        return np.concatenate([_NOBODY, *(kills.killed for kills in self._kills)])

    def is_hot(self, index: int) -> bool:
        """Whether column `index` is kept in physical form."""
        return index in self._hot

    def column(self, index: int) -> Column:
        """Column `index`, all rows; not copied if it is hot, and a cold one stays cold."""
        return self.gather(index, slice(0, self.rows))

    def piece(self, index: int) -> Column | None:
        """Column `index` if it is hot."""
        column = self._hot.get(index)
        return None if column is None else column.column()

    def gather(self, index: int, rows: Array | slice) -> Column:
        """Column `index` of `rows`; a cold column stays cold. A slice of a hot column is not copied."""
        column = self._hot.get(index)
        if column is not None:
            return _part(column.column(), rows)
        if self._newest is not None and isinstance(rows, slice) and rows.start >= self._newest[0]:
            first, batch = self._newest
            return _part(batch.column(index), slice(rows.start - first, rows.stop - first))
        return self._cold.gather(index, rows)

    def heat(self, index: int) -> Iterator[int]:
        """Let column `index` be read by row number without converting values again and again.

        Where that makes it hot it is done bit by bit, yielding the rows of each. Between two bits commits may be made,
        but no rows may get new numbers.
        """
        if is_readable(self.types[index]) or index in self._hot:
            return
        hot = HotColumn(self.types[index].physical)
        while index not in self._hot and len(hot) < self.rows:
            rows = slice(len(hot), min(len(hot) + _CONVERT_ROWS, self.rows))
            hot.append(self._cold.gather(index, rows))
            yield rows.stop - rows.start
        if index not in self._hot:
            self._cold.leave(index)
            self._hot[index] = hot

    def prepare(self, index: int) -> None:
        """`heat` in one go."""
        for _ in self.heat(index):
            pass

    def computes(self, index: int, functions: Sequence[TextFunction]) -> bool:
        """Whether the column is cold, or their values are kept."""
        if index not in self._hot:
            return True
        return bool(self._computed) and all(self._computed.get(index, each) is not None for each in functions)

    def computed(self, index: int, function: TextFunction) -> Column:
        """The function of column `index`, for each row; not copied if it is kept."""
        return self.gather_computed(index, function, slice(0, self.rows))

    def computed_piece(self, index: int, function: TextFunction) -> Column | None:
        """The function of column `index` if its values are kept."""
        kept = self._computed.get(index, function)
        return None if kept is None else kept.column()

    def gather_computed(self, index: int, function: TextFunction, rows: Array | slice) -> Column:
        """The function of column `index` of `rows`: kept, or else computed now."""
        kept = self._computed.get(index, function)
        if kept is not None:
            return _part(kept.column(), rows)
        if index in self._hot:
            return function.of_codes(self.gather(index, rows))
        if isinstance(rows, slice):
            return compute(self._cold.arrays(index, rows), function)
        distinct, places = ascending(rows)
        found = compute(self._cold.arrays(index, distinct), function)
        return found if places is None else found.take(places)

    def keep_computed(self, index: int, functions: Sequence[TextFunction]) -> Iterator[int]:
        """Let functions of text column `index` be read by row number without computing them again and again.

        Their values are kept for as long as the functions are; where the column is hot, or those are many, its codes
        will do. Done bit by bit, as `heat` is.
        """
        more = [function for function in functions if self._computed.get(index, function) is None]
        if more and self._computed.count(index) + len(more) > MOST_KEPT:
            yield from self.heat(index)
        for function in more:
            if index not in self._hot:
                yield from self._kept(index, function)

    def _kept(self, index: int, function: TextFunction) -> Iterator[int]:
        column = HotColumn(function.type.physical)
        while len(column) < self.rows:
            rows = slice(len(column), min(len(column) + _CONVERT_ROWS, self.rows))
            column.append(self.gather_computed(index, function, rows))
            yield rows.stop - rows.start
        self._computed.put(index, function, column)

    def append(self, source: Columnar, count: int, times: Ints | int) -> int:
        """Add the `count` rows of `source`, which came at `times` (ascending if many); the first one's number.

        No time may be before one that came already (ValueError). Error if there are no row numbers left. While columns
        are cold, `source` is a `Batch`.
        """
        first = self.rows
        if first + count > MOST_ROWS:
            raise Error(
                f"cannot add {count} rows to {first}: a table or derived collection holds at most {MOST_ROWS} rows "
                "between compactions; delete rows in commits of their own first"
            )
        self._births.append(times, first, count)
        for i, column in self._hot.items():
            column.append(source.column(i))
        if isinstance(source, Batch):
            self._computed.append(source)
            self._cold.append(source.table)
            self._newest = first, source
        self.rows = first + count
        if self._died is not None:
            self._died.fill(FOREVER, self.rows)
        return first

    def mortal(self, rows: int) -> Ints:
        """`died` for rows up to `rows`, some of them still to be appended, for whoever told `expect` before."""
        if self._died is None:
            self._died = Growable(np.dtype(np.int64))
        self._died.fill(FOREVER, rows)
        return self._died.array

    def expect(self, applied: Applied) -> Applied:
        """Rows are about to die, as `applied` is going to say: those will live again if this is undone."""
        self._kills.append(applied)
        return applied

    def limit(self, time: int) -> int:
        """How many rows had come by `time`."""
        return self._births.limit(time, self.rows)

    def limits(self, times: Ints) -> Ints:
        """`limit` for each of `times`."""
        return self._births.limits(times, self.rows)

    def mark(self) -> Mark:
        """The present state."""
        return Mark(self.rows, len(self._kills), len(self._births), self._births.last)

    def rollback(self, mark: Mark) -> None:
        """Undo every append and death since `mark`, which must not be before the last `commit`."""
        while len(self._kills) > mark.kills:
            if self._died is not None:
                self._died.array[self._kills[-1].killed] = FOREVER
            self._kills.pop()
        for column in self._hot.values():
            column.truncate(mark.rows)
        self._cold.truncate(mark.rows)
        self._newest = None
        self._computed.truncate(mark.rows)
        if self._died is not None:
            self._died.truncate(mark.rows)
        self._births.truncate(mark.times, mark.last)
        self.rows = mark.rows

    def commit(self, since: int) -> None:
        """Make everything final; nobody asks for times before `since` any more."""
        self._dead = self.dead
        self._kills.clear()
        self._births.forget(since)
        self._cold.tidy()
        self._newest = None

    def codes(self, since: int) -> Iterator[Array]:
        """The codes of the texts of rows that live, or died after `since`; see `State.codes`."""
        died = self.died
        for codes in [column.codes() for column in (*self._hot.values(), *self._computed.columns())]:
            for begin in range(0, len(codes), AT_ONCE):
                part = codes[begin : begin + AT_ONCE]
                yield part[died[begin : begin + len(part)] > since] if len(died) else part

    def live(self, as_of: int | None = None) -> Ints | slice:
        """The rows visible as of a time (None: now), ascending; a slice where no row is missing."""
        limit = self.rows if as_of is None else self.limit(as_of)
        if self.dead == 0:
            return slice(0, limit)
        visible: Bools = self.died[:limit] > (FOREVER - 1 if as_of is None else as_of)
        return np.flatnonzero(visible)

    def visible(self, rows: slice, as_of: int) -> Ints | slice:
        """Those of a stretch of rows that had not died by a time; a slice where no row is missing."""
        if self.dead == 0:
            return rows
        alive: Bools = self.died[rows] > as_of
        return rows if alive.all() else rows.start + np.flatnonzero(alive)

    def arrow(self, names: Sequence[str], as_of: int | None = None) -> pa.Table:
        """The visible rows under these column names; cold columns come straight from their chunks."""
        return self.reading(names, as_of)()

    def reading(self, names: Sequence[str], as_of: int | None = None) -> Callable[[], pa.Table]:
        """What makes `arrow` of the rows that are visible now, at any moment, whatever happens to the store meanwhile.

        Of all that it holds on to nothing is written again: rows are appended behind what is hot, batches are Arrow's,
        and rows that get new numbers move to new arrays. So it needs no lock. Cost here: that of `live`.
        """
        hot = {i: column.column() for i, column in self._hot.items()}
        return partial(_arrow, self.types, names, self.live(as_of), hot, self._cold.fixed(), self._dictionary.now())

    def compact(self, since: int) -> Compaction | None:
        """Drop the rows that died by `since` and renumber the others, if that is worth its cost; else None.

        Worth it: more than half of the rows (and 100,000) are dead. Cost: a copy of what is left, amortized over the
        deaths. Only between commits; whoever knows row numbers must renumber them.
        """
        if self.dead < self._compact_at or 2 * self.dead <= self.rows:
            return None
        left: Bools = self.died > since
        survivors_before = np.zeros(self.rows + 1, np.int64)
        np.cumsum(left, out=survivors_before[1:])
        rows = int(survivors_before[-1])
        if 2 * rows > self.rows:
            # A reader holds history back; look again when there is more to gain.
            self._compact_at = self.dead + self.dead // 4
            return None
        self._keep(np.flatnonzero(left), survivors_before)
        return Compaction(np.where(left, survivors_before[:-1], -1).astype(np.int32), survivors_before, rows)

    def _keep(self, rows: Ints, survivors_before: Ints) -> None:
        self._hot = {i: column.keep(rows) for i, column in self._hot.items()}
        self._cold = self._cold.keep(rows)
        self._newest = None
        self._computed.keep(rows)
        died = self.died[rows]
        self._died = None
        self._dead = int(np.count_nonzero(died != FOREVER))
        if self._dead:
            self.mortal(len(rows))[: len(rows)] = died
        self._births.renumber(survivors_before)
        self.rows = len(rows)
        self._compact_at = max(_COMPACT_FROM, self.dead + self.dead // 4)


class StoredRows(Source):
    """A source over some rows of a store; a column is gathered when it is first read, and cold ones stay cold."""

    def __init__(self, store: RowStore, rows: Ints | slice) -> None:
        self._store = store
        self._rows = rows
        self._gathered: dict[int | tuple[int, TextFunction], Column] = {}

    def column(self, index: int) -> Column:
        """Column `index` of the rows."""
        column = self._gathered.get(index)
        if column is None:
            column = self._gathered[index] = self._store.gather(index, self._rows)
        return column

    def computes(self, index: int, functions: Sequence[TextFunction]) -> bool:
        """Whether the store does, and nobody has read the codes."""
        return index not in self._gathered and self._store.computes(index, functions)

    def computed(self, index: int, function: TextFunction) -> Column:
        """The function of column `index` of the rows."""
        column = self._gathered.get((index, function))
        if column is None:
            column = self._store.gather_computed(index, function, self._rows)
            self._gathered[index, function] = column
        return column


def _arrow(
    types: Sequence[SqlType],
    names: Sequence[str],
    rows: Ints | slice,
    hot: Mapping[int, Column],
    cold: ColdColumns,
    strings: Strings,
) -> pa.Table:
    columns: list[pa.ChunkedArray] = []
    for index, type_ in enumerate(types):
        column = hot.get(index)
        values = cold.arrow(index, rows) if column is None else to_arrow(_part(column, rows), type_, strings)
        columns.append(values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values]))
    return pa.table(columns, names=list(names))


def _part(column: Column, rows: Array | slice) -> Column:
    if isinstance(rows, slice):
        return Column(column.values[rows], None if column.valid is None else column.valid[rows])
    return column.take(rows)
