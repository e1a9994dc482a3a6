"""Cleaning beside the work: what no version needs any more is removed by a thread that holds nobody up."""

from __future__ import annotations

import logging
from contextlib import suppress
from threading import Event, Lock, Thread

from ivm.cluster.files.chains import clean_left, files_of
from ivm.cluster.files.cleaning import clean
from ivm.cluster.files.files import Files
from ivm.cluster.files.versions import Version

_AFTER = 0.1
"""Seconds before a pass, in which the commit that it follows comes to its end."""
_PATIENCE = 5.0
"""Seconds for which `close` waits for a pass, and again for calls that are under way then."""
_told = logging.getLogger("ivm")


class Cleaner:
    """Cleans a root, one pass at a time. Nothing that it does fails anything else: it says what it could not do.

    A pass that ends early, by `close` or with the process, has removed some; the next one, whosever it is, goes on.
    """

    def __init__(self, root: Files) -> None:
        self._ended = Event()
        self._root = root.beside(self._ended)
        self._lock = Lock()
        self._due: tuple[str, Version] | None = None
        self._thread: Thread | None = None

    def begin(self, chain: str, newest: Version) -> None:
        """Remove soon what no shard needs from version `newest` of a chain on. Of passes that wait the last is made.

        Any thread calls it. Cost: that of a thread, unless one is at work.
        """
        with self._lock:
            self._due = chain, newest
            if self._thread is None or not self._thread.is_alive():
                thread = Thread(target=self._run, name="ivm-cleaning", daemon=True)
                with suppress(RuntimeError):  # there can be no more threads now
                    thread.start()
                    self._thread = thread

    def clean(self, chain: str, newest: Version) -> None:
        """A pass."""
        try:
            clean(files_of(self._root, chain), newest)
            clean_left(self._root)
        except Exception as error:  # noqa: BLE001  whatever it is, the next pass tries again
            if not self._ended.is_set():
                _told.warning("files that nobody needs any more stay for the time being: %s", error)

    def close(self) -> None:
        """Nothing is removed any more. A pass is given some seconds to end, as the last commit may have begun it."""
        thread = self._thread
        if thread is not None:
            thread.join(_PATIENCE)
        self._ended.set()
        if thread is not None:
            thread.join(_PATIENCE)

    def _run(self) -> None:
        while not self._ended.wait(_AFTER) and (due := self._next()) is not None:
            self.clean(*due)

    def _next(self) -> tuple[str, Version] | None:
        with self._lock:
            due, self._due = self._due, None
            if due is None:
                self._thread = None
            return due
