"""What there was when a transaction began, however others have changed it since."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from catalog.errors import TransactionError
from catalog.schema import Table, View
from ivm.engine.view import Contents
from ivm.session.conflicts import met_by
from ivm.session.core import Core


class Before:
    """A table as it was at a time, which is kept; over shards, where it is not, as long as nobody changes the table."""

    def __init__(self, core: Core, table: Table, time: int) -> None:
        self._core = core
        self._table = table
        self._time = time

    @property
    def count(self) -> int:
        """How many rows there are now."""
        return int(self._store().count)

    @property
    def has_changed(self) -> bool:
        """Whether anybody has changed the table since. Raises TransactionError if it is another one."""
        return bool(self._store().last_time > self._time)

    def reading(self) -> Callable[[], pa.Table]:
        """What makes an Arrow table of the rows there were."""
        with self._core.lock:
            store = self._store()
            if self._core.engine.is_whole:
                return store.reading(self._time)
            self._check_unchanged()
            return store.reading()

    def met(self, keys: Sequence[tuple[int, ...]], rows: pa.Table) -> pa.Table:
        """Those that meet some of `rows`, which have the table's columns, on one of the keys."""
        with self._core.lock:
            if self._core.engine.is_whole:
                return met_by(self._store(), self._core.engine.dictionary, keys, rows, self._time)
            self._check_unchanged()
            return self.met_now(keys, rows)

    def met_now(self, keys: Sequence[tuple[int, ...]], rows: pa.Table) -> pa.Table:
        """As `met`, of the rows there are at present."""
        with self._core.lock:
            store = self._store()
            if self._core.some_rows is not None:
                return self._core.some_rows(self._table, keys, rows)[0].arrow()
            return met_by(store, self._core.engine.dictionary, keys, rows)

    def _store(self) -> Any:
        check_same(self._core, self._table)
        return self._core.engine.tables[self._table.name]

    def _check_unchanged(self) -> None:
        if self.has_changed:
            raise TransactionError(
                f"cannot read table {self._table.name} in this transaction: others have changed it since it began, "
                "and shards keep no past; ROLLBACK and run it again"
            )


def contents_before(core: Core, view: View, time: int) -> Contents:
    """What a maintained view held at a time; see `Before`."""
    engine = core.engine
    with core.lock:
        check_same(core, view)
        if engine.time == time:
            return engine.contents(view.name)
        if engine.is_whole:
            installed = engine.views[view.name]
            return installed.shown(installed.log.sealed, engine.dictionary.now(), time)
    raise TransactionError(
        f"cannot read view {view.name} in this transaction: others have committed since it began, and shards keep no "
        "past; ROLLBACK and run it again"
    )


def check_same(core: Core, entry: Table | View) -> None:
    """Raise TransactionError unless a table or view is the one that there was when the transaction began."""
    if core.catalog.find(entry.name) is not entry:
        kind = "table" if isinstance(entry, Table) else "view"
        raise TransactionError(
            f"cannot use {kind} {entry.name} in this transaction: others have dropped or replaced it since it began; "
            "ROLLBACK and run it again"
        )
