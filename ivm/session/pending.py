"""Tables and views as a transaction sees them: it stands where a database has its engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from catalog.errors import ConstraintError, TransactionError
from catalog.names import key, reached
from catalog.schema import Table, View
from ivm.dataflow.graph import StillRead
from ivm.durable.payload import Batch
from ivm.engine.engine import Engine
from ivm.engine.subscription import Listeners
from ivm.engine.transaction import Change
from ivm.engine.view import Contents
from ivm.session.before import Before, check_same, contents_before
from ivm.session.core import Core
from ivm.session.introspection import RELATIONS
from ivm.session.pending_table import PendingTable
from ivm.trace.rows.table_store import TableStore
from ivm.trace.text.dictionary import TextDictionary


class _Tables(dict[str, PendingTable]):
    """Tables by name, each made when it is first looked at."""

    def __init__(self, made: Callable[[str], PendingTable]) -> None:
        self._made = made

    def __missing__(self, name: str) -> PendingTable:
        made = self[name] = self._made(name)
        return made


class Pending:
    """What there was when a transaction began, and what it has changed since; used as an `Engine` is.

    A moment of the past is kept for as long as somebody holds this. The caller of `__init__` has the database's lock.
    """

    is_whole = False
    is_installing = False
    texts_owed = 0
    journal = None

    def __init__(self, core: Core) -> None:
        engine = core.engine
        self._core = core
        self.time = engine.time
        self.since = engine.time
        self.helpers = engine.helpers
        self.dictionary = engine.dictionary
        self.listeners = Listeners()
        self.oracle_sql = dict(engine.oracle_sql)
        self.catalog = core.catalog.fixed()
        """What exists, as the transaction sees it."""
        self.own = Engine(None, history=0)
        """What has the transaction's own rows, and finds out what can be changed."""
        self.tables = _Tables(self._table)
        self._still_read = StillRead(engine.time)
        if engine.is_whole:
            engine.renderer.graph.still_read.hold(self._still_read)

    def contents(self, view: str) -> Contents:
        """The rows of a view that no change of the transaction reaches."""
        return contents_before(self._core, self.catalog.view(view), self.time)

    def has_rows(self, view: View) -> bool:
        """Whether the rows of a view are there: it is maintained, and no change of the transaction reaches it."""

        def uses(name: str) -> Sequence[str]:
            entry = self.catalog.find(name)
            return entry.uses if isinstance(entry, View) else ()

        changed = {key(name) for name, table in self.tables.items() if table.is_changed}
        return view.maintained and changed.isdisjoint(reached((view.name,), uses))

    def commit(self, changes: Sequence[Change], batch: Batch | None = None, time: int = 0) -> int:
        """Have all changes, or none; nobody else sees them. See `Engine.commit`."""
        for change in changes:
            self.tables[change.table.name].take_in(change)
        self.own.commit(changes)
        return self.time

    def settle(self) -> None:
        """See `Engine.settle`."""
        self.own.settle()

    def changes(self) -> dict[str, tuple[pa.Table, Any]]:
        """Of each table that differs from what was there before the rows that do, each with its diff."""
        found = ((name, table.changes()) for name, table in self.tables.items() if table.is_changed)
        return {name: changes for name, changes in found if changes is not None}

    def publish(self) -> int:
        """Commit all changes to the database, at one logical time; the time. The caller has its lock.

        TransactionError if others were first: they have changed what it has changed, or what its changes rest upon.
        """
        core, changes = self._core, self.changes()
        if not changes:
            return core.engine.time
        for name, (rows, diffs) in changes.items():
            self.tables[name].check_first(rows, diffs)
        given = []
        for name, (rows, diffs) in changes.items():
            check_same(core, self.tables[name].table)
            given.append(Change(*core.incoming.rows(name, rows, False), diffs=None if (diffs > 0).all() else diffs))
        try:
            return core.commit(given, settles=False)
        except ConstraintError as error:
            others = [name for name in changes if core.engine.tables[name].last_time > self.time]
            if not others:
                raise
            raise TransactionError(
                f"cannot commit: {error}. Others have changed {', '.join(others)} since the transaction began, and "
                "were first; run it again"
            ) from error

    def some_rows(
        self, table: Table, keys: Sequence[tuple[int, ...]], rows: pa.Table
    ) -> tuple[TableStore, TextDictionary]:
        """What has the rows of a table that meet some of `rows`; see `ivm.session.serving.SomeRows`."""
        return self.tables[table.name].met(keys, rows), self.own.dictionary

    def relations(self) -> Mapping[str, Callable[[Any], Callable[[], pa.Table]]]:
        """How `ivm_*` relations are computed: of the database, as it is without the transaction."""
        known = self._core.relations or RELATIONS
        return {name: partial(self._relation, read) for name, read in known.items()}

    def _relation(self, read: Callable[[Any], Callable[[], pa.Table]], _: object) -> Callable[[], pa.Table]:
        with self._core.lock:
            return read(self._core.engine)

    def _table(self, name: str) -> PendingTable:
        table = self.catalog.table(name)
        return PendingTable(table, Before(self._core, table, self.time), self.own, self.time)
