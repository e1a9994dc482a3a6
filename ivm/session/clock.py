"""What time it is in a database: the same for all that a commit changes, given or the system's, and it never falls.

It stands in a table of one row (`ivm.catalog.clock`), which each commit brings up to date while a view reads it. So the
log has it, and a database that is opened again, or its shards, see what was seen before.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from threading import Event
from time import time_ns

import numpy as np
import pyarrow as pa

from ivm.catalog.catalog import Catalog
from ivm.catalog.clock import CLOCK, NOW_COLUMN
from ivm.catalog.errors import InterfaceError
from ivm.durable.payload import Batch
from ivm.engine.backend import Commits
from ivm.engine.transaction import Change
from ivm.engine.under_way import Also
from ivm.intake.python_rows import plain_rows
from ivm.trace.columns.exported import Located
from ivm.trace.time import bounds_of


class Clock:
    """Moments are microseconds since 1970, in UTC. Whoever calls has the lock, but for `present` and `unknown`."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._last: int | None = None  # the latest that was told; None: what the table has, if there is one
        self._written: int | None = None  # what the table has, if that is known
        self._read: tuple[object, bool] = None, False  # of a content of the catalog whether a view reads the clock
        self.unread: object = None
        """What exists, if no view of it reads the clock: then a commit may go without it."""
        self.ended = Event()
        """When there is nobody left for whom time could pass."""
        self._rows = plain_rows(CLOCK.fields)
        self._given: int | None = None  # what somebody gave, which it is until the next tick

    def present(self) -> int:
        """What time it is."""
        now = time_ns() // 1000 if self._given is None else self._given
        return now if self._last is None else max(now, self._last)

    @property
    def unknown(self) -> int | None:
        """What time it is, where DuckDB would say that it is earlier, or does not know what was given."""
        now = self.present()
        return now if self._given is not None or now > time_ns() // 1000 else None

    def give(self, engine: Commits, at: int | None) -> None:
        """From now on it is `at`, or what the system says. InterfaceError if it has been later than that."""
        last = self._begun(engine)
        if at is not None and last is not None and at < last:
            raise InterfaceError(
                f"cannot tick at {_shown(at)}: it is {_shown(last)} already, and time never falls; give a later one"
            )
        self._given = at

    def stand_at(self, at: int) -> None:
        """It is `at`, for as long as nobody gives another time."""
        self._given = at

    def is_due(self, engine: Commits) -> bool:
        """Whether a view reads the clock, and time has passed since the last commit."""
        return self._is_read() and (self._begun(engine) is None or self.present() != self._written)

    def commit(self, engine: Commits, changes: Sequence[Change], batch: Batch | None, also: Also | None = None) -> int:
        """Commit changes as of the present, see `Commits.commit`: before them, the clock is brought up to date."""
        commit = engine.commit if also is None else partial(engine.commit, also=also)
        if not (self._is_read() if also is None else also.reads_clock):
            return commit(changes, batch)
        self._begun(engine)
        self._last = now = self.present()
        if now == self._written:
            return commit(changes, batch)
        own = [change.times for change in changes if change.times is not None and len(change.times)]
        times = np.array([min(bounds_of(each)[0] for each in own)], np.int64) if own else None
        there = engine.tables.get(CLOCK.name)  # over shards a first one comes with the commit
        table = CLOCK if there is None else there.table
        time = commit([Change(table, *self.row(now), times=times, mode="upsert"), *changes], batch)
        self._written = now
        return time

    def row(self, now: int) -> Located:
        """The table's row."""
        made = None if self._rows is None else self._rows.row((0, now), range(len(CLOCK.fields)))
        assert made is not None, "numbers are plain"
        return made

    def _is_read(self) -> bool:
        content = self._catalog.content
        if self._read[0] is not content:
            self._read = content, bool(self._catalog.users_of(CLOCK.name))
            self.unread = None if self._read[1] else content
        return self._read[1]

    def _begun(self, engine: Commits) -> int | None:
        """The latest that was told, or that the table has, of a database that is opened again; asked once."""
        if self._last is None and CLOCK.name in engine.tables:
            told = engine.tables[CLOCK.name].reading()().column(NOW_COLUMN).cast(pa.int64()).to_pylist()
            self._last = self._written = max(told, default=None)
        return self._last


def _shown(moment: int) -> str:
    return str(pa.scalar(moment, pa.timestamp("us")).as_py())
