"""Statements that take too long, or that nobody waits for any more, come to an end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from ivm.catalog.errors import Error
from ivm.engine.installing import Progress
from ivm.serve.errors import CancelledError, TooLongError

_AGAIN_SECONDS = 0.05
"""So often it is looked who is over his time; DuckDB is told again, as a query that is about to begin forgets it."""

Gone = Callable[[], bool]
"""Says whether a client has gone."""


class Running:
    """A statement that a thread carries out."""

    def __init__(self, seconds: float, gone: Gone | None) -> None:
        self.thread = threading.get_ident()
        self._gone = gone
        self._asking = threading.Lock()
        self._seconds = seconds
        self._until = monotonic() + seconds
        self._cancelled = ""

    def cancel(self, why: str = "it was cancelled") -> None:
        """End it soon, from whatever thread."""
        self._cancelled = why

    def end(self) -> None:
        """It is over: nobody asks whether the client has gone from then on."""
        with self._asking:
            self._gone = None

    def look(self) -> None:
        """Find out whether its client has gone."""
        with self._asking:
            if self._gone is not None and self._gone():
                self.cancel("the client has gone")

    @property
    def error(self) -> Error | None:
        """Why it is to end; None as long as it may go on."""
        if self._cancelled:
            return CancelledError(f"cannot go on with the statement: {self._cancelled}; nothing of it took effect")
        if monotonic() < self._until:
            return None
        return TooLongError(
            f"cannot go on with the statement: it took longer than {self._seconds:g} s, as long as one may here; ask "
            "for less, have a view maintain what is asked often, or serve with a larger limit of seconds"
        )

    def check(self, _: Progress) -> None:
        """Raise the error, if it is to end: for what tells of its progress."""
        error = self.error
        if error is not None:
            raise error


class Watch:
    """Looks after all statements of a server, with one thread, which sleeps while there are none."""

    def __init__(self) -> None:
        self._running: set[Running] = set()
        self._some = threading.Event()
        self._ended = False
        self._thread = threading.Thread(target=self._look, name="ivm-serve-watch", daemon=True)
        self._thread.start()

    @contextmanager
    def over(self, seconds: float, gone: Gone | None = None) -> Iterator[Running]:
        """This thread may take so long for what the block does, and less if what `gone` says becomes true.

        TooLongError or CancelledError if DuckDB was told to end for that. What DuckDB has no part in ends by itself, or
        asks `Running.check`.
        """
        running = Running(seconds, gone)
        self._running.add(running)
        self._some.set()
        try:
            yield running
        except KeyboardInterrupt as error:  # which is what an interrupted query raises, in this thread too
            raise running.error or CancelledError(
                "cannot go on with the statement: DuckDB was interrupted; nothing of it took effect"
            ) from error
        finally:
            self._running.discard(running)
            running.end()

    def end(self) -> None:
        """Look no more; what runs goes on without."""
        self._ended = True
        self._some.set()
        self._thread.join()

    def _look(self) -> None:
        from ivm.duck import interrupt  # noqa: PLC0415  DuckDB, which takes a while to import

        while not self._ended:
            self._some.wait()
            self._some.clear()
            while self._running and not self._ended:
                for each in tuple(self._running):
                    each.look()
                    if each.error is not None:
                        interrupt(each.thread)
                threading.Event().wait(_AGAIN_SECONDS)
