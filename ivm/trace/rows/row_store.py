"""A row store: a collection's rows in columns, appended in the order of time, never moved while anybody reads.

A row comes at a time, and may die at a later one. Since rows come in time order, "came by t" is "row number below
limit(t)"; so any reader as of any time sees row r iff r < limit(t) and died[r] > stamp(t), and several versions cost
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from struct import Struct
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ivm.catalog.errors import Error
from ivm.catalog.types import SqlType
from ivm.kernels.step.append import APART, TIMELESS
from ivm.kernels.step.arrange import MORTAL as MORTAL_ROOM
from ivm.kernels.step.state import DIED, KNOWN, LAST, MORTAL, ROWS_OF, TIMES
from ivm.trace.columns.arrow import numbers_from
from ivm.trace.columns.batch import Batch, Reader, Readers
from ivm.trace.columns.column import NOBODY, Array, Column, Ints
from ivm.trace.columns.growable import Growable
from ivm.trace.columns.segment import Segment, Segments, in_one, segment_of
from ivm.trace.columns.stored_columns import StoredColumns
from ivm.trace.delta import Delta, Source
from ivm.trace.rows.changes import Applied, deaths_of
from ivm.trace.rows.rows_reader import SEGMENT_ROWS, Lives, RowsReader
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.text.sweep import AT_ONCE
from ivm.trace.time import ALIVE, BEGINNING, Births, stamp, stamps, times_of

MOST_ROWS = 2**31 - 1
"""How many rows a store has numbers for, dead ones that are not yet compacted included."""


_pack = Struct("4q").pack_into


StoreMark = tuple[int, int, int, int]
"""A state of a store to which `rollback` returns: its rows, its deaths since the last seal, its times, the last one."""


_Seal = tuple[StoredColumns, Births, Ints, int, int]


class Sealed(NamedTuple):
    """What a store had at `time`, when it was sealed last; nothing of it is written again but later deaths."""

    columns: StoredColumns
    births: Births
    died: Ints
    rows: int
    time: int


class _Deaths(NamedTuple):
    """How many rows had died by the last seal, and who has died since."""

    sealed: int
    kills: list[Applied]


class RowStore:
    """Rows of columns of `types`, which stay as they came where they are `cold` (see `StoredColumns`).

    Size: the columns, the times of births that can be told apart, and 8 bytes a row once a row has died.
    """

    def __init__(self, types: Sequence[SqlType], dictionary: TextDictionary, *, cold: bool = True) -> None:
        self.types = tuple(types)
        self.rows = 0
        self._dictionary = dictionary
        self.columns = StoredColumns(types, dictionary, cold=cold)
        self.words: Ints = np.zeros(ROWS_OF, np.int64)
        """What kernels are told of it; see `ivm.kernels.step.state`."""
        self._births = Births()
        self.words[TIMES:] = self._births.told(self.words, TIMES)
        self._died: Growable[np.int64] = Growable(np.dtype(np.int64), block=self.words)
        self._deaths = _Deaths(0, [])
        self._tell()
        self._seal: _Seal = self.columns, self._births, NOBODY, 0, BEGINNING

    @property
    def nbytes(self) -> int:
        """Bytes of columns, deaths and times in use."""
        return self.columns.nbytes + self._died.nbytes + self._births.nbytes

    @property
    def last_time(self) -> int:
        """The time of the newest row, or a later one that was reached."""
        return self._births.last

    @property
    def died(self) -> Ints:
        """The stamp of each row's death, ALIVE if it lives; of length 0 while no row ever died."""
        return self._died.array[: self.rows] if self._died.length else NOBODY

    @property
    def died_at(self) -> int:
        """Where `died` lies; 0 while no row ever died."""
        return self.words.item(DIED) if self._died.length else 0

    @property
    def dead(self) -> int:
        """How many rows have died."""
        dead, kills = self._deaths
        for each in kills:
            dead += each.dead
        return dead

    @property
    def killed(self) -> Ints:
        """The rows that have died since the last `seal`, int64."""
        kills = self._deaths.kills
        return np.concatenate([each.killed for each in kills]) if kills else NOBODY

    @property
    def unsealed(self) -> int:
        """How many rows have come or died since the last `seal`."""
        return self.rows - self._sealed.rows + self.dead - self._deaths.sealed

    @property
    def _sealed(self) -> Sealed:
        return Sealed(*self._seal)

    def gather(self, index: int, rows: Array | slice) -> Column:
        """Column `index` of `rows`; see `StoredColumns.gather`."""
        return self.columns.gather(index, rows)

    def append(self, source: Delta | Source, count: int, times: Ints | int) -> int:
        """Add the `count` rows of `source`, which came at `times` (ascending if many); the first one's number.

        No time may be before one that came already (ValueError). Error if there are no row numbers left. While columns
        are cold, `source` is a `Batch`.
        """
        first = self.rows
        said = self.take(source, count, times)
        assert said <= APART, "rows are not taken that need not be new"
        return first

    def take(self, source: Delta | Source, count: int, times: Ints | int, keys: Ints = NOBODY) -> int:
        """As `append`; or nothing is done, if the order of their keys does not prove rows new: what `append_rows` says.

        `keys`: see there.
        """
        first = self.rows
        if first + count > MOST_ROWS:
            raise Error(
                f"cannot add {count} rows to {first}: a table or derived collection holds at most {MOST_ROWS} rows "
                "between compactions; delete rows in commits of their own first"
            )
        births, rows = self._births, first + count
        if not isinstance(times, int) and not count:
            times = births.last
        earliest = times if isinstance(times, int) else int(times[0])
        if earliest < births.last:
            births.reach(earliest, first)  # which says what is wrong
        if 0 < self._died.length < rows:
            self.mortal(rows)
        while (said := self.columns.append(source, count, self.words, times, keys)) == TIMELESS:
            births.make_room(1 if isinstance(times, int) else count)
        if said > APART:
            return said
        self._born()
        self.rows = rows
        return said

    def make_room(self, said: int, count: int, times: int) -> None:
        """Room for what a kernel says is lacking before `count` rows can come, at so many times, all of whose columns
        are hot.
        """
        if said == TIMELESS:
            self._births.make_room(times)
        elif said == MORTAL_ROOM:
            self.mortal(self.rows + count)
        else:
            self.columns.make_room(said, self.rows + count)

    def came(self, count: int) -> None:
        """A kernel has added `count` rows, all of whose columns are hot."""
        self._born()
        self.rows += count
        self.columns.came(self.rows)

    def _born(self) -> None:
        """A kernel has written down when rows came."""
        last, births = self.words.item(LAST), self._births
        if last != births.last:
            births.came(last, self.words.item(KNOWN))

    def reach(self, time: int) -> None:
        """No row comes before `time` any more."""
        births, rows = self._births, self.rows
        if time > births.last:
            births.reach(time, rows)
            _pack(self.words.data, 8 * MORTAL, self._died.length > 0, rows, time, births.times.length)

    def mortal(self, rows: int) -> Ints:
        """`died` for rows up to `rows`, some of them still to be appended, for whoever told `expect` before."""
        self._died.skip(rows)
        self.words[MORTAL] = self._died.length > 0
        return self._died.array

    def _tell(self) -> None:
        """Write down what kernels are told, but for where deaths lie."""
        births = self._births
        _pack(self.words.data, 8 * MORTAL, self._died.length > 0, self.rows, births.last, births.times.length)

    def expect(self, applied: Applied) -> Applied:
        """Rows are about to die, as `applied` is going to say: those will live again if this is undone."""
        self._deaths.kills.append(applied)
        return applied

    def limit(self, time: int) -> int:
        """How many rows had come by `time`."""
        return self._births.limit(time, self.rows)

    def limits(self, times: Ints) -> Ints:
        """`limit` for each of `times`."""
        return self._births.limits(times, self.rows)

    def mark(self) -> StoreMark:
        """Where the store is now."""
        births = self._births
        return self.rows, len(self._deaths.kills), births.times.length, births.last

    def rollback(self, mark: StoreMark) -> None:
        """Undo every append and death since `mark`, which must not be before the last `seal`."""
        kills, (rows, known, times, last) = self._deaths.kills, mark
        while len(kills) > known:
            if self._died.length:
                self._died.array[kills[-1].killed] = ALIVE
            kills.pop()
        self.rows = rows
        self.columns.truncate(rows)
        self._died.truncate(rows)
        self._births.truncate(times, last)
        self._tell()

    def seal(self, upper: int, since: int) -> None:
        """Make everything final; nobody asks for times before `since` any more."""
        if self._deaths.kills:
            self._deaths = _Deaths(self.dead, [])
        births, columns = self._births, self.columns
        if births.times.length >= births.look_from:
            births = self._since(since)
        columns.tidy()
        died = self._died.array[: self.rows] if self._died.length else NOBODY  # without a call, as each commit asks
        time = self._seal[-1]
        self._seal = columns, births, died, self.rows, time if time >= upper else upper - 1

    def _since(self, since: int) -> Births:
        """The births, when those before `since` are forgotten."""
        births, words = self._births.since(since), self.words
        told, known = births.told(words, TIMES), births.times.length
        # In one line, for nothing is raised between stores: kernels find those arrays that are written to.
        self._births, words[TIMES:], words[KNOWN] = births, told, known
        self._tell()
        return births

    def kill(self, rows: Ints, stamps: Ints) -> None:
        """The living rows `rows` die, as `stamps` say."""
        died = self.mortal(self.rows)
        self.expect(deaths_of(rows, stamps))
        died[rows] = stamps

    def empty(self) -> RowStore:
        """A store of the same kind without rows."""
        made = RowStore(self.types, self._dictionary)
        made.columns = self.columns.empty()
        return made

    def copy_from(self, other: RowStore, stretch: slice, rows: Ints) -> None:
        """Add the rows `rows` of `other`, ascending, which are those that are left of a stretch of it."""
        first, stamps = self.rows, other.died[rows]
        self._births.copy_from(other._births, stretch, rows, first)
        self.columns.copy_from(other.columns, rows)
        if self._died.length:
            self.mortal(first + len(rows))
        self.rows = first + len(rows)
        self._tell()
        dead = np.flatnonzero(stamps != ALIVE)
        if len(dead):
            self.kill(first + dead, stamps[dead])

    def adopt(self, other: RowStore) -> None:
        """Hold the rows of `other` from now on; both are sealed. Readers keep what they have."""
        self.columns, self._births = other.columns, other._births
        self.words, self._died = other.words, other._died
        self._deaths, self.rows = other._deaths, other.rows
        self._seal = *other._seal[:-1], self._seal[-1]

    def hold(self, columns: StoredColumns) -> None:
        """Hold these columns of the same rows, which are sealed. Done again, it changes nothing."""
        columns.take_over(self.columns)
        self.types, self.columns = columns.types, columns
        self._seal = columns, *self._seal[1:]

    def codes(self, since: int) -> Iterator[Array]:
        """The codes of the texts of rows that live, or died after `since`; see `State.codes`."""
        died, latest = self.died, stamp(since)
        for codes in self.columns.codes():
            for begin in range(0, len(codes), AT_ONCE):
                part = codes[begin : begin + AT_ONCE]
                yield part[died[begin : begin + len(part)] > latest] if len(died) else part

    def segments(self, since: int) -> Iterator[Segment]:
        """The sealed rows that had not died by `since`, with when they came and died, as far as that is known.

        Nothing that is read afterwards is written again but deaths at later times. Cost of the call: lists batches.
        """
        sealed = self._sealed
        columns = sealed.columns.fixed(sealed.rows, self._dictionary.now())
        return _segments(sealed._replace(columns=columns), sealed.births.last, since)

    def restore(self, segments: Segments) -> tuple[int, int]:
        """Take the rows that `segments` gave, into an empty store; up to which time, and since when, they are known."""
        head = segments.take("rows")
        readers = Readers([Reader(each, self._dictionary) for each in self.types])
        for _ in range(head.number("parts")):
            part = segments.take("rows.part")
            if part.batch.num_columns != len(self.types) + 2:
                raise Error(
                    f"cannot restore rows of {len(self.types)} columns from a segment of {part.batch.num_columns - 2}; "
                    "the segments were written for another plan"
                )
            if part.rows == 0:
                continue
            first, gone = self.rows, stamps(part.ints("gone"))
            rows = pa.RecordBatch.from_arrays(part.batch.columns[:-2], names=[*map(str, range(len(self.types)))])
            self.append(Batch(rows, readers), part.rows, part.ints("born"))
            dead = np.flatnonzero(gone != ALIVE)
            if len(dead):
                self.kill(first + dead, gone[dead])
        self._births.last = head.number("last")
        self._tell()
        return head.number("time"), head.number("since")

    def load(self, batches: Iterable[pa.RecordBatch], dead: Ints, time: int, lives: Lives | None = None) -> None:
        """Take rows as `RowsReader.kept` gave them, which stay where they are, into an empty store; `dead` are gone.

        Nothing is known of what was before `time`, but for what `lives` says.
        """
        readers, since = Readers([Reader(each, self._dictionary) for each in self.types]), time
        if lives is not None:
            since = lives.since
        for batch in batches:
            self.append(Batch(batch, readers), batch.num_rows, since)
        gone = np.full(len(dead), stamp(since))
        if lives is not None:
            self._births.restore(lives.born, lives.first)
            gone[np.searchsorted(dead, lives.dead)] = stamps(lives.died)
        self.reach(time)
        self._tell()
        if len(dead):
            self.kill(dead, gone)

    def reader(self, as_of: int | None = None) -> RowsReader:
        """The rows as of a time before the last `seal` (None: then), whatever happens to the store. Needs no lock."""
        while True:
            strings, sealed = self._dictionary.now(), self._sealed
            time = sealed.time if as_of is None else as_of
            limit = sealed.births.limit(time, sealed.rows)
            reader = RowsReader(sealed.columns, limit, sealed.died, time, strings, sealed.births)
            if strings is self._dictionary.now():  # else codes that it has may be newer, or have been given out again
                return reader


def _segments(sealed: Sealed, last: int, since: int) -> Iterator[Segment]:
    """See `RowStore.segments`; `last` is the time up to which rows had come."""
    starts = range(0, sealed.rows, SEGMENT_ROWS)
    yield segment_of("rows", {}, {"parts": len(starts), "last": last, "time": sealed.time, "since": since})
    for start in starts:
        stretch = slice(start, min(start + SEGMENT_ROWS, sealed.rows))
        rows, stamps = _left(sealed, stretch, since)
        arrays = {f"c{i}": in_one(sealed.columns.arrow(i, rows)) for i in range(len(sealed.columns.types))}
        numbers = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
        arrays["born"] = numbers_from(sealed.births.times_at(numbers))
        arrays["gone"] = numbers_from(times_of(stamps))  # beyond all times if they live
        yield segment_of("rows.part", arrays)


def _left(sealed: Sealed, stretch: slice, since: int) -> tuple[Ints | slice, Ints]:
    """Those of a stretch of rows that had not died by `since`, with the stamps of their deaths as of the seal."""
    stamps = sealed.died[stretch]
    if len(stamps) == 0:
        return stretch, np.full(stretch.stop - stretch.start, ALIVE)
    stamps = np.where(stamps > stamp(sealed.time), ALIVE, stamps)
    left = stamps > stamp(since)
    return (stretch, stamps) if left.all() else (stretch.start + np.flatnonzero(left), stamps[left])
