"""Waiting in threads and in event loops, so that nothing that waits keeps the program from ending."""

from __future__ import annotations

import os
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Protocol
from weakref import WeakSet


class Ends(Protocol):
    """What lets go of all who wait for it."""

    def end(self) -> None:
        """Let go of them."""


def waking() -> tuple[Callable[[], Awaitable[object]], Callable[[], None]]:
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
        self._waiting: WeakSet[Ends] = WeakSet()
        self.begin_anew()

    def begin_anew(self) -> None:
        """Also in a forked child: the thread is the parent's."""
        self._lock = threading.Lock()
        self._watcher: threading.Thread | None = None

    def note(self, waiting: Ends) -> None:
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


ending = _Ending()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=ending.begin_anew)
