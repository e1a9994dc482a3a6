"""What there was when a transaction began, or at a time that is asked for, however others have changed it since."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from ivm.catalog.errors import BindError, TransactionError
from ivm.catalog.schema import Table, View
from ivm.engine.backend import StoredTable, ViewRows
from ivm.engine.lasting import known_since
from ivm.session.conflicts import met_by
from ivm.session.core import Core
from ivm.trace.rows.table_store import TableStore


@dataclass(frozen=True, slots=True)
class AsOf:
    """The time of what is read: the present when a transaction began, or `asked` for. What errors say of it.

    `first`: as of when all could be read then.
    """

    time: int
    first: int
    asked: bool

    @property
    def said(self) -> str:
        """Where, or as of when, something cannot be read."""
        return f"as of time {self.time}" if self.asked else "in this transaction"

    @property
    def since(self) -> str:
        """Since when things may have changed."""
        return "then" if self.asked else "it began"

    @property
    def again(self) -> str:
        """What to do."""
        return "read what there is now" if self.asked else "ROLLBACK and run it again"

    def check(self, first: int, present: int) -> None:
        """BindError for a time that is asked for, and is not kept any more, or not there yet."""
        if self.asked and not first <= self.time <= present:
            raise BindError(
                f"cannot read {self.said}: times from {first} to {present} can be read; "
                "connect with a larger `history` to keep more of the past"
            )


class Before:
    """A table as it was at a time, which is kept; over shards, where it is not, as long as nobody changes the table."""

    def __init__(self, core: Core, table: Table, as_of: AsOf) -> None:
        self._core = core
        self._table = table
        self._as_of = as_of
        self._time = as_of.time

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
            store, whole = self._store(), self._whole()
            if whole is None:
                return store.reading(self._time if self._is_past() else None)
            self._as_of.check(self._as_of.first, self._core.engine.time)
            self._check_known(whole.begins)
            return whole.reading(self._time)

    def met(self, keys: Sequence[tuple[int, ...]], rows: pa.Table) -> pa.Table:
        """Those that meet some of `rows`, which have the table's columns, on one of the keys."""
        with self._core.lock:
            self._store()
            if self._whole() is None and not self._is_past():
                return self._met(keys, rows, None)
            return self._met(keys, rows, self._time)

    def met_now(self, keys: Sequence[tuple[int, ...]], rows: pa.Table) -> pa.Table:
        """As `met`, of the rows there are at present."""
        with self._core.lock:
            self._store()
            return self._met(keys, rows, None)

    def _met(self, keys: Sequence[tuple[int, ...]], rows: pa.Table, as_of: int | None) -> pa.Table:
        store, dictionary = self._core.engine.some_rows(self._table, keys, rows, as_of)
        return store.arrow() if self._whole() is None else met_by(store, dictionary, keys, rows, as_of)

    def _store(self) -> StoredTable:
        check_same(self._core, self._table, self._as_of)
        return self._core.engine.tables[self._table.name]

    def _whole(self) -> TableStore | None:
        return self._core.engine.whole_table(self._table.name)

    def _is_past(self) -> bool:
        """Over shards: whether it has changed since. TransactionError where what there was is not kept any more."""
        if self.has_changed:
            check_kept(self._core, f"table {self._table.name}", self._as_of)
            return True
        return False

    def _check_known(self, begins: int) -> None:
        if begins > self._time:
            raise BindError(
                f"cannot read table {self._table.name} {self._as_of.said}: its past is known since time {begins}, when "
                "it was created, written anew, or opened from a checkpoint without its past; read a later time"
            )


def contents_before(core: Core, view: View, as_of: AsOf) -> ViewRows:
    """What a maintained view held at a time; see `Before`."""
    engine, time = core.engine, as_of.time
    with core.lock:
        check_same(core, view, as_of)
        if engine.time == time:
            return engine.contents(view.name)
        whole = engine.whole_view(view.name)
        if whole is None:
            check_kept(core, f"view {view.name}", as_of)
        else:
            as_of.check(known_since(whole, as_of.first, engine.time), engine.time)
        return engine.contents(view.name, time)


def check_kept(core: Core, what: str, as_of: AsOf) -> None:
    """Over shards, which keep what there was by `history` alone: BindError for a time that is asked for and not kept,
    and TransactionError where it is that at which somebody began.
    """
    as_of.check(core.engine.since, core.engine.time)
    if as_of.time < core.engine.since:
        raise TransactionError(
            f"cannot read {what} {as_of.said}: others have committed since {as_of.since}, and shards keep what there "
            f"was from time {core.engine.since} on; {as_of.again}, or connect with a larger `history`"
        )


def check_same(core: Core, entry: Table | View, as_of: AsOf) -> None:
    """Raise TransactionError unless a table or view is the one that there was when somebody began to read or change."""
    if core.catalog.find(entry.name) is not entry:
        kind = "table" if isinstance(entry, Table) else "view"
        raise TransactionError(
            f"cannot use {kind} {entry.name} {as_of.said}: others have dropped or replaced it since "
            f"{'this was begun' if as_of.asked else as_of.since}; {as_of.again}"
        )
