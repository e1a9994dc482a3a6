"""Transactions: changes to any tables at one logical time, all or nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa

from catalog.errors import Error
from catalog.schema import Table
from ivm.trace.column import Ints
from ivm.trace.table_store import Mode


@dataclass(frozen=True, slots=True)
class Change:
    """Rows for one table: checked Arrow columns, a diff for each (None: all +1), times for each (None: the commit's).

    `table` is as it was declared when they were checked. `mode` is "diff" (a diff must hit what it says) or "upsert" (a
    row replaces the one with its key).
    """

    table: Table
    data: pa.Table
    diffs: Ints | None = None
    times: Ints | None = None
    mode: Mode = "diff"


class Transaction:
    """Collects changes; they take effect together when the `with` block ends, and not at all if it raises."""

    def __init__(
        self, check: Callable[[str, Any, bool], tuple[Table, pa.Table]], commit: Callable[[list[Change]], int]
    ) -> None:
        self._check = check
        self._commit = commit
        self._changes: list[Change] = []
        self._time: int | None = None

    @property
    def time(self) -> int:
        """The commit's logical time; raises ivm.Error before the transaction has committed."""
        if self._time is None:
            raise Error("cannot give the transaction's time: it has not committed; read `time` after the with block")
        return self._time

    def insert(self, table: str, data: Any) -> None:
        """Add rows: an Arrow table or anything with its PyCapsule interface, a list of dicts, or a dict of columns."""
        self._changes.append(Change(*self._check(table, data, False)))

    def delete(self, table: str, data: Any) -> None:
        """Take rows away, named by their primary key (other columns are not looked at) or, without one, whole."""
        found, rows = self._check(table, data, True)
        self._changes.append(Change(found, rows, np.full(rows.num_rows, -1, np.int64)))

    def upsert(self, table: str, data: Any) -> None:
        """Replace the rows that have the same primary key, add the others."""
        self._changes.append(Change(*self._check(table, data, False), mode="upsert"))

    def forget(self) -> None:
        """Take back what was collected so far."""
        self._changes = []

    def __enter__(self) -> Transaction:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._time = self._commit(self._changes)
        self.forget()
