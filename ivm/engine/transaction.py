"""Transactions: changes to any tables at one logical time, all or nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, get_args
from warnings import warn

import numpy as np

from ivm.arguments import Tabular, one_of
from ivm.catalog.errors import InterfaceError
from ivm.catalog.schema import Table
from ivm.engine.tables import check_upsert
from ivm.trace.columns.column import Ints
from ivm.trace.columns.exported import ArrowRows
from ivm.trace.rows.table_store import Missing, Mode
from ivm.trace.time import bounds_of

Check = Callable[[str, Tabular, bool], tuple[Table, ArrowRows, Ints | None]]
"""A table's name and rows for it (with True: those that are to go); the table, the rows as it stores them, and where
their columns lie, if that is known."""


class Change(NamedTuple):
    """Rows for one table: checked Arrow columns, a diff for each (None: all +1), times for each (None: the commit's).

    `addresses`: where the columns of the rows lie, which are a record batch then, if that is known. `table` is as it
    was declared when they were checked. `mode` is "diff" (a diff must hit what it says) or "upsert" (a row
    replaces the one with its key); deletes of `missing` rows are errors or ignored.
    """

    table: Table
    data: ArrowRows
    addresses: Ints | None = None
    diffs: Ints | None = None
    times: Ints | None = None
    mode: Mode = "diff"
    missing: Missing = "error"


def last_time(changes: Sequence[Change], least: int) -> tuple[int, bool]:
    """The last logical time of a commit, which is `least` or later, and whether some rows have times of their own."""
    last, are_apart = least, False
    for change in changes:
        if change.times is not None and len(change.times):
            last, are_apart = max(last, bounds_of(change.times)[1]), True
    return last, are_apart


class Transaction:
    """Collects changes of any tables, which take effect together, at one logical time, or not at all.

    As a context manager it commits when the block ends, and rolls back if the block or the commit raises; without one,
    call `commit` or `rollback`. Then it is over: whatever is called, but `time`, raises InterfaceError. One that is
    dropped with changes in it warns (ResourceWarning), and changes nothing. Changes count in the order of the calls.
    One thread at a time may use it.
    """

    def __init__(self, check: Check, commit: Callable[[list[Change]], int]) -> None:
        self._check = check
        self._commit = commit
        self._changes: list[Change] = []
        self._time: int | None = None
        self._over = ""

    @property
    def time(self) -> int:
        """The commit's logical time; raises InterfaceError before the transaction has committed."""
        if self._time is None:
            raise InterfaceError(
                "cannot give the transaction's time: it has not committed; read `time` after the with block"
            )
        return self._time

    def insert(self, table: str, data: Tabular) -> None:
        """Add rows. They are checked here, keys in the commit: ConstraintError if a row of the same key is there."""
        self._check_open()
        self._changes.append(Change(*self._check(table, data, False)))

    def delete(self, table: str, data: Tabular, *, missing: Missing = "error") -> None:
        """Take rows away, named by their primary key (other columns are not looked at) or, without one, whole.

        A row that is not there, or not as often as it is to go, is a ConstraintError in the commit, or with `missing`
        "ignore" nothing.
        """
        self._check_open()
        one_of(missing, get_args(Missing), "missing")
        found, rows, addresses = self._check(table, data, True)
        self._changes.append(Change(found, rows, addresses, np.full(rows.num_rows, -1, np.int64), missing=missing))

    def upsert(self, table: str, data: Tabular) -> None:
        """Replace rows of equal primary key (ConstraintError without one), add the others; the last of a key counts."""
        self._check_open()
        found, rows, addresses = self._check(table, data, False)
        check_upsert(found)
        self._changes.append(Change(found, rows, addresses, mode="upsert"))

    def commit(self) -> int:
        """Carry out all changes; returns the logical time. If it raises, nothing is changed, and they are kept here."""
        self._check_open()
        self._time = self._commit(self._changes)
        self._end("has committed")
        return self._time

    def rollback(self) -> None:
        """Let all changes go."""
        self._check_open()
        self._end("was rolled back")

    def forget(self) -> None:
        """Take back what was collected so far, and go on."""
        self._changes = []

    def _end(self, over: str) -> None:
        self._changes, self._over = [], over

    def _check_open(self) -> None:
        if self._over:
            raise InterfaceError(f"cannot use this transaction: it {self._over}; begin another with db.transaction()")

    def __enter__(self) -> Transaction:
        self._check_open()
        return self

    def __exit__(self, kind: type[BaseException] | None, *raised: object) -> None:
        try:
            if kind is None and not self._over:
                self.commit()
        finally:
            if not self._over:
                self.rollback()

    def __del__(self) -> None:
        if getattr(self, "_changes", None):  # it may have been interrupted before it had any
            tables = ", ".join(dict.fromkeys(change.table.name for change in self._changes))
            warn(f"a transaction with changes of {tables} was neither committed nor rolled back", ResourceWarning, 2)
