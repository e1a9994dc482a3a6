"""The contents of a view over time: an append-only log of its updates, consolidated when somebody reads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from catalog.types import SqlType
from ivm.trace.column import Array, Column, Ints
from ivm.trace.consolidate import merge_equal
from ivm.trace.delta import Delta, delta_of
from ivm.trace.growable import Growable
from ivm.trace.hot_column import HotColumn
from ivm.trace.size import StateSize

# A log without retractions seldom shrinks when it is merged, so it may grow further before that is tried.
_GROWTH = 3
_GROWTH_BY_INSERTS = 8
_SPARE_ROWS = 1 << 16
_BEFORE_ALL = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True)
class _Reading:
    """What a reader got: the rows as of `as_of`, while the log had `length` updates."""

    as_of: int
    length: int
    columns: list[Column]
    diffs: Ints


class Trace:
    """Updates (row, time, diff) of rows of `types`, readable as of any time from `since` on.

    Times may be in any order within a delta, and never fall behind what has been compacted. Size: at most three times
    the updates that the last compaction left (eight times where few are retractions), and 65,536. A compaction takes
    time in proportion to all of them, so it comes the more rarely the larger the view is.
    """

    def __init__(self, types: Sequence[SqlType]) -> None:
        self._types = tuple(types)
        self._columns = [HotColumn(each.physical) for each in self._types]
        self._times = Growable(np.dtype(np.int64))
        self._diffs = Growable(np.dtype(np.int64))
        self._since = _BEFORE_ALL
        self._last = _BEFORE_ALL
        self._final = 0
        self._kept = 0
        self._retracted = 0
        # The log has no two equal rows, at whatever times, as long as it is no longer than this.
        self._consolidated = 0
        self._reading: _Reading | None = None

    def __len__(self) -> int:
        """The number of updates in the log."""
        return self._times.length

    def append(self, delta: Delta) -> None:
        """Add updates at the end. Cost: copies them, amortized."""
        n = len(delta)
        end = len(self) + n
        for i, column in enumerate(self._columns):
            column.append(delta.column(i))
        if delta.diffs is None:
            self._diffs.fill(1, end)
        else:
            self._diffs.append(delta.diffs)
            self._retracted += int(np.count_nonzero(delta.diffs < 0))
        if isinstance(delta.times, int):
            self._times.fill(delta.times, end)
            self._last = max(self._last, delta.times)
        elif n:
            self._times.append(delta.times)
            self._last = max(self._last, int(delta.times.max()))

    def mark(self) -> int:
        """Where the log ends now, to come back to with `rollback` before the next `seal`."""
        return len(self)

    def rollback(self, mark: int) -> None:
        """Take back what was appended after `mark`; what is sealed stays."""
        length = max(mark, self._final)
        for column in self._columns:
            column.truncate(length)
        self._times.truncate(length)
        self._diffs.truncate(length)
        self._last = int(self._times.view().max(initial=self._since))
        self._reading = None

    def rows(self, as_of: int | None) -> tuple[list[Column], Ints]:
        """The distinct rows as of a time (None: the latest) and their multiplicities, int64, all positive.

        AssertionError if a time before `since` is asked for, or if a row was retracted that was not there. The columns
        are not written to later. Cost: consolidation of the log, if it has changed since it was last read as of then.
        """
        time = self._last if as_of is None else min(as_of, self._last)
        assert as_of is None or as_of >= self._since, (
            f"cannot read a view as of {as_of}: history begins at {self._since}"
        )
        reading = self._reading
        if reading is None or reading.length != len(self) or reading.as_of != time:
            reading = self._reading = self._read(time)
            assert (reading.diffs > 0).all(), "a view was told to retract a row that it does not hold"
        assert (reading.diffs > 0).all(), (
            "a view holds a row a negative number of times: more was retracted than inserted"
        )
        return reading.columns, reading.diffs

    def changes(self, after: int, upto: int) -> Delta:
        """The updates with `after` < time <= `upto`, not consolidated; AssertionError if `after` is before `since`.

        Cost: looks at every time in the log.
        """
        assert after >= self._since, f"cannot give changes after {after}: history begins at {self._since}"
        times = self._times.view()
        rows = np.flatnonzero((times > after) & (times <= upto))
        columns = [column.column().take(rows) for column in self._columns]
        return delta_of(columns, times[rows], self._diffs.view()[rows], len(rows))

    def seal(self, upper: int, since: int) -> None:
        """What was appended is final, and nobody reads as of a time before `since` any more.

        Now and then equal rows at times up to `since` are merged: amortized, a few accesses an update appended.
        """
        self._since = max(self._since, since)
        self._final = len(self)
        often = 4 * self._retracted > len(self) - self._kept
        if len(self) > (_GROWTH if often else _GROWTH_BY_INSERTS) * self._kept + _SPARE_ROWS:
            self._merge()

    def size(self) -> StateSize:
        """Updates in the log, and bytes with what the last reader got."""
        stored = sum(column.nbytes for column in self._columns) + self._times.nbytes + self._diffs.nbytes
        return StateSize(len(self), bytes=stored + self._reading_bytes())

    def _read(self, time: int) -> _Reading:
        if time == self._last <= self._since and self._final == len(self):
            # No history is kept that the reader does not see: what it gets may as well be the log.
            if self._consolidated < len(self):
                self._merge()
            return _Reading(time, len(self), [c.column() for c in self._columns], self._diffs.view())
        columns, diffs = [c.column() for c in self._columns], self._diffs.view()
        if time < self._last:
            early = np.flatnonzero(self._times.view() <= time)
            columns, diffs = [c.take(early) for c in columns], diffs[early]
        rows, sums = merge_equal(columns, self._types, len(diffs), diffs, None)
        return _Reading(time, len(self), [c.take(rows) for c in columns], sums)

    def _merge(self) -> None:
        """Consolidate the log as it can be told apart from `since` on. Readers keep the arrays that they have."""
        times = np.maximum(self._times.view(), self._since)
        columns = [column.column() for column in self._columns]
        together = None if self._last <= self._since else times
        rows, sums = merge_equal(columns, self._types, len(times), self._diffs.view(), together)
        if len(rows) < len(self):
            self._columns = [column.keep(rows) for column in self._columns]
        self._times, self._diffs = _growable(times[rows]), _growable(sums)
        self._retracted = 0
        self._kept = self._final = len(rows)
        self._consolidated = len(rows) if together is None else 0
        self._reading = None

    def _reading_bytes(self) -> int:
        reading = self._reading
        if reading is None or reading.diffs.base is self._diffs.array:
            return 0
        arrays: list[Array] = [reading.diffs, *(c.values for c in reading.columns)]
        arrays += [c.valid for c in reading.columns if c.valid is not None]
        return sum(array.nbytes for array in arrays)


def _growable(values: Ints) -> Growable[np.int64]:
    grown = Growable(np.dtype(np.int64))
    grown.append(values)
    return grown
