"""What a client of Flight may come back for: results, prepared statements and transactions, for a while."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Generic, TypeVar

import pyarrow as pa

from ivm.serve.errors import LimitError, NotFoundError
from ivm.serve.inside import Session

T = TypeVar("T")


@dataclass(slots=True)
class Prepared:
    """A statement that waits to be run, in a session, with the parameters that were bound last."""

    text: str
    session: Session
    is_of_transaction: bool
    """Whether the session is that of a transaction, and ends with it."""
    rows: list[tuple[object, ...]] = field(default_factory=list)

    def close(self) -> None:
        """Let go of its session."""
        if not self.is_of_transaction:
            self.session.close()


class Handles(Generic[T]):
    """Things by handles that nobody can guess, each for so many `seconds` after it was used last. Thread-safe.

    Each belongs to a user, and nobody else finds it. LimitError where there are too many.
    """

    def __init__(self, what: str, most: int, seconds: float, end: Callable[[T], None] = lambda _: None) -> None:
        """`end` is called with what is let go."""
        self._what, self._most, self._seconds, self._end = what, most, seconds, end
        self._lock = threading.Lock()
        self._each: OrderedDict[bytes, tuple[str, T, float]] = OrderedDict()

    def put(self, user: str, thing: T) -> bytes:
        """Hold something; its handle."""
        self._let_go_old()
        handle = os.urandom(16)
        with self._lock:
            if len(self._each) >= self._most:
                raise LimitError(f"cannot hold more than {self._most} {self._what}s at a time; end some first")
            self._each[handle] = user, thing, monotonic()
        return handle

    def get(self, user: str, handle: bytes) -> T:
        """What has this handle. NotFoundError if there is nothing, or not any more."""
        with self._lock:
            of, thing, _ = self._each.get(handle, ("", None, 0.0))
            if thing is None or of != user:
                raise NotFoundError(
                    f"cannot find the {self._what}: it has ended, or nobody used it for {self._seconds:g} s"
                )
            self._each[handle] = of, thing, monotonic()
            self._each.move_to_end(handle)
            return thing

    def take(self, user: str, handle: bytes) -> T:
        """As `get`, and it is held no more."""
        found = self.get(user, handle)
        with self._lock:
            self._each.pop(handle, None)
        return found

    def clear(self) -> None:
        """Let go of all."""
        with self._lock:
            gone, self._each = [thing for _, thing, _ in self._each.values()], OrderedDict()
        for each in gone:
            self._end(each)

    def _let_go_old(self) -> None:
        gone = []
        with self._lock:
            while self._each and next(iter(self._each.values()))[2] < monotonic() - self._seconds:
                gone.append(self._each.popitem(last=False)[1][1])
        for each in gone:
            self._end(each)


class Everything:
    """All that clients of one door may come back for."""

    def __init__(self) -> None:
        self.results = Handles[pa.Table]("result", 256, 60)
        self.prepared = Handles[Prepared]("prepared statement", 4096, 3600, Prepared.close)
        self.transactions = Handles[Session]("transaction", 256, 600, Session.close)

    def clear(self) -> None:
        """Let go of all; what was begun and not committed is rolled back."""
        for each in (self.results, self.prepared, self.transactions):
            each.clear()
