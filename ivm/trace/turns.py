"""A lock in turns: threads have it in the order in which they come, and long work lets others go first."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType

from catalog.errors import InterfaceError


@dataclass(eq=False, slots=True)
class _Waiter:
    """A thread in the queue; `gate` opens when its turn has come."""

    thread: int
    depth: int
    gate: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.gate.acquire()


class Turns:
    """A re-entrant lock, first come first served. Use as a context manager.

    Python's own locks favour the thread that runs: one that lets go and comes back at once is there before any that
    waits. Here the turn is handed to the one that has waited longest. Cost: a microsecond where nobody waits.
    """

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._waiting: deque[_Waiter] = deque()
        self._owner: int | None = None
        self._depth = 0
        self._refusal = ""

    @property
    def closed(self) -> bool:
        """Whether nobody is let in any more."""
        return bool(self._refusal)

    def close(self, refusal: str) -> None:
        """Let nobody in from now on, those that wait included: they get an InterfaceError that says `refusal`."""
        self._refusal = refusal

    def check_open(self) -> None:
        """Raise InterfaceError if it is closed."""
        if self._refusal:
            raise InterfaceError(self._refusal)

    def __enter__(self) -> None:
        me = threading.get_ident()
        waiter = None
        with self._mutex:
            if self._owner is None:
                self._owner = me
            if self._owner == me:
                self._depth += 1
            else:
                waiter = self._queued(1)
        if waiter is not None:
            self._wait(waiter)
        if self._refusal:
            self.__exit__(None, None, None)
            raise InterfaceError(self._refusal)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._mutex:
            self._depth -= 1
            if self._depth == 0:
                self._hand_over()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Let everybody else in while the block runs; after it all who wait then go first. The caller has the turn."""
        with self._mutex:
            depth = self._depth
            self._hand_over()
        try:
            yield
        finally:
            with self._mutex:
                waiter = None if self._owner is None else self._queued(depth)
                if waiter is None:
                    self._owner, self._depth = threading.get_ident(), depth
            if waiter is not None:
                self._come_back(waiter)

    def let_others_in(self) -> None:
        """Whoever waits goes first; nothing happens if nobody does. The caller has the turn."""
        if self._waiting:
            with self.aside():
                pass

    def _queued(self, depth: int) -> _Waiter:
        waiter = _Waiter(threading.get_ident(), depth)
        self._waiting.append(waiter)
        return waiter

    def _wait(self, waiter: _Waiter) -> None:
        """Wait for the turn; an interrupted thread is out of the queue, and has no turn."""
        try:
            waiter.gate.acquire()
        except BaseException:
            with self._mutex:
                if waiter in self._waiting:
                    self._waiting.remove(waiter)
                else:
                    self._hand_over()
            raise

    def _come_back(self, waiter: _Waiter) -> None:
        """Wait for the turn of one who had it, and has it again also if it is interrupted."""
        interrupted: BaseException | None = None
        while True:
            try:
                waiter.gate.acquire()
                break
            except BaseException as error:  # noqa: BLE001  raised below
                interrupted = error
        if interrupted is not None:
            raise interrupted

    def _hand_over(self) -> None:
        """Give the turn to the next; the mutex is held."""
        if self._waiting:
            waiter = self._waiting.popleft()
            self._owner, self._depth = waiter.thread, waiter.depth
            waiter.gate.release()
        else:
            self._owner, self._depth = None, 0
