"""Wakes who waits for changes when the program ends, so that no waiting thread keeps its process from ending."""

from __future__ import annotations

import os
import threading
from typing import Protocol
from weakref import WeakSet


class Waiting(Protocol):
    """What a thread may wait in."""

    def end(self) -> None:
        """Let go of all who wait, and let nobody wait any more."""


class _Ending:
    """One thread that waits for the main thread to be done, from the first time that somebody else waits.

    The interpreter waits for all threads before it calls what is registered with `atexit`; that would be too late.
    """

    def __init__(self) -> None:
        self._waiting: WeakSet[Waiting] = WeakSet()
        self.begin_anew()

    def begin_anew(self) -> None:
        """Also in a forked child: the thread is the parent's."""
        self._lock = threading.Lock()
        self._watcher: threading.Thread | None = None

    def note(self, waiting: Waiting) -> None:
        """See `end_with_program`."""
        with self._lock:
            self._waiting.add(waiting)
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._watch, name="ivm-ending", daemon=True)
                self._watcher.start()

    def _watch(self) -> None:
        threading.main_thread().join()
        with self._lock:
            waiting = list(self._waiting)
        for each in waiting:
            each.end()


_ending = _Ending()


def end_with_program(waiting: Waiting) -> None:
    """Have `end` called when the main thread is done; to be called before a thread waits, as often as one likes."""
    _ending.note(waiting)
    if not threading.main_thread().is_alive():
        waiting.end()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_ending.begin_anew)
