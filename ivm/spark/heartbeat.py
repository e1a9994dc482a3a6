"""Keeps workers alive: Spark ends a Python worker that has had no task for a minute, and with it a shard."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

EVERY = 30.0
"""Seconds of rest after which workers are given something to do."""


class Heartbeat:
    """A thread that calls `beat` when nothing was done for `every` seconds, until it is stopped. It starts at once."""

    def __init__(self, beat: Callable[[], None], every: float = EVERY) -> None:
        self._beat = beat
        self._every = every
        self._last = time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ivm-heartbeat", daemon=True)
        self._thread.start()

    def note(self) -> None:
        """Something was done just now."""
        self._last = time.monotonic()

    def stop(self) -> None:
        """No further beat; one that has begun is waited for."""
        self._ended.set()
        if self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(max(0.01, self._last + self._every - time.monotonic())):
            if time.monotonic() - self._last >= self._every:
                self._beat()
                self.note()
