"""Who holds a database's lock, from where and for how long, and what that time was spent on.

A thread that holds a lock computes, waits for a processor that another program has, or is blocked: by Python's own
lock, by the disk, by a thread that helps. Linux tells the first two of each thread; the third is the rest.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from ivm.trace.turns import Turns

T = TypeVar("T")
_KEPT = 1 << 12
_NOTED = 0.005
"""Seconds from which on one is kept by itself."""
_LONG = 0.02
"""Seconds from which on somebody looks what the holder does."""
_LOOK = 0.005
_FUNCTIONS = 3
_UNTOLD = {__file__, sys.modules[Turns.__module__].__file__}


class Spent(NamedTuple):
    """What a thread has spent, in seconds: all, computing, waiting for a processor."""

    wall: float
    computing: float
    queued: float

    def since(self, before: Spent) -> Spent:
        """What was spent since."""
        return Spent(self.wall - before.wall, self.computing - before.computing, self.queued - before.queued)

    @property
    def blocked(self) -> float:
        """Neither computing nor waiting for a processor."""
        return max(self.wall - self.computing - self.queued, 0.0)


_NOTHING = Spent(0.0, 0.0, 0.0)


class _Schedule:
    """What Linux says of a thread, as long as that is there."""

    def __init__(self) -> None:
        path = f"/proc/self/task/{threading.get_native_id()}/schedstat"
        self.descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def __del__(self) -> None:
        os.close(self.descriptor)


class _Thread(threading.local):
    """The thread that asks."""

    def __init__(self) -> None:
        self.schedule = _Schedule()


_thread = _Thread()


def spent() -> Spent:
    """What this thread has spent so far. Cost: some microseconds."""
    _, queued, _ = os.pread(_thread.schedule.descriptor, 64, 0).split()
    return Spent(time.perf_counter(), time.thread_time(), int(queued) / 1e9)


@dataclass(slots=True)
class Hold:
    """Once that a thread had the lock: from where, how long it had waited for it, since when, and what it spent."""

    thread: str
    where: str
    waited: float
    begun: float
    spent: Spent
    seen: Sequence[tuple[str, int]] = ()
    """Where it was when somebody looked, and how often."""

    def text(self) -> str:
        """In a line, in milliseconds."""
        wall, computing, queued, blocked = (each * 1e3 for each in (*self.spent, self.spent.blocked))
        parts = f"{computing:.0f} computing, {queued:.0f} queued, {blocked:.0f} blocked"
        seen = "".join(f"; {times} x {where}" for where, times in self.seen)
        return f"{wall:.0f} ms ({parts}) {self.thread}: {self.where}{seen}"


@dataclass(slots=True)
class Place:
    """All holds from one place."""

    times: int = 0
    longest: float = 0.0
    most_computing: float = 0.0
    spent: Spent = _NOTHING

    def add(self, spent: Spent) -> None:
        """One more."""
        self.times += 1
        self.longest = max(self.longest, spent.wall)
        self.most_computing = max(self.most_computing, spent.computing)
        self.spent = Spent(*(one + other for one, other in zip(self.spent, spent, strict=True)))


class Watched(Turns):
    """A lock in turns that knows who has it and who had it: `holds` those that were long, `places` all together."""

    def __init__(self, like: Turns) -> None:
        """`like`: whom it replaces, which nobody has or waits for."""
        super().__init__(like._begin)
        self.holds: deque[Hold] = deque(maxlen=_KEPT)
        self.places: dict[str, Place] = {}
        self._depth = 0
        self._current: tuple[int, str, float, Spent, Counter[str]] | None = None

    def __enter__(self) -> None:
        inside, asked = self._is_owned(), time.perf_counter()
        super().__enter__()
        self._depth += 1
        if not inside:
            self._begun(asked)

    def __exit__(self, *error: Any) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._ended()
        super().__exit__(*error)

    def aside(self, work: Callable[[], T]) -> T:
        """As it is; what comes after it is another hold."""
        depth, self._depth = self._depth, 0
        self._ended()
        asked = time.perf_counter()

        def begins_to_wait() -> T:
            nonlocal asked
            try:
                return work()
            finally:
                asked = time.perf_counter()

        try:
            return super().aside(begins_to_wait)
        finally:
            self._depth = depth
            self._begun(asked)

    def look(self) -> None:
        """Note where the holder is, if it has had the lock for long."""
        current = self._current
        if current is not None and time.perf_counter() - current[3].wall > _LONG:
            frame = sys._current_frames().get(current[0])
            if frame is not None and self._current is current:
                current[4][_where(frame)] += 1

    def _begun(self, asked: float) -> None:
        now = spent()
        self._current = threading.get_ident(), _where(sys._getframe(2)), now.wall - asked, now, Counter()

    def _ended(self) -> None:
        if self._current is None:
            return
        (_, where, waited, begun, seen), self._current = self._current, None
        used = spent().since(begun)
        self.places.setdefault(where, Place()).add(used)
        if used.wall >= _NOTED or waited >= _NOTED:
            thread = threading.current_thread().name
            self.holds.append(Hold(thread, where, waited, begun.wall, used, seen.most_common(2)))

    def between(self, begun: float, ended: float) -> Sequence[tuple[float, Hold]]:
        """Who held it for long between two moments, and for how many seconds of these, longest first."""
        found = []
        for hold in tuple(self.holds):
            shared = min(ended, hold.begun + hold.spent.wall) - max(begun, hold.begun)
            if shared >= _NOTED:
                found.append((shared, hold))
        return sorted(found, key=lambda each: -each[0])


def _where(frame: Any) -> str:
    """The innermost functions, the last one first."""
    found: list[str] = []
    while frame is not None and len(found) < _FUNCTIONS:
        code = frame.f_code
        if code.co_filename not in _UNTOLD:
            found.append(f"{os.path.basename(code.co_filename)[:-3]}.{code.co_name}")
        frame = frame.f_back
    return " < ".join(found)


@contextmanager
def looked_at(lock: Watched) -> Iterator[None]:
    """Meanwhile a thread looks now and then at what is done by those who hold the lock for long."""
    over = threading.Event()

    def look() -> None:
        while not over.wait(_LOOK):
            lock.look()

    looker = threading.Thread(target=look, name="looker", daemon=True)
    looker.start()
    try:
        yield
    finally:
        over.set()
        looker.join()
