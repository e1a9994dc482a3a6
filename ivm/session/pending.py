"""Tables and views as a transaction sees them: it stands where a database has its engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from catalog.altering import Altered
from catalog.catalog import Catalog
from catalog.clock import is_own
from catalog.errors import UnsupportedError
from catalog.names import key, reached
from catalog.schema import Table, View
from ivm.analysis.tables import tables_of
from ivm.dataflow.graph import StillRead
from ivm.durable.payload import Batch
from ivm.engine.engine import Engine
from ivm.engine.installing import put_or_drop
from ivm.engine.subscription import Listeners
from ivm.engine.transaction import Change
from ivm.engine.view import Contents, Installed
from ivm.plan.existing import Existing
from ivm.plan.lower import lower
from ivm.session.before import Before, contents_before
from ivm.session.core import Core
from ivm.session.introspection import RELATIONS
from ivm.session.pending_table import PendingTable
from ivm.trace.columns.column import Ints
from ivm.trace.columns.exported import ArrowRows
from ivm.trace.rows.table_store import TableStore
from ivm.trace.text.dictionary import TextDictionary
from ivm.transform.pipeline import optimize
from sql.ir.relation import Relation

_NONE: Mapping[str, float] = MappingProxyType({})
_EXPECTED = 1000.0
"""So many rows has what a view reads, as far as a plan goes that is not carried out."""


class _Tables(dict[str, PendingTable]):
    """Tables by name, those that were there before made when they are first looked at; see `ivm.engine.tables`."""

    def __init__(self, before: Callable[[str], PendingTable], new: Callable[[Table], PendingTable]) -> None:
        self._before = before
        self._new = new

    def __missing__(self, name: str) -> PendingTable:
        found = self[name] = self._before(name)
        return found

    def made(self, table: Table, rows: ArrowRows | None = None, time: int = 0) -> PendingTable:
        """A new table of these rows."""
        made = self._new(table)
        made.begin(rows)
        return made

    def altered(self, change: Altered, values: Sequence[pa.Scalar]) -> PendingTable:
        """The table there is as it is to be; see `ivm.engine.tables.Tables.altered`."""
        return self[change.old.name].altered(change, values)

    def referring(self, catalog: Catalog, declared: PendingTable) -> dict[str, PendingTable]:
        """None: foreign keys are checked by COMMIT."""
        return {}


class Pending:
    """What there was when a transaction began, and what it has changed since; used as an `Engine` is.

    A moment of the past is kept for as long as somebody holds this. The caller of `__init__` has the database's lock.
    """

    is_whole = plans_again = False
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
        self.before = core.catalog.fixed()
        """What existed when the transaction began."""
        self.catalog = core.catalog.fixed()
        """What exists, as the transaction sees it."""
        self.own = Engine(None, history=0)
        """What has the transaction's own rows, and finds out what can be changed."""
        self.tables = _Tables(self._table, self._new_table)
        self.views: Mapping[str, Installed] = {}
        """None: those that are filled anew are so by COMMIT."""
        self._anew: set[str] = set()
        self._still_read = StillRead(engine.time)
        if engine.is_whole:
            engine.renderer.graph.still_read.hold(self._still_read)

    def contents(self, view: str) -> Contents:
        """The rows of a view that no change of the transaction reaches."""
        return contents_before(self._core, self.before.view(view), self.time)

    def planned(self, relation: Relation, sizes: Mapping[str, float] = _NONE) -> None:
        """Raise what planning a view raises. When it is filled it is planned again, by what there is then."""
        names = tables_of(relation)
        lower(optimize(relation), Existing().above(dict.fromkeys(names, _EXPECTED)))

    def installed(self, definition: View, planned: None, pause: object, aside: object) -> None:
        """None: views are filled by COMMIT."""

    def beside(self, tables: Mapping[str, object], views: Set[str]) -> None:
        """None: nothing is rendered before COMMIT, which fills these views anew."""
        self._anew.update(views)

    def put_all(self, views: Mapping[str, tuple[object, str | None]], renderer: None = None) -> None:
        """The views of these names are others from now on; see `Engine.put_all`."""
        for name, (_, oracle_sql) in views.items():
            self.put(name, None, oracle_sql)

    def put(self, name: str, installed: None, oracle_sql: str | None) -> None:
        """The view of a name is another from now on; without SQL there is none. See `Engine.put`."""
        put_or_drop(self.oracle_sql, name, oracle_sql)

    def put_table(self, name: str, made: PendingTable | None) -> None:
        """The table of a name is this one from now on; None: there is none. See `Engine.put_table`."""
        if made is None and name in self.tables:
            self.tables.pop(name).drop()
        elif made is not None:
            self.tables[name] = made

    def has_rows(self, view: View) -> bool:
        """Whether the rows of a view are there: it is maintained, and no change of the transaction reaches it."""

        def uses(name: str) -> Sequence[str]:
            entry = self.catalog.find(name)
            return entry.uses if isinstance(entry, View) else ()

        if not view.maintained or not self.is_kept(view):
            return False
        changed = {key(name) for name, table in self.tables.items() if table.is_changed}
        return changed.isdisjoint(reached((view.name,), uses))

    def is_kept(self, view: View) -> bool:
        """Whether it is one that there was before, and means the same, whatever its text is by now."""
        old = self.before.find(view.name)
        return isinstance(old, View) and old.mark == view.mark and view.name not in self._anew

    def commit(self, changes: Sequence[Change], batch: Batch | None = None, time: int = 0) -> int:
        """Have all changes, or none; nobody else sees them. See `Engine.commit`."""
        for change in changes:
            self.tables[change.table.name].take_in(change)
        self.own.commit(changes)
        return self.time

    def settle(self) -> None:
        """See `Engine.settle`."""
        self.own.settle()

    def altered(self) -> list[Altered]:
        """The tables that are others than before: as they were and as they are."""
        found = []
        for table in self.catalog.tables:
            old = self.before.find(table.name)
            if isinstance(old, Table) and old is not table:
                there = self.tables.get(table.name)
                same = Altered(old, table, tuple(range(len(old.fields))))
                found.append(same if there is None else replace(there.change, old=old, table=table))
        return found

    @property
    def defines(self) -> bool:
        """Whether other things exist than before."""
        return not self.catalog.is_like(self.before)

    def tidy_texts(self) -> int:
        """None are owed."""
        return 0

    def changes(self) -> dict[str, tuple[pa.Table, Ints]]:
        """Of each table that differs from what was there before the rows that do, each with its diff."""
        found = ((name, table.changes()) for name, table in self.tables.items() if table.is_changed)
        return {name: changes for name, changes in found if changes is not None}

    def some_rows(
        self, table: Table, keys: Sequence[tuple[int, ...]], rows: pa.Table
    ) -> tuple[TableStore, TextDictionary]:
        """What has the rows of a table that meet some of `rows`; see `ivm.session.serving.SomeRows`."""
        return self.tables[table.name].met(keys, rows)

    def relations(self) -> Mapping[str, Callable[[Any], Callable[[], pa.Table]]]:
        """How `ivm_*` relations are computed: of the database, as it is without the transaction."""
        known = self._core.relations or RELATIONS
        return {name: partial(self._relation, read) for name, read in known.items()}

    def _relation(self, read: Callable[[Any], Callable[[], pa.Table]], _: object) -> Callable[[], pa.Table]:
        with self._core.lock:
            return read(self._core.engine)

    def _new_table(self, table: Table) -> PendingTable:
        if is_own(table.name):
            raise UnsupportedError(
                "cannot create the first view that compares with now() in a transaction; ROLLBACK, and create it before"
            )
        if self.before.find(table.name) is not None:
            raise UnsupportedError(
                f"cannot create table {table.name} in the transaction that drops what has that name; COMMIT in between"
            )
        return PendingTable(table, None, self.own, self.time)

    def _table(self, name: str) -> PendingTable:
        table = self.catalog.table(name)
        return PendingTable(table, Before(self._core, table, self.time), self.own, self.time)
