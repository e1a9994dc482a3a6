"""The backlog: what has taken effect and is to be written, by a thread of its own, in its order.

So a commit that does not wait for the disk does not wait for its record to be made, summed up and written either. What
is on the disk is at any time what was kept up to some point.
"""

from __future__ import annotations

import threading
from _thread import LockType, allocate_lock
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Generic, NamedTuple, TypeVar

from ivm.catalog.errors import StorageError
from ivm.storage.log import Draft, Log, reason

T = TypeVar("T")

MOST_BYTES = 1 << 27
"""So much may be left to be written, and one commit more, ..."""
MOST_LEFT = 1 << 10
"""... or so many of them."""
_NAP_SECONDS = 0.01
"""So long more may come before they are written: a thread that is woken for each disturbs the one at work."""
_WAIT_SECONDS = 1.0


class Handed(NamedTuple, Generic[T]):
    """What is to be written: the how manieth it is, and the bytes of all that was handed over, with it."""

    number: int
    upto: int
    what: T


class _Waiting(NamedTuple):
    """Somebody who waits at a gate until something is so."""

    is_so: Callable[[], bool]
    gate: LockType


class Backlog(Generic[T]):
    """Writes into a log, which nobody else writes meanwhile. What is `put` counts when it is kept.

    `put` and `keep` are called under the lock of commits, all else by any thread.
    """

    def __init__(self, log: Log, records: Callable[[Sequence[T]], Iterable[tuple[Draft, int]]]) -> None:
        """`records` makes the records of what was handed over, in its order, and says how much of it each covers."""
        self._log = log
        self._records = records
        self._number = self._done = 0
        self._upto = self._at = 0
        self._time: int | None = None
        self._error: BaseException | None = None
        self._queue: SimpleQueue[Handed[T] | None] = SimpleQueue()
        self._waiting: list[_Waiting] = []
        self._nap = allocate_lock()
        self._nap.acquire()
        self._thread = threading.Thread(target=self._work, name="ivm-log", daemon=True)
        self._thread.start()

    def put(self, what: T, size: int) -> Handed[T]:
        """What is to be written once it is kept, of some `size` in bytes; StorageError if nothing is any more."""
        self.check()
        return Handed(self._number + 1, self._upto + size, what)

    def keep(self, handed: Handed[T]) -> None:
        """It counts, and is written soon. It may be interrupted, and called again."""
        if handed.number > self._number:
            self._queue.put(handed)  # twice, after an interruption: only one is written
            self._upto = handed.upto
            self._number = handed.number

    def make_room(self) -> None:
        """Return when no more than `MOST_BYTES` and `MOST_LEFT` are left, at once if there is no more."""
        if self._upto - self._at > MOST_BYTES or self._number - self._done > MOST_LEFT:
            self._wait(self._is_half_empty)

    def finish(self) -> None:
        """Return when all that was kept is written; StorageError if that is not possible."""
        number = self._number
        self._wait(lambda: self._done >= number)
        self.check()

    def end(self) -> None:
        """Return when all is written, or cannot be; nothing is written any more. Once is enough."""
        self._queue.put(None)
        self._wake()
        self._thread.join()

    def check(self) -> None:
        """StorageError if something could not be written."""
        if isinstance(self._error, StorageError):
            raise self._error
        if self._error is None:
            self._log.check()
            return
        why = reason(self._error) if isinstance(self._error, OSError) else repr(self._error)
        since = "" if self._time is None else f", all after time {self._time},"
        raise StorageError(
            f"cannot commit: {self._log.where} could not be written: {why}. The last {self._number - self._done} "
            f"of the commits and definitions that took effect{since} are not on the disk, so no more are taken; read "
            "what you need, make room, close the database and open it again, which shows what is there"
        ) from self._error

    def _work(self) -> None:
        try:
            while True:
                several, is_last = self._taken()
                self._write(several)
                several = []  # what they hold goes, while there is nothing to do
                if is_last:
                    return
        except BaseException as error:  # noqa: BLE001  whoever commits next is told
            self._error = error
            self._tell()

    def _taken(self) -> tuple[list[Handed[T]], bool]:
        """What there is, soon after something has come, and whether nothing more will."""
        several: list[Handed[T]] = []
        handed, number = self._queue.get(), self._done
        self._nap.acquire(timeout=_NAP_SECONDS)
        with suppress(Empty):
            while handed is not None:
                if handed.number > number:
                    several.append(handed)
                    number = handed.number
                handed = self._queue.get_nowait()
        return several, handed is None

    def _write(self, several: Sequence[Handed[T]]) -> None:
        done = 0
        for draft, count in self._records([each.what for each in several]):
            self._log.append(draft)
            done += count
            self._time, self._at, self._done = draft.time, several[done - 1].upto, several[done - 1].number
            self._tell()
        self._tell()

    def _tell(self) -> None:
        """Let those go on who wait for what is so by now."""
        for each in tuple(self._waiting):
            if self._error is not None or each.is_so():
                self._waiting.remove(each)
                each.gate.release()

    def _wake(self) -> None:
        """Somebody waits for what is written."""
        with suppress(RuntimeError):  # it is awake, or will be
            self._nap.release()

    def _is_half_empty(self) -> bool:
        return self._upto - self._at <= MOST_BYTES // 2 and self._number - self._done <= MOST_LEFT // 2

    def _wait(self, is_so: Callable[[], bool]) -> None:
        """Return when this is so, or nothing is written any more."""
        while not is_so() and self._error is None and self._thread.is_alive():
            gate = allocate_lock()
            gate.acquire()
            self._waiting.append(_Waiting(is_so, gate))
            self._wake()
            if not is_so() and self._error is None:
                gate.acquire(timeout=_WAIT_SECONDS)
