"""Subscriptions: a view's changes, commit by commit."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from types import TracebackType

import pyarrow as pa


class Subscription:
    """Changes of one view as Arrow tables: the view's columns, then `_time` and `_diff`.

    Each commit's changes are consolidated: one row for each (row, time) whose multiplicity changed. Use as a context
    manager, or call `close`. Thread-safe: commits may come from another thread.
    """

    def __init__(self, view: str, empty: pa.Table, close: Callable[[Subscription], None]) -> None:
        self.view = view
        self._empty = empty
        self._close = close
        self._pending: deque[pa.Table] = deque()
        self._changed = threading.Condition()
        self._open = True

    def fetch(self) -> pa.Table:
        """What has changed since the last fetch; no rows if nothing has. Never blocks."""
        with self._changed:
            tables = list(self._pending)
            self._pending.clear()
        return pa.concat_tables(tables) if tables else self._empty

    def __iter__(self) -> Iterator[pa.Table]:
        """Tables of changes, one for each commit; blocks for more until the subscription is closed."""
        while True:
            with self._changed:
                while self._open and not self._pending:
                    self._changed.wait()
                if not self._pending:
                    return
                table = self._pending.popleft()
            yield table

    def push(self, table: pa.Table) -> None:
        """Add a commit's changes; called by the database."""
        with self._changed:
            self._pending.append(table)
            self._changed.notify_all()

    def close(self) -> None:
        """Stop receiving; iteration ends when what is pending has been read."""
        with self._changed:
            self._open = False
            self._changed.notify_all()
        self._close(self)

    def __enter__(self) -> Subscription:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
