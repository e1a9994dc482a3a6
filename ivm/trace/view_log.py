"""The contents of a view over time: an append-only log of its updates, consolidated when somebody reads it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ivm.catalog.types import Physical, SqlType
from ivm.kernels.memory.updates import LOG_WORDS, RETRACTED, UPDATES
from ivm.trace.columns.arrow import numbers_from
from ivm.trace.columns.column import Array, Bools, Column, Ints, part_of
from ivm.trace.columns.segment import Segment, Segments, columns_to_arrow, segment_of
from ivm.trace.consolidate import EqualRows, merge_equal
from ivm.trace.delta import Delta
from ivm.trace.distinct_rows import DistinctRows
from ivm.trace.log_index import LogIndexes
from ivm.trace.state import State, StateSize
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.text.sweep import WORKED, of_log
from ivm.trace.text.texts import Strings
from ivm.trace.updates import Updates

# A log without retractions seldom shrinks when it is merged, so it may grow further before that is tried.
_GROWTH = 3
_GROWTH_BY_INSERTS = 8
_SPARE_ROWS = 1 << 13
_FUEL = 16
"""Rows that are packed, compared or copied for a merge, for each update appended meanwhile."""
_LEAST_FUEL = 256
_CHUNK = 1 << 16
_BEFORE_ALL = np.iinfo(np.int64).min


@dataclass(slots=True)
class _Reading:
    """What a reader got: the distinct rows as of a time."""

    as_of: int
    columns: list[Column]
    diffs: Ints

    @property
    def nbytes(self) -> int:
        arrays: list[Array] = [self.diffs, *(c.values for c in self.columns)]
        arrays += [c.valid for c in self.columns if c.valid is not None]
        return sum(array.nbytes for array in arrays)


@dataclass(slots=True)
class Sealed:
    """The log as it was sealed: its first `length` updates, which nobody writes to. Readers need no lock.

    `last` is the time of the last commit among them, `kept` how many a merge has left of times that nobody can tell
    apart any more, and `retracted` how many of the others take something back. `is_distinct`: whether no two are of
    equal rows, as far as it is known.

    A memo of what reading makes is kept beside: `reading`, the rows as of a time, and `merged`, updates that say the
    same as those that are sealed. Each of it, and that they are distinct, is true of what is sealed, whatever else is
    read or sealed meanwhile, and put here whole by one store. So any number of readers may make it, without a lock, and
    be interrupted: the one that comes last stays, or none. The next seal goes on from `merged` if it finds it, and only
    adds behind it. That earns its place: of a view of a million rows that commits change, it makes what is read two to
    three times as fast, and spares a compaction.
    """

    types: Sequence[SqlType]
    updates: Updates
    length: int = 0
    since: int = _BEFORE_ALL
    last: int = _BEFORE_ALL
    kept: int = 0
    retracted: int = 0
    is_distinct: bool = True
    reading: _Reading | None = None
    merged: tuple[Updates, int] | None = None

    def rows(self, as_of: int | None) -> tuple[list[Column], Ints]:
        """The distinct rows as of a time (None: the latest) and their multiplicities, int64, all positive.

        AssertionError if a time before `since` is asked for, or if a row was retracted that was not there. Nobody
        writes to the columns. Cost: consolidation of the log, where it was not read before as of then.
        """
        time = self.last if as_of is None else min(as_of, self.last)
        assert as_of is None or as_of >= self.since, f"cannot read a view as of {as_of}: history begins at {self.since}"
        reading = self.reading
        if reading is None or reading.as_of != time:
            reading = self.reading = self._read(time)
        assert (reading.diffs > 0).all(), "a view was told to retract a row that it does not hold"
        return reading.columns, reading.diffs

    @property
    def is_read(self) -> bool:
        """Whether `rows(None)` costs nothing."""
        distinct = self.is_distinct and self.shows_all
        return distinct or (self.reading is not None and self.reading.as_of == self.last)

    @property
    def shows_all(self) -> bool:
        """Whether no history is kept that a reader of the latest time does not see."""
        return self.last <= self.since

    @property
    def settled(self) -> int:
        """How many of the updates are of times up to `since`, see `_settled`."""
        return _settled(self.updates, self.length, self.since)

    @property
    def read_bytes(self) -> int:
        """Bytes of what a reader got, beside the log's."""
        if self.merged is not None:
            return self.merged[0].nbytes
        return 0 if self.reading is None or self.reading.diffs.base is self.updates.diffs else self.reading.nbytes

    def _read(self, time: int) -> _Reading:
        columns, times, diffs = self.updates.part(0, self.length)
        if time == self.last and self.shows_all and self.is_distinct:
            return _Reading(time, columns, diffs)
        if time < self.last:
            early = np.flatnonzero(times <= time)
            columns, diffs = [c.take(early) for c in columns], diffs[early]
        rows, sums = merge_equal(columns, self.types, len(diffs), diffs, None)
        if time < self.last or not self.shows_all:
            return _Reading(time, [c.take(rows) for c in columns], sums)
        if len(rows) == self.length:
            self.is_distinct = True
            return _Reading(time, columns, diffs)
        merged = Updates(self.types)
        merged.append([c.take(rows) for c in columns], time, sums, len(rows))
        self.merged = merged, len(rows)
        columns, _, diffs = merged.part(0, len(rows))
        return _Reading(time, columns, diffs)


class ViewLog(State):
    """Updates (row, time, diff) of rows of `types`, readable as of any time from `since` on, by anybody.

    Times may be in any order within a delta, and never fall behind what has been compacted. Size: at most some four
    times the rows that the last compaction left (nine times where few are retractions) or 8,192, or twice the updates
    since `since`, which stay. A compaction takes time in proportion to all of them, so it comes the more rarely the
    larger the view is, and not before half of them are of times up to `since`; it is done aside, bit by bit, in
    proportion to what is appended. Where no row is taken back it is found out first whether many are equal.

    Kernels append too, once it is marked, by the `words` that tell of it (see `ivm.kernels.memory.updates`).
    """

    def __init__(self, types: Sequence[SqlType], dictionary: TextDictionary) -> None:
        self.types = tuple(types)
        self._dictionary = dictionary
        self.words: Ints = np.zeros(LOG_WORDS, np.int64)
        self._view = self.words.data
        self._compaction: DistinctRows | _Compaction | None = None
        self.sealed = Sealed(self.types, Updates(self.types))
        self.indexes = LogIndexes()
        """What finds what is sealed by values, for who asks for few rows; a memo, too."""

    def __len__(self) -> int:
        """The number of updates in the log."""
        return self.sealed.updates.length

    def append(self, delta: Delta) -> None:
        """Add updates at the end. Cost: copies them, amortized."""
        self._view[RETRACTED] += self.sealed.updates.add(delta)

    def make_room(self, rows: int, lacks: int) -> None:
        """Room for so many more updates; see `Updates.make_room`."""
        self.sealed.updates.make_room(rows, lacks)

    def mark(self) -> int:
        """Where the log ends now, to come back to with `rollback` before the next `seal`; kernels are told where."""
        updates = self.sealed.updates
        self._view[UPDATES] = updates.address
        return updates.length

    def rollback(self, mark: int) -> None:
        """Take back what was appended after `mark`; what is sealed stays."""
        self.sealed.updates.truncate(max(mark, self.sealed.length))

    def rows(self, as_of: int | None) -> tuple[list[Column], Ints]:
        """What was sealed last, see `Sealed.rows`. Needs no lock."""
        return self.sealed.rows(as_of)

    def seal(self, upper: int, since: int) -> None:
        """What was appended is final, and nobody reads as of a time before `since` any more.

        Now and then equal rows at times up to `since` are merged: amortized, a few accesses an update appended.
        """
        old = self.sealed
        length, since = old.updates.length, since if since > old.since else old.since
        if length == old.length and since == old.since:
            return
        self.edition += 1  # before it can be seen, and called again, that this is sealed
        appended, last, taken = length - old.length, old.last, self._view[RETRACTED]
        if appended and upper > last:
            last = upper - 1
        if old.merged is None:
            kept, retracted, distinct = old.kept, old.retracted + taken, old.is_distinct and not appended
            self.sealed = Sealed(self.types, old.updates, length, since, last, kept, retracted, distinct)
        else:
            merged, kept = old.merged
            merged.truncate(kept)
            merged.append(*old.updates.part(old.length, length), appended)
            self._compaction = None
            self.sealed = Sealed(self.types, merged, kept + appended, since, last, kept, taken, not appended)
        self._view[RETRACTED] = 0  # before, it may be too many: they only help to guess
        self._compact(appended)
        if self.indexes:
            self.indexes.tidy(self.sealed.updates)

    def segments(self) -> Iterator[Segment]:
        """The updates that are sealed; see `State.segments`. Those are left out of which nothing is left."""
        return _segments(self.sealed, self._dictionary.now())

    def restore(self, segments: Iterable[Segment]) -> None:
        """Make an empty log what `segments` say. Error if they are of another kind."""
        left, updates = Segments(segments), Updates(self.types)
        found = left.take("log")
        for each in (found, *left.all_of("log")):
            columns = each.columns(self.types, self._dictionary)
            updates.append(columns, each.ints("time"), each.ints("diff"), each.rows)
        since, last, kept, retracted = (found.number(name) for name in ("since", "last", "kept", "retracted"))
        self.sealed = Sealed(self.types, updates, updates.length, since, last, kept, retracted, is_distinct=False)

    def codes(self) -> Iterator[Array]:
        """Those of the texts in rows that are still there as of some time that can be read; see `State.codes`."""
        sealed = self.sealed
        columns, times, diffs = sealed.updates.part(0, sealed.length)
        for column, type_ in zip(columns, self.types, strict=True):
            if type_.physical is Physical.CODE:
                yield from of_log(column.values, times, diffs, sealed.since)

    def size(self) -> StateSize:
        """Updates in the log, and bytes with what readers got and asked for, and what a compaction has made so far."""
        aside = self.indexes.nbytes + (0 if self._compaction is None else self._compaction.nbytes)
        return StateSize(len(self), bytes=self.sealed.updates.nbytes + self.sealed.read_bytes + aside)

    def _compact(self, appended: int) -> None:
        """Go on with a compaction, or begin one where the log is long, and rows are taken back, or are equal.

        One that is interrupted is forgotten: it is begun anew.
        """
        sealed, compaction, self._compaction = self.sealed, self._compaction, None
        if compaction is None:
            often = 4 * sealed.retracted > sealed.length - sealed.kept
            most = (_GROWTH if often else _GROWTH_BY_INSERTS) * (sealed.kept + _SPARE_ROWS)
            # What a snapshot or a name holds cannot be merged; once it is let go, it does not count as rows that stay.
            if sealed.length <= most or sealed.settled <= max(most, sealed.length // 2):
                return
            columns, _, _ = sealed.updates.part(0, sealed.length)
            compaction = _Compaction(sealed) if sealed.retracted else DistinctRows(columns, self.types, sealed.length)
        fuel = _FUEL * appended + _LEAST_FUEL
        if isinstance(compaction, DistinctRows):
            if not compaction.work(fuel):
                self._compaction = compaction
            elif compaction.are_most:
                sealed.kept = compaction.length
            else:
                self._compaction = _Compaction(sealed)
            return
        if not compaction.work(sealed, fuel):
            self._compaction = compaction
            return
        made, length, kept = compaction.made, compaction.made.length, compaction.settled
        _, _, diffs = made.part(kept, length)
        retracted, distinct = int(np.count_nonzero(diffs < 0)), compaction.is_distinct and length == compaction.kept
        self.sealed = Sealed(self.types, made, length, sealed.since, sealed.last, kept, retracted, distinct)


def _settled(updates: Updates, length: int, since: int) -> int:
    """How many of the first updates are of times up to `since`, to guess by: times ascend from commit to commit, but
    may be in any order within one. Cost: a binary search.
    """
    return int(np.searchsorted(updates.times[:length], since, "right"))


def _segments(sealed: Sealed, strings: Strings) -> Iterator[Segment]:
    """See `ViewLog.segments`. A row whose text may be gone is gone itself."""
    scalars = {"since": sealed.since, "last": sealed.last, "kept": sealed.kept, "retracted": sealed.retracted}
    columns, times, diffs = sealed.updates.part(0, sealed.length)
    pairs = zip(columns, sealed.types, strict=True)
    codes = [column.values for column, type_ in pairs if type_.physical is Physical.CODE]
    living = [(each, _living(each, times, diffs, sealed.since)) for each in codes]
    for start in range(0, max(sealed.length, 1), _CHUNK):
        part = slice(start, min(start + _CHUNK, sealed.length))
        left: Array | slice = part
        gone = [~is_there[each[part]] for each, is_there in living]
        if any(each.any() for each in gone):
            left = start + np.flatnonzero(~np.logical_or.reduce(gone))
        arrays = columns_to_arrow([part_of(column, left) for column in columns], sealed.types, strings)
        arrays |= {"time": numbers_from(times[left]), "diff": numbers_from(diffs[left])}
        yield segment_of("log", arrays, scalars)


def _living(codes: Array, times: Ints, diffs: Ints, since: int) -> Bools:
    """By code whether a row that has it is there as of some time from `since` on."""
    living = np.zeros(int(codes.max(initial=0)) + 1, np.bool_)
    for found in of_log(codes, times, diffs, since):
        if found is not WORKED:
            living[found] = True
    return living


class _Compaction:
    """A log that is made anew aside: merged, of what was settled when it began, and then of what follows that."""

    def __init__(self, sealed: Sealed) -> None:
        self._begun = sealed.settled
        self._columns, times, diffs = sealed.updates.part(0, self._begun)
        self.is_distinct = sealed.shows_all
        self._since = sealed.since
        self._times = times
        told_apart = None if sealed.shows_all else times
        self._merge = EqualRows(self._columns, sealed.types, self._begun, diffs, told_apart, sealed.since)
        self._copied = 0
        self.made = Updates(sealed.types)
        self.kept = 0

    @property
    def nbytes(self) -> int:
        return self.made.nbytes + self._merge.nbytes

    @property
    def settled(self) -> int:
        """How many of the updates that the merge has left are of times that nobody could tell apart."""
        return _settled(self.made, self.kept, self._since)

    def work(self, sealed: Sealed, fuel: int) -> bool:
        """Go on for so many rows; whether all that is sealed is in `made` now."""
        merge, made, before = self._merge, self.made, self._merge.done
        merge.add(fuel)
        fuel -= merge.done - before
        if merge.done < self._begun or not fuel:
            return False
        if not self._copied:  # as many are going to come as came before, and large ones grow by themselves
            made.make_room(min(sealed.length, _GROWTH * _SPARE_ROWS), 0)
        if self._copied < merge.count:
            rows, sums = merge.found(self._copied, self._copied + fuel)
            times = np.maximum(self._times[rows], self._since)
            made.append([c.take(rows) for c in self._columns], times, sums, len(rows))
            copied = min(fuel, merge.count - self._copied)
            self._copied, fuel, self.kept = self._copied + copied, fuel - copied, made.length
            if self._copied < merge.count:
                return False
        start = self._begun + made.length - self.kept
        end = min(start + fuel, sealed.length)
        columns, times, diffs = sealed.updates.part(start, end)
        made.append(columns, times, diffs, end - start)
        return end == sealed.length
