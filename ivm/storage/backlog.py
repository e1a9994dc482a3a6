"""The backlog: records of commits that have taken effect, which a thread of its own writes, one after the other.

So a commit that does not wait for the disk does not wait for its record to be made, summed up and written either. What
is on the disk is at any time the records up to one of them.
"""

from __future__ import annotations

import threading
from _thread import LockType, allocate_lock
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import NamedTuple

from catalog.errors import StorageError
from ivm.storage.log import Draft, Log, reason

MOST_BYTES = 1 << 26
"""So much may be left to be written, and one record more, ..."""
MOST_RECORDS = 1 << 10
"""... or so many records."""
_NAP_SECONDS = 0.003
"""So long more may come before they are written: a thread that is woken for each disturbs the one at work."""
_WAIT_SECONDS = 1.0


class Handed(NamedTuple):
    """A record that is to be written: which one it is, and the bytes of all that were handed over, with it."""

    number: int
    upto: int
    draft: Draft


class _Waiting(NamedTuple):
    """Somebody who waits at a gate until something is so."""

    is_so: Callable[[], bool]
    gate: LockType


class Backlog:
    """Writes records into a log, which nobody else writes meanwhile. A record that is `put` counts when it is kept.

    `put` and `keep` are called under the lock of commits, all else by any thread. `number` is that of the last record
    that was kept.
    """

    def __init__(self, log: Log) -> None:
        self.number = self._done = log.number
        self._upto = self._at = 0
        self._log = log
        self._time: int | None = None
        self._error: BaseException | None = None
        self._queue: SimpleQueue[Handed | None] = SimpleQueue()
        self._waiting: list[_Waiting] = []
        self._nap = allocate_lock()
        self._nap.acquire()
        self._thread = threading.Thread(target=self._work, name="ivm-log", daemon=True)
        self._thread.start()

    def put(self, draft: Draft) -> Handed:
        """What is to be written once it is kept; StorageError if nothing is written any more."""
        self.check()
        return Handed(self.number + 1, self._upto + draft.size, draft)

    def keep(self, handed: Handed) -> None:
        """The record counts, and is written soon. It may be interrupted, and called again."""
        if handed.number > self.number:
            self._queue.put(handed)  # twice, after an interruption: only one is written
            self._upto = handed.upto
            self.number = handed.number

    def make_room(self) -> None:
        """Return when no more than `MOST_BYTES` and `MOST_RECORDS` are left, at once if there is no more."""
        if self._upto - self._at > MOST_BYTES or self.number - self._done > MOST_RECORDS:
            self._wait(self._is_half_empty)

    def finish(self) -> None:
        """Return when all that was kept is written; StorageError if that is not possible."""
        number = self.number
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
            f"cannot commit: {self._log.where} could not be written: {why}. The last {self.number - self._log.number} "
            f"of the commits and definitions that took effect{since} are not on the disk, so no more are taken; read "
            "what you need, make room, close the database and open it again, which shows what is there"
        ) from self._error

    def _work(self) -> None:
        try:
            while self._drain(self._queue.get()):
                pass
        except BaseException as error:  # noqa: BLE001  whoever commits next is told
            self._error = error
            self._tell()

    def _drain(self, handed: Handed | None) -> bool:
        """Write what there is, of which this is the first; whether more may come."""
        self._nap.acquire(timeout=_NAP_SECONDS)
        while handed is not None:
            if handed.number > self._done:
                self._log.keep(self._log.write(handed.draft))
                self._time, self._at, self._done = handed.draft.time, handed.upto, handed.number
            handed = None  # what it holds goes, while there is nothing to do
            self._tell()
            if self._queue.empty():
                return True
            handed = self._queue.get()
        return False

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
        return self._upto - self._at <= MOST_BYTES // 2 and self.number - self._done <= MOST_RECORDS // 2

    def _wait(self, is_so: Callable[[], bool]) -> None:
        """Return when this is so, or nothing is written any more."""
        while not is_so() and self._error is None and self._thread.is_alive():
            gate = allocate_lock()
            gate.acquire()
            self._waiting.append(_Waiting(is_so, gate))
            self._wake()
            if not is_so() and self._error is None:
                gate.acquire(timeout=_WAIT_SECONDS)
