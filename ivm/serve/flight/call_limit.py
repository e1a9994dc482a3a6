"""How many calls of Flight may be under way: pyarrow's server tells of calls, and not of connections."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ivm.serve.errors import BusyError


class CallLimit:
    """So many places as there `may` be calls at a time, streams among them. Thread-safe."""

    def __init__(self, may: int) -> None:
        self._may = may
        self._taken = 0
        self._lock = threading.Lock()

    @contextmanager
    def one(self) -> Iterator[None]:
        """A call takes a place in the block. BusyError if there is none."""
        with self._lock:
            if self._taken >= self._may:
                raise BusyError(
                    f"cannot take the call: {self._may:,} are under way, which is the limit; end some, or serve with a "
                    "larger limit of connections"
                )
            self._taken += 1
        try:
            yield
        finally:
            self.leave()

    def keep(self) -> None:
        """A call that has a place keeps it, as a stream, until it leaves."""
        with self._lock:
            self._taken += 1

    def leave(self) -> None:
        """A place is free again."""
        with self._lock:
            self._taken -= 1
