"""Threads that help the one that works on many rows: compiled loops and Arrow let go of the interpreter's lock.

Work is handed out as errands. Each is done once: by a helper that is free, or by whoever needs what comes of it and
finds that nobody has begun. So nobody waits for a helper that is busy elsewhere, and one thread does all of it if none
is there. What comes of it, or which error is raised, does not depend on who did it.

Whoever hands out errands (`Errands`) waits for those that a helper has begun before anything that they touch is undone.
"""

from __future__ import annotations

import os
import threading
from _thread import allocate_lock, get_ident
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Generic, TypeVar
from weakref import finalize

from ivm.trace.lessons import Lessons, Work, here

LARGE = 1 << 14
"""Rows from which on it is worth it: handing an errand out takes some 30 microseconds."""
_PART = 1 << 15
_WAIT_SECONDS = 1.0

T = TypeVar("T")


class Errand(Generic[T]):
    """Some work that is done once, by whoever claims it first."""

    __slots__ = ("_error", "_owner", "_result", "_running", "_work", "is_over")

    def __init__(self, work: Callable[[], T]) -> None:
        self._work: Callable[[], T] | None = work
        self._owner: dict[None, int] = {}
        self.is_over = False
        self._running = allocate_lock()
        self._running.acquire()
        self._error: BaseException | None = None
        self._result: T

    def claim(self) -> bool:
        """Claim it for this thread; whether it is this thread's now.

        It is one call of C, so nothing can come between the question and the answer.
        """
        me = get_ident()
        return self._owner.setdefault(None, me) == me

    def run(self) -> None:
        """Do the work, in the thread that has claimed it; keep its result, or its error, for `get`."""
        try:
            assert self._work is not None
            self._result = self._work()
        except BaseException as error:  # noqa: BLE001  it is raised where the result is wanted
            self._error = error
        finally:
            self._work = None
            self.is_over = True
            self._running.release()

    def wait(self) -> None:
        """Let it end if another thread is at it; if nobody is, nobody will be. May be interrupted, and called again."""
        if not self.claim():
            while not self.is_over:
                self._running.acquire(timeout=_WAIT_SECONDS)

    def get(self) -> T:
        """What came of it; raises what it raised. It is done here and now if nobody has begun."""
        if not self.is_over:
            if self.claim():
                self.run()
            else:
                self.wait()
        if self._error is not None:
            raise self._error
        return self._result


class Helpers:
    """Up to `threads` - 1 threads, which begin with the first errand, and end with the process or when it is closed.

    A child of a fork has none of its parent's threads: it begins its own.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._queue: SimpleQueue[Errand[Any] | None] = SimpleQueue()
        self._begun = 0
        self._process = os.getpid()
        self._closed = False
        finalize(self, _end, self._queue, threads)

    def put(self, errand: Errand[Any]) -> None:
        """Queue an errand for the helpers; where there are none, `get` does it."""
        if self._process != os.getpid():
            self._queue, self._begun, self._process = SimpleQueue(), 0, os.getpid()
            finalize(self, _end, self._queue, self.threads)
        while self._begun < self.threads - 1 and not self._closed:
            self._begun += 1
            try:
                threading.Thread(target=_help, args=(self._queue,), name=f"ivm-{self._begun}", daemon=True).start()
            except RuntimeError:  # the system has no more threads
                self._begun -= 1
                break
        if self._begun and not self._closed:  # else nobody takes it out again
            self._queue.put(errand)

    def close(self) -> None:
        """Let the threads end, each after what it is at. Errands are still done, by whoever needs them."""
        self._closed = True
        _end(self._queue, self.threads)


class Errands:
    """The errands of one piece of work, and of one thread at a time; as a context, what `at_hand` gives to it.

    Nobody but that thread hands any out, waits or finishes. What its searches meet goes to `lessons`, if it has any.
    """

    def __init__(self, helpers: Helpers, lessons: Lessons | None = None) -> None:
        self._helpers = helpers
        self._lessons = lessons
        self.out: list[Errand[Any]] = []
        """Those that somebody may be at."""
        self._before: Work = None, None

    def send(self, work: Callable[[], T]) -> Errand[T]:
        """Hand out some work. It must not matter to it what else is done until its result is taken."""
        errand = Errand(work)
        self.out.append(errand)
        self._helpers.put(errand)
        return errand

    def all(self, works: Sequence[Callable[[], T]]) -> list[T]:
        """Do all of these side by side; raises what the first of them raises that does."""
        mine, *others = errands = [Errand(work) for work in works]
        for errand in others:
            self.out.append(errand)
            self._helpers.put(errand)
        try:
            mine.get()
            _do(others)
            return [errand.get() for errand in errands]
        finally:
            for errand in others:
                errand.wait()
                self.out.remove(errand)

    def finish(self) -> None:
        """Let all that are out be done; raises what the first of them raised that did."""
        _do(self.out)
        for errand in self.out:
            errand.get()
        self.out.clear()

    def wait(self) -> None:
        """Let end what a helper has begun; of the others nothing is done any more. May be interrupted, called again."""
        while self.out:
            self.out[-1].wait()
            self.out.pop()

    def __enter__(self) -> None:
        self._before = before = here.work
        here.work = (
            self if self._helpers.threads > 1 else None,
            before[1] if self._lessons is None else self._lessons,
        )

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        here.work = self._before


def _do(errands: Sequence[Errand[Any]]) -> None:
    """Do what nobody is at, before anybody waits for what somebody is at."""
    for errand in errands:
        if not errand.is_over and errand.claim():
            errand.run()


def at_hand(rows: int) -> Errands | None:
    """By which this thread lets others help it with so many rows; None if it does them alone."""
    errands: Errands | None = None if rows < LARGE else here.work[0]
    return errands


@contextmanager
def alone() -> Iterator[None]:
    """Nobody helps this thread meanwhile."""
    before = here.work
    here.work = None, before[1]
    try:
        yield
    finally:
        here.work = before


def side_by_side(works: Sequence[Callable[[], T]], rows: int) -> list[T]:
    """Do all of these, which go through so many rows each; raises what the first of them raises that does."""
    errands = at_hand(rows) if len(works) > 1 else None
    return [work() for work in works] if errands is None else errands.all(works)


def parts(rows: int) -> list[slice]:
    """So many rows, at least one, in pieces that are worth an errand each: two of them or more."""
    count = min(max(2, -(-rows // _PART)), rows)
    bounds = [rows * i // count for i in range(count + 1)]
    return [slice(begin, end) for begin, end in pairwise(bounds)]


def cores() -> int:
    """How many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # a system that does not say
        return os.cpu_count() or 1


def _help(queue: SimpleQueue[Errand[Any] | None]) -> None:
    while True:
        errand = queue.get()
        if errand is None:
            return
        if errand.claim():
            errand.run()
        del errand  # what it holds goes, while nothing is to be done


def _end(queue: SimpleQueue[Errand[Any] | None], threads: int) -> None:
    for _ in range(threads - 1):
        queue.put(None)
