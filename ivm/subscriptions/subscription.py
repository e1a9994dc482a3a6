"""A subscription: a view's changes as they come, for whoever takes them."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from queue import Empty, SimpleQueue
from time import monotonic, sleep

import pyarrow as pa

from ivm.catalog.errors import Error, InterfaceError, LagError
from ivm.catalog.types import SqlType
from ivm.subscriptions.backlog import Backlog, Netted
from ivm.subscriptions.chosen import Chosen
from ivm.subscriptions.feed import Feed, Link, Reached, Wake
from ivm.subscriptions.forms import Form
from ivm.subscriptions.net import net
from ivm.subscriptions.piece import Piece, joined, make_tables
from ivm.subscriptions.rests import Rests
from ivm.subscriptions.unnamed import spoken
from ivm.subscriptions.waiting import ending, waking
from ivm.subscriptions.wish import Wish

_AT_ONCE = 64
"""So many commits are made tables of together."""


class Subscription:
    """Changes of one view as Arrow tables: the view's columns, then `_time` and `_diff`, or in another form.

    Each commit's changes are consolidated: one row for each (row, time) whose multiplicity changed. Take them with
    `fetch`, with `for changes in subscription`, or with `async for` in any event loop of asyncio. Each table goes to
    one taker. Use as a context manager, or call `close`; it is closed too when its database is closed. Thread-safe:
    commits may come from another thread. Who waits does not keep the program from ending: when the main thread is done,
    all waiting ends as if the subscription had been closed.

    When its view is dropped, all of these raise ViewDroppedError, once what was pending has been taken. When another
    takes the view's place (CREATE OR REPLACE) whose columns have the same names and types, it goes on with that one:
    what tells the new rows from the old ones comes as one change, at the time of the last commit. A view of other
    columns, or one that is not maintained, ends it as a drop does. LagError ends it where more waits than may.
    """

    def __init__(
        self, view: str, empty: pa.Table, types: Sequence[SqlType], close: Callable[[Subscription], None],
        certain: Callable[[], None], feed: Feed, reached: Reached, begins: int, wish: Wish, form: Form,
        chosen: Chosen | None = None,
    ) -> None:  # fmt: skip
        """`certain` returns when what was pushed survives a loss of power, if somebody waits for that.

        `types`: of the columns of the view; `feed`: what is told of it, from now on; `reached`: up to when all was
        told, for all views; `begins`: the time up to which this one knows all by itself; `chosen`: which rows it is
        told of, if not of all.
        """
        self.view = view
        self.chosen = chosen
        self.wish = wish
        self._certain = certain
        self._empty = empty
        self._types = types
        self._close = close
        self._feed = feed
        self._reached = reached
        self._form = form
        self._backlog = Backlog(feed.end)
        self._taken = self._marked = begins
        self._told_at = 0.0
        self._rests = Rests()
        self._lock = threading.RLock()  # in C, so that Ctrl-C never leaves it held; Python's conditions are not
        self._wakes: set[Wake] = set()
        self._refusal = ""
        self.name = ""
        """By which it goes on where all that was acknowledged ended; "" if it has none."""
        self._acknowledge: Callable[[Subscription, int | None], None] | None = None

    @property
    def key(self) -> tuple[str, ...]:
        """The columns by which it is told what has changed; none where it is told of rows."""
        return self._form.key

    @property
    def time(self) -> int:
        """The logical time up to which all changes have been taken: who subscribes again `from_time` misses none.

        It moves on with each commit where nothing waits, also while the view does not change.
        """
        time = self.up_to()
        self._certain()
        return time

    def up_to(self) -> int:
        """As `time`, which may be of a commit that a loss of power takes away."""
        reached = self._reached.time  # first: what is told after this was not reached by then
        with self._lock:
            return max(self._taken, reached) if self._open and self._is_empty else self._taken

    def taken(self) -> tuple[int, bool]:
        """As `up_to`, and whether nothing waits of all that was told by now."""
        with self._lock:
            return self.up_to(), self._open and self._backlog.is_empty

    def acknowledge(self, time: int | None = None) -> None:
        """Say that all changes up to a logical time have been carried out, or all that were taken: who subscribes by
        the same name next is told of those after it, also after the end of the process, however it came.

        On disk, that is certain when this returns. InterfaceError without a name, or if another has subscribed by
        it since; BindError for a time up to which not all was taken; StorageError if it cannot be written, and nothing
        has changed. Cost: on disk, that of two or three syncs.
        """
        self._check_here()
        if self._acknowledge is None:
            raise InterfaceError(
                f"cannot acknowledge changes {spoken(self.view)}: this subscription has no name by which that is kept; "
                "subscribe with name='..'"
            )
        self._acknowledge(self, time)

    def called(self, name: str, acknowledge: Callable[[Subscription, int | None], None]) -> None:
        """It has this name from now on, and `acknowledge` keeps what is acknowledged."""
        self.name, self._acknowledge = name, acknowledge

    @property
    def waiting(self) -> tuple[int, int]:
        """How many commits wait to be taken, and how many changes in them. Cost: a look at each of these commits."""
        rows = [piece.rows for piece in self._backlog.waiting if piece.rows]
        return len(rows), sum(rows)

    @property
    def ended(self) -> str | None:
        """Why nothing will come any more; '' if it was closed, None as long as something may."""
        if self._open:
            return None
        return "" if self._backlog.reason is None else str(self._backlog.reason)

    def fetch(self, timeout: float | None = 0) -> pa.Table:
        """What has changed since it was last asked for, in one table; without rows if nothing has.

        If nothing has, wait for at most `timeout` seconds, or with None until something does, or it is closed. Raises
        ViewDroppedError or LagError if nothing is left, and nothing will come because of what became of its view, or
        because too much came.
        """
        self._check_here()
        if timeout != 0:
            self._wait(lambda: not self._is_empty, timeout)
        with self._lock:
            self._check_goes_on()
            found = self._take_all()
        self._certain()
        return found

    def __iter__(self) -> Iterator[pa.Table]:
        """Tables of changes, one for each commit, or as seldom as was wished; blocks for more until it is closed."""
        while True:
            self._check_here()
            waiting, rest = self._backlog, self._rest()
            if rest:
                sleep(rest)
                self._rests.rested(waiting)
            self._wait(self._is_due, None)
            with self._lock:
                table = self._take_due()
                if table is None:
                    if self._open:
                        continue  # another was first
                    self._check_goes_on()
                    return
            self._certain()
            yield table

    async def __aiter__(self) -> AsyncIterator[pa.Table]:
        """As iterating does, awaiting what it blocks for. A task that is cancelled while it waits has taken nothing."""
        from asyncio import sleep  # noqa: PLC0415  see `waking`

        while True:
            self._check_here()
            waiting, rest = self._backlog, self._rest()
            if rest:
                await sleep(rest)
                self._rests.rested(waiting)
            wait, wake = waking()
            try:
                self._wake_by(wake)
                with self._lock:
                    table = self._take_due()
                    if table is None and not self._open:
                        self._check_goes_on()
                        return
                if table is None:
                    await self._awaited(wait)
            finally:
                self._no_longer_by(wake)
            if table is not None:
                self._certain()
                yield table

    def begin(self, piece: Piece) -> None:
        """What there was comes before what has changed since; called before anybody takes anything."""
        with self._lock:
            self._backlog = replace(self._backlog, pieces=(piece, *self._backlog.pieces))

    def end(self, reason: Error | None = None) -> None:
        """Let go of all who wait; what is pending can still be read. After that a `reason` is raised."""
        with self._lock:
            if self._open:
                self._backlog = self._backlog.ended(reason)
            self._wake()

    def close(self) -> None:
        """Stop receiving; iteration ends when what is pending has been read. Once is enough."""
        self._check_here()
        self._let_go()

    def fork(self, refusal: str = "") -> None:
        """In a process that was forked: nobody waits here. Who takes anything is told a `refusal`, if there is one."""
        self._lock, self._wakes = threading.RLock(), set()
        self._feed.wakes, self._reached.wakes = set(), set()
        self._refusal = refusal

    @property
    def at(self) -> Link:
        """Where it stands in the feed."""
        return self._backlog.at

    @property
    def room(self) -> int:
        """How many more commits may wait before there are too many; none, or fewer, where there are."""
        return self.wish.limit - self._backlog.behind(self._feed.end) if self._open else self.wish.limit

    def relieve(self, known: Netted) -> None:
        """Do what was wished for when too much waits, but for `block`, which is for those who commit.

        It may be interrupted, and called again. `known`: what is done once for all who stand at one place.
        """
        if self.wish.when_full == "coalesce":
            with self._lock:
                self._backlog = self._backlog.netted(self._types, known)
        elif self.wish.when_full == "fail":
            with self._lock:
                if self._is_empty or self.room > 0:
                    return
                self._backlog = Backlog(self._feed.end).ended(LagError(self._lag()))

    def has_room(self, timeout: float) -> bool:
        """Whether less waits than may, or nobody listens any more; wait for that for so many seconds at most."""
        self._wait(lambda: self.room > 0, timeout)
        return self.room > 0

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
        reason = self._backlog.reason
        if reason is not None and self._is_empty:
            raise type(reason)(*reason.args)

    @property
    def _open(self) -> bool:
        """Whether more may come."""
        return not self._backlog.over

    def _lag(self) -> str:
        again = "snapshot=True"
        if self._taken >= 0:
            again = f"from_time={self._taken}, as far as connect(history=..) reaches, or with {again}"
        return (
            f"cannot tell more changes {spoken(self.view)}: {self.wish.limit} commits and more waited to be taken; "
            f"subscribe again with {again}"
        )

    @property
    def _is_empty(self) -> bool:
        """Whether nothing waits in which something changes: a commit may have taken back what it did."""
        with self._lock:
            left = self._backlog.behind_nothing()
            if left is not self._backlog:
                self._backlog = left
                if self.wish.when_full == "block":
                    self._wake()
            return left.is_empty

    def _rest(self) -> float:
        """Seconds for who iterates to rest before he waits. Tables of what waits are made together, if it is much."""
        backlog = self._backlog
        if not self.wish.is_rare and not backlog.is_empty and backlog.first.made is None:
            waiting = backlog.some(_AT_ONCE)
            if len(waiting) > 1:
                make_tables(waiting)
        return self._rests.due() if self._open and not self._is_due() else 0.0

    def _is_due(self) -> bool:
        """Whether there is something for who iterates."""
        if not self._has_more():
            return False
        enough = not self.wish.commits or self._reached.time - self._marked >= self.wish.commits
        return not self._open or (enough and self._early() <= 0)

    def _has_more(self) -> bool:
        return not self._is_empty or (self.wish.progress and self.up_to() > self._marked)

    def _early(self) -> float:
        """Seconds until another table may be told."""
        return self._told_at + self.wish.seconds - monotonic() if self.wish.seconds else 0.0

    def _take_due(self) -> pa.Table | None:
        """What who iterates is to be given now; the lock is held."""
        if not self._is_due():
            return None
        if self._is_empty or self.wish.is_rare:
            found = self._take_all()
        else:
            found = self._form.told(self._take([self._backlog.first], self._backlog.behind_first()))
        self._marked, self._told_at = self.up_to(), monotonic()
        return found if found.num_rows or self.wish.progress else None

    def _take_all(self) -> pa.Table:
        """All that is pending, in one table; the lock is held."""
        left, pieces = self._backlog, list[Piece]()
        while not left.is_empty:
            pieces.append(left.first)
            left = left.behind_first()
        return self._form.told(self._take(pieces, left) if pieces else self._empty)

    def _take(self, pieces: Sequence[Piece], left: Backlog) -> pa.Table:
        """These, after which the others are left, in one table; the lock is held."""
        is_netted = len(pieces) > 1 and self.wish.is_rare
        found = net(pieces, self._types).table if is_netted else joined(pieces)
        self._backlog = left
        self._taken = pieces[-1].time
        if self.wish.when_full == "block":
            self._wake()
        return found

    def _wait(self, is_there: Callable[[], bool], timeout: float | None) -> None:
        """Wait until something is there or it is closed, or `timeout` seconds have passed."""
        if is_there():
            return
        until = None if timeout is None else monotonic() + timeout
        woken: SimpleQueue[None] = SimpleQueue()
        wake = partial(woken.put, None)
        try:
            self._wake_by(wake)
            while self._open and not is_there():
                left = None if until is None else until - monotonic()
                if left is not None and left <= 0:
                    return
                early = self._early()
                if early > 0 and self._has_more():
                    left = early if left is None else min(left, early)
                with suppress(Empty):
                    woken.get(timeout=left)
        finally:
            self._no_longer_by(wake)

    async def _awaited(self, wait: Callable[[], Awaitable[object]]) -> None:
        """Wait to be woken, or until it is time for what waits already."""
        from asyncio import wait_for  # noqa: PLC0415  see `waking`

        early = self._early()
        with suppress(TimeoutError):
            await wait_for(wait(), early if early > 0 and self._has_more() else None)

    def _wake_by(self, wake: Wake) -> None:
        """Be woken by this, from now on, when something comes."""
        self._wakes.add(wake)
        self._feed.wakes.add(wake)
        if self.wish.progress or self.wish.commits:
            self._reached.wakes.add(wake)
        ending.note(self)

    def _no_longer_by(self, wake: Wake) -> None:
        for wakes in (self._wakes, self._feed.wakes, self._reached.wakes):
            wakes.discard(wake)

    def _wake(self) -> None:
        for wake in tuple(self._wakes):
            wake()
