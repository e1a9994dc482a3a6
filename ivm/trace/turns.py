"""A lock in turns: threads have it in the order in which they come, and long work lets others go first.

It is Python's own re-entrant lock, whose release is one call in C, so that no interruption (Ctrl-C) leaves it held.
That lock favours the thread that runs: one that lets go and comes back at once is there before any that waits. Hence
the second lock: who finds the first one taken queues for it behind that.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ivm.catalog.errors import InterfaceError

if TYPE_CHECKING:

    class RLock:
        """What Python's conditions use of it, which its public types keep to themselves."""

        acquire: Callable[..., bool]
        release: Callable[[], None]

        def __exit__(self, *error: Any) -> None: ...

        _is_owned: Callable[[], bool]
        _release_save: Callable[[], tuple[int, int]]
        _acquire_restore: Callable[[tuple[int, int]], None]
        _at_fork_reinit: Callable[[], None]

else:
    from _thread import RLock

T = TypeVar("T")


class Aside(Protocol):
    """Does some work and returns what that returns; others may be let in meanwhile."""

    def __call__(self, work: Callable[[], T], /) -> T:
        """Do the work."""
        ...


def at_once(work: Callable[[], T], /) -> T:
    """Do the work now, and let nobody in."""
    return work()


def _nothing() -> None:
    pass


class Turns(RLock):
    """A re-entrant lock, first come first served. Use as a context manager.

    `begin` is called by whoever has just got it, and lets go of it again if that raises. Cost: a microsecond where
    nobody waits.
    """

    def __init__(self, begin: Callable[[], None] = _nothing) -> None:
        self._begin = begin
        self._next = threading.Lock()
        self._waiting: set[int] = set()
        self.within: set[int] = set()
        """Threads that may not have it, since they are in a function of the application's that is called for it."""
        self.refusal = ""
        """What those are told who come when nobody is let in any more; empty as long as it is open."""

    @property
    def closed(self) -> bool:
        """Whether nobody is let in any more."""
        return bool(self.refusal)

    def close(self, refusal: str) -> None:
        """Let nobody in from now on, those that wait included: they get an InterfaceError that says `refusal`."""
        self.refusal = refusal

    def fork(self) -> bool:
        """In a process that was forked, whose other threads are not here: none of them has it, or waits.

        Whether none had it: what it was taken for is whole.
        """
        is_free = self.acquire(blocking=False)
        if is_free:
            self.release()
        else:
            self._at_fork_reinit()
        self._next = threading.Lock()
        self._waiting = set()
        return is_free

    def check_open(self) -> None:
        """Raise InterfaceError if it is closed."""
        if self.refusal:
            raise InterfaceError(self.refusal)

    def check_outside(self) -> None:
        """Raise InterfaceError in a function of the application's that is called for it."""
        if self.within and threading.get_ident() in self.within:
            raise InterfaceError(
                "cannot use this database in a function that it calls itself; have what the function needs in memory"
            )

    def __enter__(self) -> None:
        inside = self._is_owned()
        if self.within:
            self.check_outside()
        try:
            # Who is inside already cannot be interrupted before the lock is counted once more.
            if inside:
                self.acquire()
            else:
                if self._waiting or not self.acquire(False):
                    self._queue()
                self._begin()
            if self.refusal:
                self.check_open()
        except BaseException:
            try:  # noqa: SIM105  a call in Python could be interrupted
                self.release()
            except RuntimeError:  # it has not got the lock yet
                pass
            raise

    def aside(self, work: Callable[[], T]) -> T:
        """Do `work` while everybody else is let in; then those who wait go first. The caller has the turn.

        It has it again afterwards, whatever is raised.
        """
        held = (1, threading.get_ident())
        try:
            held = self._release_save()
            done = work()
            if self._waiting:
                with self._next:
                    pass
        finally:
            self._acquire_restore(held)
        self._begin()
        return done

    def let_others_in(self) -> None:
        """Whoever waits goes first; nothing happens if nobody does. The caller has the turn."""
        if self._waiting:
            self.aside(_nothing)

    def _queue(self) -> None:
        """Acquire the lock, behind those who wait for it."""
        me = threading.get_ident()
        try:
            self._waiting.add(me)
            with self._next:
                self.acquire()
        finally:
            self._waiting.discard(me)
