"""Work that goes on bit by bit, whenever somebody has time for it.

It runs in a thread of its own, which rests between two bits until it is told to go on: so of the two, the thread and
who tells it, only one is at work at any time. What interrupts the other one (Ctrl-C) does not interrupt the work.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from math import inf
from time import perf_counter
from weakref import finalize

Rest = Callable[[int], None]
"""Called between two bits, with the rows that the last one has read."""
Work = Callable[[Rest], None]
_LOOK = 0.1
"""Seconds after which one who waits looks again, should a signal have come at a bad moment."""


class _Ended(BaseException):
    """The work is not wanted any more."""


class _Hand:
    """What both threads know: how often the work was to go on (`wanted`), and for which of these it has come to rest.

    Each number is written by one of them.
    """

    def __init__(self) -> None:
        self.wanted = 0
        self.rested = 0
        self.until = 0.0
        self.rows = 0
        self.ends = False
        self.is_over = False
        self.error: BaseException | None = None
        self.wake = threading.Event()
        self.came = threading.Event()
        self._at = 0

    def rest(self, rows: int) -> None:
        """A bit is done."""
        self.rows += rows
        if perf_counter() >= self.until:
            self.wait()

    def wait(self) -> None:
        """Until it is to go on."""
        self.rested = self._at
        self.came.set()
        while self.wanted == self._at and not self.ends:
            self.wake.wait()
            self.wake.clear()
        self._at = self.wanted
        if self.ends:
            raise _Ended

    def end(self) -> None:
        """Let the work end at its next rest."""
        self.ends = True
        self.until = 0.0
        self.wake.set()


class Growth:
    """Some work. It must not refer to this object: where nobody does, the work ends."""

    def __init__(self, work: Work) -> None:
        self._hand = _Hand()
        self._thread = threading.Thread(target=_run, args=(self._hand, work), name="ivm-filling", daemon=True)
        self._thread.start()
        finalize(self, self._hand.end).atexit = False

    @property
    def is_over(self) -> bool:
        """Whether all is done, or has failed."""
        return self._hand.is_over

    def advance(self, seconds: float) -> int:
        """Go on for about so long; the rows that were read for it."""
        self.settle()
        hand, before = self._hand, self._hand.rows
        hand.until = perf_counter() + seconds
        hand.wanted += 1
        self.settle()
        return hand.rows - before

    def finish(self) -> None:
        """Do all that is left. Raises what the work raised, each time."""
        while not self._hand.is_over:
            self.advance(inf)
        if self._hand.error is not None:
            raise self._hand.error

    def settle(self) -> None:
        """Return when the work rests. Where this is interrupted, the work rests soon, and whoever comes next waits."""
        hand = self._hand
        try:
            while hand.rested != hand.wanted and not hand.is_over:
                hand.wake.set()
                hand.came.wait(_LOOK)
                hand.came.clear()
        except BaseException:
            hand.until = 0.0
            raise

    def end(self) -> None:
        """Do no more of it. It may be interrupted, and called again."""
        self._hand.end()
        self._thread.join()


def _run(hand: _Hand, work: Work) -> None:
    try:
        hand.wait()
        work(hand.rest)
    except _Ended:
        pass
    except BaseException as error:  # noqa: BLE001  whoever asks for the end of it is told
        hand.error = error
    finally:
        hand.is_over = True
        hand.came.set()
