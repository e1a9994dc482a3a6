"""A source that has a clock of its own: what it brings, how far it is, and what it does with what comes late."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from time import monotonic
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from catalog.errors import ConstraintError, InterfaceError, LagError
from ivm.arguments import Documents, moment, rows_by_table, whole_number
from ivm.engine.transaction import Change
from ivm.intake.formats import Format
from ivm.trace.columns.column import Ints
from ivm.trace.rows.table_store import Mode

if TYPE_CHECKING:
    from ivm.session.sources import Sources

Late = Literal["refuse", "move"]
LATE: tuple[Late, ...] = get_args(Late)
LIMIT = 10_000_000
"""How many changes of a source may wait for others, unless it says otherwise."""
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


def time_of(given: int | datetime | str) -> int:
    """A time of a source as a number; TypeMismatchError for what is none."""
    if isinstance(given, datetime | str):
        return whole_number(moment(given, "time"), "time")
    return whole_number(given, "time")


def times_of(change: Change) -> Ints:
    """The times of changes that come from a source, each of which has one."""
    assert change.times is not None, "each has a time"
    return change.times
