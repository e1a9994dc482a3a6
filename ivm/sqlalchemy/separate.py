"""One connection of several to one database, each with transactions and settings of its own, as DB-API 2 has them."""

from __future__ import annotations

from collections.abc import Callable

from ivm.session.cursor import Cursor
from ivm.session.database import Database
from ivm.session.of_session import of_session


class Separate:
    """A connection; one thread at a time uses it. What it has not committed when it is closed has never been."""

    def __init__(self, db: Database, closed: Callable[[], None]) -> None:
        """`closed` is called once, when the connection is closed."""
        self._db = of_session(db)
        self._closed = closed
        self.autocommit = False
        """Whether each statement commits by itself, though somebody says `begin`."""
        self._is_open = True

    @property
    def closed(self) -> bool:
        """Whether it was closed, or the database."""
        return not self._is_open or self._db.closed

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction has begun that has not ended."""
        return self._db.in_transaction

    def cursor(self) -> Cursor:
        """What runs statements and fetches their rows."""
        return self._db.cursor()

    def begin(self) -> None:
        """Begin a transaction; see `Database.begin`."""
        self._db.begin()

    def commit(self) -> None:
        """Let everybody see what the transaction has changed; see `Database.commit`."""
        self._db.commit()

    def rollback(self) -> None:
        """Let go of what the transaction has changed; nothing where there is none."""
        if self._db.in_transaction:
            self._db.rollback()

    def close(self) -> None:
        """Let go of all. To close again does nothing."""
        if self._is_open:
            self._is_open = False
            if not self._db.closed:
                self.rollback()
                self._db.close()
            self._closed()
