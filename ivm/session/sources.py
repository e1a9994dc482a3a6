"""Sources that have clocks of their own: what they bring waits until all of them have passed its time.

It is the progress tracking of timely dataflow (Naiad, section 2.3) in one dimension: the frontier of a source is the
earliest time of which it may bring changes yet, and a time is complete when the frontiers of all sources lie behind it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from heapq import heapify, heappop, heappush
from itertools import count
from operator import itemgetter
from threading import RLock
from time import monotonic
from typing import Any, Literal, get_args

import numpy as np

from ivm.arguments import Documents, at_least_one, moment, one_of, period, rows_by_table, whole_number
from ivm.catalog.errors import BindError, ConstraintError, InterfaceError, LagError
from ivm.engine.transaction import Change
from ivm.intake.formats import Format, taken
from ivm.session.core import Core
from ivm.session.timed import batches, declared, placed, rows_of, times_of, whole
from ivm.trace.rows.table_store import Mode
from ivm.trace.time import LAST, bounds_of

Late = Literal["refuse", "move"]
LATE: tuple[Late, ...] = get_args(Late)
LIMIT = 10_000_000
"""How many changes of a source may wait for others, unless it says otherwise."""
MARK = "ivm_sources"
"""The source of batches by whose number a database remembers up to which time all was complete."""
_log = logging.getLogger("ivm.sources")


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """A source: the time from which on it may bring changes yet, and how many that it has brought wait, or were late.

    `holds_back`: whether others have passed it. `idle`: seconds since it was last heard of.
    """

    name: str
    frontier: int
    waiting: int
    late: int
    holds_back: bool
    idle: float


_Waiting = tuple[int, int, "Source", Change]
"""Changes that wait: the first of their times, their number as they came, whose they are, and what."""


class Source:
    """A source of changes with a clock of its own; see `Database.source`. Thread-safe.

    As a context manager it is closed when the block ends; if the block raises it stays as it is, and `Database.source`
    gives it back under its name.
    """

    def __init__(self, sources: Sources, name: str, late: Late, stalls_after: float, limit: int) -> None:
        self.name = name
        self.options = late, stalls_after, limit
        self.late = 0
        """How many changes came late, and were moved to the present."""
        self.waiting = 0
        """How many changes wait to be committed."""
        self._sources = sources
        self._frontier = sources.complete
        self._heard = monotonic()
        self._is_named = False
        self._is_open = True

    @property
    def frontier(self) -> int:
        """The earliest time of which it may bring changes yet. One that begins again goes on from here."""
        return self._frontier

    def apply(
        self, changes: Mapping[str, Documents], *, time: int | datetime | str | None = None, mode: Mode = "diff",
        format: Format = "rows",
    ) -> None:  # fmt: skip
        """Take changes, as `Database.apply` does, each of a time of its own, or all of `time`. They are checked now.

        They are committed when their time is complete: see `advance`. Times are whole numbers, datetimes or ISO texts;
        these two count as microseconds since 1970, and name UTC if no zone. ConstraintError for a time that the source
        has passed, unless it moves such changes to the present; LagError if more wait than its limit.
        """
        at, sources = None if time is None else time_of(time), self._sources
        found = [sources.change(name, data, mode, format, at) for name, data in rows_by_table(changes).items()]
        found = [each for each in found if each.data.num_rows]
        with sources.lock:
            self._check_open()
            self._check_room(sum(each.data.num_rows for each in found))
            those = [self._in_time(each) for each in found]
            self._heard = monotonic()
            for change, late in those:
                self.late += late
                sources.wait(self, change)

    def advance(self, time: int | datetime | str) -> int:
        """Say that all changes of times before `time` were brought; returns the logical time of the last commit.

        What is complete by that is committed: all times that every source has passed, in their order, in one batch.
        Views see each of them as if it had been committed alone. If the commit raises nothing is changed, the source is
        where it was, and the changes wait: `discard` lets go of them. InterfaceError for a time that it has passed.
        """
        to, sources = time_of(time), self._sources
        with sources.lock:
            self._check_open()
            if to < self._frontier:
                raise InterfaceError(
                    f"cannot set source {self.name} back to {to}: it is at {self._frontier} already, and time never "
                    "falls; give a later one"
                )
            before, self._frontier = self._frontier, to
            self._heard, self._is_named = monotonic(), False
            try:
                sources.commit()
            except BaseException:
                self._frontier = before
                raise
            sources.name_stalled()
        return sources.settled()

    def discard(self) -> int:
        """Let go of the changes of this source that wait; how many there were."""
        with self._sources.lock:
            count = self.waiting
            self._sources.forget(self)
        return count

    def close(self) -> None:
        """Say that it brings nothing more, so that others need not wait for it. Once is enough.

        What is complete by that is committed; what it has brought itself, if its time is.
        """
        sources = self._sources
        with sources.lock:
            if not self._is_open:
                return
            sources.remove(self)
            try:
                sources.commit()
            except BaseException:
                sources.add(self)
                raise
            self._is_open = False
        sources.settled()

    def __enter__(self) -> Source:
        return self

    def __exit__(self, kind: type[BaseException] | None, *raised: object) -> None:
        if kind is None:
            self.close()

    def info(self, now: float) -> SourceInfo:
        """How it stands at a moment."""
        holds_back = self._frontier < self._sources.first()
        return SourceInfo(self.name, self._frontier, self.waiting, self.late, holds_back, now - self._heard)

    def name_if_stalled(self, now: float) -> None:
        """Say in the log that it holds others back, once, if it has for long."""
        stalled = self.info(now)
        if not self._is_named and stalled.holds_back and stalled.idle >= self.options[1]:
            self._is_named = True
            _log.warning(
                "source %s holds others back: it is at %d, and was last heard of %.0f s ago", self.name,
                self._frontier, stalled.idle,
            )  # fmt: skip

    def _in_time(self, change: Change) -> tuple[Change, int]:
        """A change with what is late moved to the present, and how much that is. ConstraintError if it is refused."""
        times = times_of(change)
        is_late = times < self._frontier
        if not is_late.any():
            return change, 0
        if self.options[0] == "refuse":
            raise ConstraintError(
                f"cannot take changes of table {change.table.name} from source {self.name} at time {times.min()}: the "
                f'source has passed it, and is at {self._frontier}; give later times, or open it with late="move"'
            )
        return change._replace(times=np.where(is_late, self._frontier, times)), int(is_late.sum())

    def _check_room(self, more: int) -> None:
        limit = self.options[2]
        if self.waiting and self.waiting + more > limit:
            last = self._sources.last()
            raise LagError(
                f"cannot take {more:,} more changes of source {self.name}: {self.waiting:,} wait already, for source "
                f"{last.name}, which is at {last.frontier}; advance or close that one, or open {self.name} with a "
                "larger limit"
            )

    def _check_open(self) -> None:
        self._sources.check()
        if not self._is_open:
            raise InterfaceError(f"cannot use source {self.name}: it was closed; open it again with db.source()")


class Sources:
    """All sources of a database, and what they have brought that waits. Its lock is taken before the core's."""

    def __init__(self, core: Core) -> None:
        self.lock = RLock()
        self._core = core
        self._open: dict[str, Source] = {}
        self._waiting: list[_Waiting] = []  # a heap
        self._numbers = count()
        self._complete: int | None = None

    @property
    def complete(self) -> int:
        """The time before which all are complete. A database that is opened again knows that of its last commit."""
        if self._complete is None:
            self._complete = self._core.batches().get(MARK, 0)
        return self._complete

    def open(self, name: Any, late: Late, stalls_after: float | str, limit: int) -> Source:
        """The source of a name, which is there or begins; see `Database.source`."""
        if not isinstance(name, str) or not name:
            raise InterfaceError(f"a source is called {name!r}, and must have a text as its name")
        one_of(late, LATE, "late")
        options = late, period(stalls_after, "stalls_after"), at_least_one(limit, "limit")
        self._core.check_writable()
        with self.lock:
            found = self._open.get(name)
            if found is None:
                found = self._open[name] = Source(self, name, *options)
            elif found.options != options:
                raise BindError(f"source {name} is there already, with other options; close it first")
            return found

    def change(self, name: str, data: Documents, mode: Mode, format: Format, at: int | None) -> Change:
        """Changes of a table, checked, each with its time."""
        core = self._core
        found = taken(core.incoming, core.settings.names.given(name), data, format, mode)
        if found.empties:
            raise InterfaceError(f"cannot empty table {name} from a source with a clock of its own; delete its rows")
        change = whole(found.change)
        if (at is None) == (change.times is None):
            raise InterfaceError(
                f"cannot tell the time of changes of table {name}: give time=, or rows with a column _time, not both"
            )
        if change.times is None:
            return change._replace(times=np.full(change.data.num_rows, at, np.int64))
        first, last = bounds_of(change.times) if len(change.times) else (0, 0)
        if not 0 <= first <= last <= LAST:
            raise ConstraintError(f"cannot take changes of table {name}: _time lies from 0 to 2^62")
        return change

    def check(self) -> None:
        """InterfaceError if the database is closed, or this is within a function that it calls."""
        lock = self._core.lock
        lock.check_open()
        if lock.within:
            lock.check_outside()

    def wait(self, source: Source, change: Change) -> None:
        """Keep changes of a source until their times are complete."""
        self._push(next(self._numbers), source, change)
        source.waiting += change.data.num_rows

    def forget(self, source: Source) -> None:
        """Let go of the changes of a source that wait."""
        self._waiting = [each for each in self._waiting if each[2] is not source]
        heapify(self._waiting)
        source.waiting = 0

    def add(self, source: Source) -> None:
        """Wait for a source, too."""
        self._open[source.name] = source

    def remove(self, source: Source) -> None:
        """Do not wait for a source any more."""
        del self._open[source.name]

    def last(self) -> Source:
        """The source for which all others wait; there is one."""
        return min(self._open.values(), key=lambda each: each.frontier)

    def first(self) -> int:
        """The latest time that a source is at."""
        return max((each.frontier for each in self._open.values()), default=0)

    def name_stalled(self) -> None:
        """Name, in the log, whoever holds the others back."""
        now = monotonic()
        for each in self._open.values():
            each.name_if_stalled(now)

    def infos(self) -> list[SourceInfo]:
        """How all of them stand, in order of their names."""
        now = monotonic()
        with self.lock:
            return [self._open[name].info(now) for name in sorted(self._open)]

    def commit(self) -> None:
        """Commit the times that are complete; what waits for others stays. Raises what `Core.commit` raises.

        It may be interrupted, and called again: the database knows by its mark what was committed.
        """
        to = self._end()
        if to <= self.complete:
            return
        came = list[_Waiting]()
        try:
            while self._waiting and self._waiting[0][0] < to:
                came.append(heappop(self._waiting))
            self._commit([each[3] for each in sorted(came, key=itemgetter(1))], to)
        except BaseException:
            for each in came:
                heappush(self._waiting, each)
            raise
        self._complete = to
        for _, number, source, change in came:
            later = rows_of(change, times_of(change) >= to)
            source.waiting -= change.data.num_rows - later.data.num_rows
            if later.data.num_rows:
                self._push(number, source, later)

    def _end(self) -> int:
        """The time before which all are complete. What nobody waits for any more is."""
        if self._open:
            return self.last().frontier
        return max((int(times_of(each[3]).max()) + 1 for each in self._waiting), default=0)

    def _commit(self, changes: Sequence[Change], to: int) -> None:
        core = self._core
        with core.lock:
            since = core.engine.batches.get(MARK, 0)
            done = [rows_of(each, (times_of(each) >= since) & (times_of(each) < to)) for each in changes]
            done = [self._as_declared(each) for each in done if each.data.num_rows]
            for together, end in batches(done, to):
                core.commit(placed(together, core.engine.time), (MARK, end), settles=False)

    def _as_declared(self, change: Change) -> Change:
        """A change of a table as it is declared by now. Raises what `Incoming.change` raises."""
        incoming, name = self._core.incoming, change.table.name
        table = incoming.intake(name)[0]
        return change if table is change.table else whole(incoming.change(name, declared(change, table), change.mode))

    def _push(self, number: int, source: Source, change: Change) -> None:
        heappush(self._waiting, (int(times_of(change).min()), number, source, change))

    def settled(self) -> int:
        """The time of the last commit, once it survives a loss of power, if commits wait for that."""
        self._core.settle()
        return self._core.readable()[1]


def sources_of(core: Core) -> Sources:
    """Those of a database."""
    with core.lock:
        if core.sources is None:
            core.sources = Sources(core)
        found: Sources = core.sources
    return found


def time_of(given: int | datetime | str) -> int:
    """A time of a source as a number; TypeMismatchError for what is none."""
    if isinstance(given, datetime | str):
        return whole_number(moment(given, "time"), "time")
    return whole_number(given, "time")
