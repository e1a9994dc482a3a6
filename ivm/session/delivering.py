"""A view's changes, delivered by a thread of its own to where they are wanted, each once."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from threading import Event, Thread, current_thread
from time import monotonic, sleep

import pyarrow as pa

from ivm.catalog.errors import Error, InterfaceError
from ivm.deliveries.target import Delivered, Mark, Target
from ivm.deliveries.targets import Function
from ivm.session.core import Core
from ivm.session.named import KEEP, forget, subscribe_by_name
from ivm.session.subscribed_queries import Heard
from ivm.session.subscribing import subscribe
from ivm.subscriptions.subscription import Subscription
from ivm.subscriptions.unnamed import is_unnamed, spoken
from ivm.subscriptions.wish import Wish

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 60.0
_QUIET, _LAST, _LOOK = 10.0, 10.0, 0.005
"""Seconds after which it is noted that nothing has changed; that closing waits; after which who waits looks again."""
_told = logging.getLogger("ivm")


class Delivery:
    """Delivers a view's changes until it is closed, or its database is; made by `Database.deliver`.

    What cannot be delivered is tried again, after pauses that grow from a tenth of a second to a minute. It ends with
    its view. Thread-safe.
    """

    def __init__(self, core: Core, of: Heard, target: Target, wish: Wish, from_time: int | None) -> None:
        """Begin. Raises what `subscribe` raises, StorageError, UnsupportedError and InterfaceError."""
        self._core, self._of_what, self._target, self._wish = core, of, target, wish
        self._ended, self._process = Event(), os.getpid()
        self._subscription, self._mark, self._empty = _begun(core, of, target, wish, from_time)
        self._noted = monotonic()
        # Where nothing has changed since the last delivery, all up to the present has arrived.
        self._state = Delivered(self._subscription.view, target.where, wish.form, self._subscription.time)
        core.engine.listeners.delivered.append(self._state)
        core.deliveries.append(self)
        self._thread = Thread(target=self._run, name="ivm-delivery", daemon=True)
        self._thread.start()

    @staticmethod
    def is_kept(core: Core, target: Target) -> bool:
        """Whether what a query has changed is kept until it has arrived there, also while the database is closed."""
        return core.engine.keeps_unnamed and not isinstance(target, Function)

    @property
    def view(self) -> str:
        """The name of the view; of a query, of the one that the engine made for it."""
        return self._state.view

    @property
    def to(self) -> str:
        """Where the changes go."""
        return self._state.to

    @property
    def time(self) -> int:
        """The logical time up to which all changes have arrived; -1 before any has."""
        return self._state.time

    @property
    def error(self) -> str:
        """What went wrong at the last try, or what it has ended with; empty if all is well."""
        return self._state.error

    @property
    def running(self) -> bool:
        """Whether more will be delivered."""
        return self._thread.is_alive()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until all that is committed by now has arrived, for so many seconds at most; whether it has.

        It looks every few milliseconds. False also if it has ended before.
        """
        until = None if timeout is None else monotonic() + timeout
        present = self._core.readable()[1]
        while self.time < present:
            if not self.running or (until is not None and monotonic() > until):
                return self.time >= present
            sleep(_LOOK)
        return True

    def close(self) -> None:
        """Deliver what is pending, unless that fails, and end. Once is enough."""
        if self._process != os.getpid():
            return
        self._ended.set()
        self._subscription.close()
        if self._thread is not current_thread():
            self._thread.join(_LAST)
        with suppress(ValueError):  # it was closed before
            self._core.engine.listeners.delivered.remove(self._state)

    def __enter__(self) -> Delivery:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _run(self) -> None:
        state = self._state
        try:
            for changes, of in self._pending():
                time = max(self._subscription.time, self._mark.time)  # one that is closed knows less than was told
                self._deliver(changes, Mark(self._mark.number + bool(changes.num_rows), time, of))
        except _GivenUpError:
            pass
        except BaseException as error:  # noqa: BLE001  which nobody else hears of
            state.error = str(error)
            _told.warning("changes of view %s are not delivered to %s any more: %s", state.view, state.to, error)
        finally:
            state.state = "ended"
            self._subscription.close()
            self._core.deliveries.remove(self)

    def _pending(self) -> Iterator[tuple[pa.Table, int]]:
        """What has come, all that is there in one table, and what it is of; last, nothing, so that it is noted how far
        it went.
        """
        for changes in self._subscription:
            of = self._of()  # what has taken the place of a view is told by then, and fetched
            more = self._subscription.fetch()
            yield (pa.concat_tables([changes, more]) if more.num_rows else changes), of
        self._noted = 0.0
        yield self._empty, self._mark.of

    def _of(self) -> int:
        try:
            of = replace(self._of_what, view=self._subscription.view)
            return _number_of(self._core, of, self._wish, self._empty)
        except Error:  # it was dropped, or the database is about to be closed
            return self._mark.of

    def _deliver(self, changes: pa.Table, mark: Mark) -> None:
        state, last = self._state, self._mark
        if not changes.num_rows and (mark[1:] == last[1:] or monotonic() - self._noted < _QUIET):
            state.time = mark.time
            return
        pause = _FIRST_PAUSE
        while not self._is_put(changes, mark):
            state.state = "tries again"
            if self._ended.wait(pause):
                raise _GivenUpError
            pause = min(2 * pause, _LONGEST_PAUSE)
        if self._subscription.name:
            with suppress(Error):  # so more is kept than has to be, until the next one says so too
                self._subscription.acknowledge(mark.time)
        self._mark, self._noted = mark, monotonic()
        state.time, state.rows, state.state = mark.time, state.rows + changes.num_rows, "runs"
        state.failures, state.error = 0, ""

    def _is_put(self, changes: pa.Table, mark: Mark) -> bool:
        """Whether the target has taken it; what it has taken before it failed it need not take again."""
        state = self._state
        try:
            last = self._target.begin(self._empty) if state.failures else None
            if last is None or last.number < mark.number:
                self._target.put(changes, mark)
        except Exception as error:  # noqa: BLE001  whatever others' code and disks run into
            state.failures += 1
            state.error = f"{type(error).__name__}: {error}"
            _told.warning("cannot deliver changes of view %s to %s: %s", state.view, state.to, state.error)
            return False
        return True


class _GivenUpError(Exception):
    """It was closed while it could not deliver."""


def _begun(
    core: Core, of: Heard, target: Target, wish: Wish, from_time: int | None
) -> tuple[Subscription, Mark, pa.Table]:
    """Who is told of what has not arrived yet, the last delivery, and a table without rows."""
    with subscribe(core, of, wish, snapshot=False, from_time=None) as first:  # until there is the one that stays
        return _begun_for(core, of, target, wish, from_time, first.fetch())


def _begun_for(
    core: Core, heard_of: Heard, target: Target, wish: Wish, from_time: int | None, empty: pa.Table
) -> tuple[Subscription, Mark, pa.Table]:
    if any(each.where == target.where and not isinstance(target, Function) for each in _targets(core)):
        raise InterfaceError(f"changes are delivered to {target.where} already; close that delivery first")
    last, of = target.begin(empty), _number_of(core, heard_of, wish, empty)
    if last is None:
        begins = _subscribed(core, heard_of, target, wish, from_time, is_new=True)
        return begins, Mark(0, -1 if from_time is None else from_time, of), empty
    what = f"cannot deliver changes {spoken(heard_of.view)} to {target.where}"
    if from_time is not None:
        raise InterfaceError(f"{what} from a time: what has arrived there, up to {last.time}, says it; leave it out")
    present = core.readable()[1]
    if last.of != of or last.time > present:
        wrong = "it has those of another view, or of this one before it was replaced, or in another form"
        if last.of == of:
            wrong = (
                f"it has them up to time {last.time}, and the last commit is {present}: some are lost, or are another's"
            )
        raise InterfaceError(f"{what}: {wrong}; deliver to another place")
    return _subscribed(core, heard_of, target, wish, last.time, is_new=False), last, empty


def _subscribed(
    core: Core, of: Heard, target: Target, wish: Wish, from_time: int | None, *, is_new: bool
) -> Subscription:
    """Who is told from a time on, or of all rows first; of a query by a name, if it goes where it goes on."""
    if not is_unnamed(of.view) or not Delivery.is_kept(core, target):
        return subscribe(core, of, wish, snapshot=from_time is None, from_time=from_time)
    name = f"delivery to {target.where}"
    if is_new and core.engine.listeners.names.get(name) is not None:  # what had arrived was taken away
        forget(core, name)
    return subscribe_by_name(core, of, wish, name, KEEP, snapshot=from_time is None, from_time=from_time)


def _targets(core: Core) -> list[Target]:
    return [each._target for each in core.deliveries if isinstance(each, Delivery)]


def _number_of(core: Core, of: Heard, wish: Wish, empty: pa.Table) -> int:
    """What changes are of: the same view in the same form, of a database in memory that of this process."""
    with core.lock:
        definition = core.maintained(of.view).definition
    name, chosen = "" if is_unnamed(definition.name) else definition.name, () if of.chosen is None else (of.chosen.key,)
    process = f"{os.getpid()} {id(core)}" if core.is_copied else ""
    told = (name, definition.sql, wish.form, str(empty.schema.remove_metadata()), process, *chosen)
    return int.from_bytes(hashlib.sha256(repr(told).encode()).digest()[:8], "big") >> 1
