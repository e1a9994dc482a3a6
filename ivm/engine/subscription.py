"""Subscriptions: a view's changes, commit by commit; who listens to a view, and what a commit tells them."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from time import monotonic
from weakref import WeakSet

import pyarrow as pa

from catalog.errors import InterfaceError, ViewDroppedError
from ivm.trace.state import Held


class Subscription:
    """Changes of one view as Arrow tables: the view's columns, then `_time` and `_diff`.

    Each commit's changes are consolidated: one row for each (row, time) whose multiplicity changed. Take them with
    `fetch`, with `for changes in subscription`, or with `async for` in any event loop of asyncio. Each table goes to
    one taker. Use as a context manager, or call `close`; it is closed too when its database is closed. Thread-safe:
    commits may come from another thread. Who waits does not keep the program from ending: when the main thread is done,
    all waiting ends as if the subscription had been closed.

    When its view is dropped, all of these raise ViewDroppedError, once what was pending has been taken. When another
    takes the view's place (CREATE OR REPLACE) whose columns have the same names and types, it goes on with that one:
    what tells the new rows from the old ones comes as one change, at the time of the last commit. A view of other
    columns, or one that is not maintained, ends it as a drop does.
    """

    def __init__(
        self, view: str, empty: pa.Table, close: Callable[[Subscription], None], certain: Callable[[], None]
    ) -> None:
        """`certain` returns when what was pushed survives a loss of power, if somebody waits for that."""
        self.view = view
        self._certain = certain
        self._empty = empty
        self._close = close
        self._pending: deque[tuple[int | str, pa.Table]] = deque()
        self._taken: int | str = -1
        self._lock = threading.RLock()  # in C, so that Ctrl-C never leaves it held; Python's conditions are not
        self._wakes: set[Callable[[], None]] = set()
        self._open = True
        self._refusal = ""
        self._reason = ""

    def fetch(self, timeout: float | None = 0) -> pa.Table:
        """What has changed since it was last asked for, in one table; without rows if nothing has.

        If nothing has, wait for at most `timeout` seconds, or with None until something does, or it is closed. Raises
        ViewDroppedError if nothing is left, and nothing will come because of what became of its view.
        """
        self._check_here()
        if timeout != 0:
            self._wait(timeout)
        with self._lock:
            self._check_goes_on()
            tables = [table for _, table in self._pending]
            found = pa.concat_tables(tables) if tables else self._empty
            for _ in tables:
                self._take()
        self._certain()
        return found

    def __iter__(self) -> Iterator[pa.Table]:
        """Tables of changes, one for each commit; blocks for more until the subscription is closed."""
        while True:
            self._check_here()
            self._wait(None)
            with self._lock:
                if self._pending:
                    table = self._take()
                elif self._open:
                    continue  # another was first
                else:
                    self._check_goes_on()
                    return
            self._certain()
            yield table

    async def __aiter__(self) -> AsyncIterator[pa.Table]:
        """As iterating does, awaiting what it blocks for. A task that is cancelled while it waits has taken nothing."""
        while True:
            self._check_here()
            wait, wake = _waking()
            try:
                with self._lock:
                    table = self._take() if self._pending else None
                    if table is None:
                        if not self._open:
                            self._check_goes_on()
                            return
                        self._wakes.add(wake)
                        _ending.note(self)
                if table is None:
                    await wait()
            finally:
                self._wakes.discard(wake)
            if table is not None:
                self._certain()
                yield table

    def push(self, table: pa.Table, of: int | str) -> None:
        """Add the changes `of` a commit, by its time, or of what has made a view anew, by a mark that nothing else has,
        unless they were added last; called by the engine.
        """
        with self._lock:
            last = self._pending[-1][0] if self._pending else self._taken
            if last != of:
                self._pending.append((of, table))
            self._wake()

    def begin(self, table: pa.Table, time: int) -> None:
        """What there was at `time` comes before what has changed since; called before anybody takes anything."""
        with self._lock:
            self._pending.appendleft((time, table))

    def end(self, reason: str = "") -> None:
        """Let go of all who wait; what is pending can still be read. After that a `reason` is raised."""
        with self._lock:
            if self._open:
                self._reason = reason
            self._open = False
            self._wake()

    def close(self) -> None:
        """Stop receiving; iteration ends when what is pending has been read. Once is enough."""
        self._check_here()
        self._let_go()

    def fork(self, refusal: str = "") -> None:
        """In a process that was forked: nobody waits here. Who takes anything is told a `refusal`, if there is one."""
        self._lock, self._wakes = threading.RLock(), set()
        self._refusal = refusal

    def __enter__(self) -> Subscription:
        return self

    def __exit__(self, *raised: object) -> None:
        self._let_go()

    def _let_go(self) -> None:
        self.end()
        self._close(self)

    def _check_here(self) -> None:
        """InterfaceError if this is another process than that which is told of changes."""
        if self._refusal:
            raise InterfaceError(self._refusal)

    def _check_goes_on(self) -> None:
        """Raise why nothing is pending, nor will be; the lock is held."""
        if self._reason and not self._pending:
            raise ViewDroppedError(self._reason)

    def _take(self) -> pa.Table:
        """The first of what is pending; the lock is held."""
        self._taken, table = self._pending[0]
        self._pending.popleft()
        return table

    def _wait(self, timeout: float | None) -> None:
        """Wait until something is pending or it is closed, or `timeout` seconds have passed."""
        until = None if timeout is None else monotonic() + timeout
        woken: SimpleQueue[None] = SimpleQueue()
        wake = partial(woken.put, None)
        try:
            self._wakes.add(wake)
            _ending.note(self)
            while self._open and not self._pending:
                left = None if until is None else until - monotonic()
                if left is not None and left <= 0:
                    return
                with suppress(Empty):
                    woken.get(timeout=left)
        finally:
            self._wakes.discard(wake)

    def _wake(self) -> None:
        for wake in tuple(self._wakes):
            wake()


class Listeners(Held[Subscription]):
    """The subscriptions to `views` that somebody holds on to: those that are to be told of the next commit."""

    def __init__(self) -> None:
        super().__init__()
        self._of: dict[str, Held[Subscription]] = {}

    def hold(self, each: Subscription) -> None:
        """One more. Cost: now and then, a glance at all."""
        super().hold(each)
        if len(self._of) > 2 * len(self):
            self._of = {view: those for view, those in self._of.items() if those}
        self._of.setdefault(each.view, Held()).hold(each)

    def let_go(self, each: Subscription) -> None:
        """One less; nothing happens if it is not there."""
        super().let_go(each)
        if each.view in self._of:
            self._of[each.view].let_go(each)

    def rename(self, view: str, name: str) -> None:
        """The view is called so from now on. It may be interrupted, and called again."""
        for each in self.of(view):
            each.view = name
            self._of.setdefault(name, Held()).hold(each)
        self._of.pop(view, None)

    def of(self, view: str | None = None) -> list[Subscription]:
        """The subscriptions to all views, or to one."""
        if view is None:
            return self.each()
        return self._of[view].each() if view in self._of else []

    def told(
        self, changes_of: Callable[[str], pa.Table | None], views: Iterable[str]
    ) -> list[tuple[Subscription, pa.Table]]:
        """What each is to be told of a commit; `changes_of` gives the changes of a view, None if it is the same.

        `views`: those that may have changed, each once.
        """
        told: list[tuple[Subscription, pa.Table]] = []
        for view in views:
            those = self.of(view)
            table = changes_of(view) if those else None
            if table is not None:
                told += [(each, table) for each in those]
        return told


def _waking() -> tuple[Callable[[], Awaitable[object]], Callable[[], None]]:
    """What waits in the event loop that runs, and what ends that from any thread."""
    from asyncio import Event, get_running_loop  # noqa: PLC0415  who awaits has it already, others need not wait for it

    loop, woken = get_running_loop(), Event()

    def wake() -> None:
        with suppress(RuntimeError):  # the loop is closed, and with it whoever waited in it
            loop.call_soon_threadsafe(woken.set)

    return woken.wait, wake


class _Ending:
    """Wakes who waits for changes when the program ends, so that no waiting thread keeps its process from ending.

    One thread waits for the main thread to be done, from the first time that somebody else waits. The interpreter waits
    for all threads before it calls what is registered with `atexit`; that would be too late.
    """

    def __init__(self) -> None:
        self._waiting: WeakSet[Subscription] = WeakSet()
        self.begin_anew()

    def begin_anew(self) -> None:
        """Also in a forked child: the thread is the parent's."""
        self._lock = threading.Lock()
        self._watcher: threading.Thread | None = None

    def note(self, waiting: Subscription) -> None:
        """End it when the main thread is done; to be called before a thread waits, as often as one likes."""
        with self._lock:
            self._waiting.add(waiting)
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._watch, name="ivm-ending", daemon=True)
                self._watcher.start()
        if not threading.main_thread().is_alive():
            waiting.end()

    def _watch(self) -> None:
        threading.main_thread().join()
        with self._lock:
            waiting = list(self._waiting)
        for each in waiting:
            each.end()


_ending = _Ending()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_ending.begin_anew)
