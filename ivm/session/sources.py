"""Sources that have clocks of their own: what they bring waits until all of them have passed its time.

It is the progress tracking of timely dataflow (Naiad, section 2.3) in one dimension: the frontier of a source is the
earliest time of which it may bring changes yet, and a time is complete when the frontiers of all sources lie behind it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush
from itertools import count
from operator import itemgetter
from threading import RLock
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from catalog.errors import BindError, ConstraintError, InterfaceError
from ivm.arguments import Documents, at_least_one, one_of, period
from ivm.engine.transaction import Change
from ivm.intake.formats import Format, taken
from ivm.session.source import LATE, Late, Source, SourceInfo, times_of
from ivm.trace.columns.column import Array, Ints
from ivm.trace.rows.table_store import Mode
from ivm.trace.time import LAST

if TYPE_CHECKING:
    from ivm.session.core import Core

MARK = "ivm_sources"
"""The source of batches by whose number a database remembers up to which time all was complete."""
_Waiting = tuple[int, int, Source, Change]
"""Changes that wait: the first of their times, their number as they came, whose they are, and what."""


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
        change = found.change
        if (at is None) == (change.times is None):
            raise InterfaceError(
                f"cannot tell the time of changes of table {name}: give time=, or rows with a column _time, not both"
            )
        if change.times is None:
            return change._replace(times=np.full(change.data.num_rows, at, np.int64))
        if len(change.times) and not 0 <= int(change.times.min()) <= int(change.times.max()) <= LAST:
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
            later = _rows_of(change, times_of(change) >= to)
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
            done = [_rows_of(each, (times_of(each) >= since) & (times_of(each) < to)) for each in changes]
            done = [self._as_declared(each) for each in done if each.data.num_rows]
            for together, end in _batches(done, to):
                core.commit(_placed(together, core.engine.time), (MARK, end), settles=False)

    def _as_declared(self, change: Change) -> Change:
        """A change of a table as it is declared by now. Raises what `Incoming.rows` raises."""
        name = change.table.name
        if self._core.incoming.intake(name)[0] is change.table:
            return change
        table, data, addresses = self._core.incoming.rows(name, change.data, False)
        return change._replace(table=table, data=data, addresses=addresses)

    def _push(self, number: int, source: Source, change: Change) -> None:
        heappush(self._waiting, (int(times_of(change).min()), number, source, change))

    def settled(self) -> int:
        """The time of the last commit, once it survives a loss of power, if commits wait for that."""
        self._core.settle()
        return self._core.readable()[1]


def _rows_of(change: Change, which: Array) -> Change:
    """Some rows of a change."""
    if which.all():
        return change
    return change._replace(
        data=change.data.filter(pa.array(which)), addresses=None,
        diffs=None if change.diffs is None else change.diffs[which], times=times_of(change)[which],
    )  # fmt: skip


def _batches(changes: Sequence[Change], to: int) -> Iterator[tuple[list[Change], int]]:
    """What is committed together, each table's changes in one, and the time up to which all is complete then.

    That is all of it; where a table is changed in several modes, each time.
    """
    modes = {(each.table.name, each.mode) for each in changes}
    if len(modes) == len({name for name, _ in modes}):
        if changes:
            yield _joined(changes), to
        return
    for time in np.unique(np.concatenate(list(map(times_of, changes)))).tolist():
        each = [_rows_of(change, times_of(change) == time) for change in changes]
        yield [change for change in each if change.data.num_rows], time + 1


def _joined(changes: Sequence[Change]) -> list[Change]:
    """The changes of each table in one, in their order."""
    by_table: dict[str, list[Change]] = {}
    for each in changes:
        by_table.setdefault(each.table.name, []).append(each)
    return [those[0] if len(those) == 1 else _one(those) for those in by_table.values()]


def _one(changes: Sequence[Change]) -> Change:
    data = pa.concat_tables([pa.table(each.data) for each in changes])
    ones = [np.ones(each.data.num_rows, np.int64) if each.diffs is None else each.diffs for each in changes]
    plain = all(each.diffs is None for each in changes)
    return changes[0]._replace(
        data=data, addresses=None, diffs=None if plain else np.concatenate(ones),
        times=np.concatenate(list(map(times_of, changes))),
    )  # fmt: skip


def _placed(changes: Sequence[Change], present: int) -> list[Change]:
    """Changes at logical times: those of the sources, or as soon after each other and the present as can be."""
    times = list(map(times_of, changes))
    distinct: Ints = np.unique(np.concatenate(times))
    places = np.arange(len(distinct))
    placed = np.maximum(np.maximum.accumulate(distinct - places), present + 1) + places
    return [
        change._replace(times=placed[np.searchsorted(distinct, each)])
        for change, each in zip(changes, times, strict=True)
    ]
