"""Tables and views as a transaction sees them: the backend of its statements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

import pyarrow as pa

from ivm.analysis.tables import tables_of
from ivm.called import Functions
from ivm.catalog.altering import Altered
from ivm.catalog.catalog import Catalog
from ivm.catalog.clock import CLOCK
from ivm.catalog.errors import TransactionError
from ivm.catalog.names import key, reached
from ivm.catalog.schema import Table, View
from ivm.durable.payload import Batch
from ivm.engine.backend import Reading, Section, ViewRows
from ivm.engine.engine import Engine
from ivm.engine.installing import Pause, put_or_drop
from ivm.engine.lasting import known_since
from ivm.engine.not_whole import NotWhole
from ivm.engine.past import StillRead
from ivm.engine.transaction import Change
from ivm.engine.under_way import Also
from ivm.engine.view import Installed
from ivm.plan.existing import Existing
from ivm.plan.lower import lower
from ivm.session.before import AsOf, Before, contents_before
from ivm.session.core import Core
from ivm.session.pending_table import PendingTable
from ivm.session.sequences import OwnNumbers
from ivm.sql.ir.relation import Relation
from ivm.subscriptions.audience import Told
from ivm.subscriptions.listeners import Listeners
from ivm.subscriptions.names import Named
from ivm.trace.columns.column import Ints
from ivm.trace.columns.exported import ArrowRows
from ivm.trace.rows.table_store import TableStore
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.turns import Aside, Turns, at_once
from ivm.transform.pipeline import optimize

_NONE: Mapping[str, float] = MappingProxyType({})
QUERY = "query"
"""Holds what was for as long as a statement takes."""
_EXPECTED = 1000.0
"""So many rows has what a view reads, as far as a plan goes that is not carried out."""


class _Tables(dict[str, PendingTable]):
    """Tables by name, those that were there before made when they are first looked at; see `ivm.engine.tables`."""

    def __init__(self, pending: Pending) -> None:
        self._pending = pending

    def __missing__(self, name: str) -> PendingTable:
        found = self[name] = self._pending.table_before(name)
        return found

    def made(self, table: Table, rows: ArrowRows | None = None, time: int = 0) -> PendingTable:
        """A new table of these rows; in place of one that is there, nobody else may have changed that."""
        pending, was = self._pending, self._there(table.name)
        pending.check_new(table)
        if was is not None:
            was.drop()
        made = PendingTable(table, None, pending.own, pending.time, was)
        made.begin(rows)
        return made

    def indexed(self, table: Table) -> PendingTable:
        """The table there is, with the indexes that `table` has."""
        there = self[table.name]
        return there.altered(Altered(there.table, table, tuple(range(len(table.fields)))), ())

    def _there(self, name: str) -> PendingTable | None:
        return self[name] if isinstance(self._pending.catalog.find(name), Table) else None

    def altered(self, change: Altered, values: Sequence[pa.Scalar]) -> PendingTable:
        """The table there is as it is to be; see `ivm.engine.tables.Tables.altered`."""
        return self[change.old.name].altered(change, values)

    def referring(self, catalog: Catalog, declared: PendingTable) -> dict[str, PendingTable]:
        """None: foreign keys are checked by COMMIT."""
        return {}


@dataclass(frozen=True, slots=True)
class Saved:
    """What a transaction had changed by a moment: rows of tables, and what existed then."""

    tables: Mapping[str, tuple[pa.Table, pa.Table] | None]
    catalog: Catalog


class Pending(NotWhole):
    """What there was when a transaction began, and what it has changed since; it is the backend of its statements.

    A moment of the past is kept for as long as somebody holds this. The caller of `__init__` has the database's lock.
    """

    is_installing = plans_again = False
    journal = None
    batches: Mapping[str, int] = MappingProxyType({})

    def __init__(self, core: Core, time: int | None, holder: str) -> None:
        """`time`: of which this is, if it is not to be the present; BindError if that is not kept."""
        engine = core.engine
        self._core = core
        self.as_of = AsOf(engine.time if time is None else time, engine.since, time is not None)
        # A query is of one relation, which may keep more of the past than all else.
        self.as_of.check(min(engine.since, self.as_of.time) if holder == QUERY else engine.since, engine.time)
        self.time = self.since = self.as_of.time
        self.past = engine.past
        self.helpers = engine.helpers
        self.dictionary = engine.dictionary
        self.listeners = Listeners()
        self.oracle_sql = dict(engine.oracle_sql)
        self.before = core.catalog.fixed()
        """What existed when the transaction began."""
        self.catalog = core.catalog.fixed()
        """What exists, as the transaction sees it."""
        self.numbers = OwnNumbers(core.numbers, self.before, self.catalog)
        """Those of sequences, of which some may be its own."""
        self.own = Engine(None, history=0)
        """What has the transaction's own rows, and finds out what can be changed."""
        self.tables = _Tables(self)
        self.views: Mapping[str, Installed] = {}
        """None: those that are filled anew are so by COMMIT."""
        self._anew: set[str] = set()
        """The marks of those."""
        self._still_read = StillRead(self.time, holder, core.clock.present())
        self.past.still_read.hold(self._still_read)

    @property
    def recursion_limit(self) -> int:
        """See `Backend.recursion_limit`."""
        return self._core.engine.recursion_limit

    @property
    def is_remote(self) -> bool:
        """See `Backend.is_remote`."""
        return self._core.engine.is_remote

    def begin_with(self, functions: Functions, present: Callable[[], int]) -> None:
        """See `Backend.begin_with`: those that the database has."""

    def end(self) -> None:
        """Keep nothing of the past any more. Once is enough; nobody reads from then on."""
        self.past.still_read.let_go(self._still_read)

    def check_new(self, entry: Table | View) -> None:
        """See `Backend.check_new`."""
        self._core.engine.check_new(entry)

    def moves(self, change: Altered) -> bool:
        """See `Backend.moves`."""
        return self._core.engine.moves(change)

    def contents(self, view: str, as_of: int | None = None) -> ViewRows:
        """The rows of a view that no change of the transaction reaches; it has one time alone."""
        was = self.was(self.catalog.view(view))
        assert was is not None, "it is kept"
        return contents_before(self._core, was, self.as_of)

    def between(self, view: str, after: int, until: int) -> pa.Table:
        """See `Backend.between`: none, as it has one time alone."""
        return self.contents(view).no_changes()

    def known_since(self, view: str) -> int:
        """See `Backend.known_since`: it has one time alone."""
        return self.time

    def hold(self, view: str, names: tuple[Named, ...]) -> None:
        """See `Backend.hold`: nobody listens to it."""

    def planned(self, relation: Relation, sizes: Mapping[str, float] = _NONE) -> None:
        """Raise what planning a view raises. When it is filled it is planned again, by what there is then."""
        names = tables_of(relation)
        lower(optimize(relation), Existing().above(dict.fromkeys(names, _EXPECTED)))

    def installed(
        self, definition: View, planned: None, pause: Pause, aside: Aside = at_once, renderer: object = None
    ) -> None:
        """None: views are filled by COMMIT."""
        self._anew.add(definition.mark)

    def beside(self, tables: Mapping[str, object], views: Set[str]) -> object:
        """Nothing is rendered before COMMIT; this says that views are to be others."""
        return self

    def sweep(self) -> None:
        """Nothing is on its way in."""

    def put_all(self, views: Mapping[str, tuple[object, str | None]], renderer: object = None) -> None:
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

        if not view.maintained or not self.is_kept(view) or not self._reaches(view):
            return False
        changed = {key(name) for name, table in self.tables.items() if table.is_changed}
        return changed.isdisjoint(reached((view.name,), uses))

    def _reaches(self, view: View) -> bool:
        """Whether the view was there at the time; else it is computed of what there was of tables."""
        if not self.as_of.asked:
            return True
        engine = self._core.engine
        installed = engine.whole_view(view.name)
        return installed is None or known_since(installed, self.as_of.first, engine.time) <= self.time

    def is_kept(self, view: View) -> bool:
        """Whether it is one that there was before, and means the same, whatever its text and name are by now."""
        return self.was(view) is not None and view.mark not in self._anew

    def was(self, view: View) -> View | None:
        """The view as it was before, whatever it was called."""
        old = self.before.find(view.name)
        if isinstance(old, View) and old.mark == view.mark:
            return old
        return next((each for each in self.before.views if view.mark and each.mark == view.mark), None)

    def commit(self, changes: Sequence[Change], batch: Batch | None = None, *, also: Also | None = None) -> int:
        """Have all changes, or none; nobody else sees them. See `Commits.commit`."""
        for change in changes:
            self.tables[change.table.name].take_in(change)
        self.own.commit(changes)
        return self.time

    def check(self, changes: Sequence[Change]) -> Sequence[Told]:
        """See `Backend.check`: nobody is told. Cost: that of all of the transaction's own rows."""
        before = self.saved()
        try:
            self.commit(changes)
        finally:
            self.restore(before)
        return ()

    def saved(self) -> Saved:
        """What has been changed by now, for `restore`. Cost: that of the transaction's own rows."""
        return Saved({name: table.saved() for name, table in self.tables.items()}, self.catalog.fixed())

    def restore(self, saved: Saved) -> None:
        """Let go of what rows were changed since this was `saved`. TransactionError if other things exist than then."""
        if not self.catalog.is_like(saved.catalog):
            raise TransactionError(
                "cannot roll back to this savepoint: something was created, altered or dropped since; ROLLBACK the "
                "whole transaction"
            )
        for name, table in self.tables.items():
            table.restore(saved.tables.get(name))

    def settle(self) -> None:
        """See `Backend.settle`."""
        self.own.settle()

    def close(self) -> None:
        """See `end`."""
        self.end()

    def altered(self) -> list[Altered]:
        """The tables that keep rows, and are others than before: as they were and as they are."""
        found = []
        for table in self.catalog.tables:
            if self.before.find(table.name) is not table:
                there = self.tables[table.name]
                if not there.is_new:
                    found.append(replace(there.change, table=table))
        return found

    def goes_on(self) -> bool:
        """Whether nobody else has created or dropped anything since it began but what is TEMP of others, which there is
        from now on. The caller has the lock.
        """
        now, temp = self._core.catalog, self._core.settings.names.temp
        if now.is_like(self.before):
            return True
        if not self.catalog.take_others(self.before, now, temp):
            return False
        self.before.become(now)
        return True

    @property
    def defines(self) -> bool:
        """Whether other things exist than before."""
        return not self.catalog.is_like(self.before)

    @property
    def has_changed(self) -> bool:
        """Whether rows, or what exists, are others than before for the transaction."""
        return self.defines or any(table.is_changed for table in self.tables.values())

    def changes(self) -> dict[str, tuple[pa.Table, Ints]]:
        """Of each table that differs from what was there before the rows that do, each with its diff; but for the
        clock, which each commit brings up to date.
        """
        changed = ((name, table) for name, table in self.tables.items() if table.is_changed and name != CLOCK.name)
        found = ((name, table.changes()) for name, table in changed)
        return {name: changes for name, changes in found if changes is not None}

    def some_rows(
        self, table: Table, keys: Sequence[tuple[int, ...]], rows: pa.Table, as_of: int | None = None
    ) -> tuple[TableStore, TextDictionary]:
        """See `Backend.some_rows`: as of the one time that this shows."""
        return self.tables[table.name].met(keys, rows)

    def difference(self, view: str, successor: None) -> Callable[[], pa.Table | None]:
        """See `Backend.difference`: nobody listens in a transaction."""
        return lambda: None

    def sizes(self) -> Mapping[str, float]:
        """See `Backend.sizes`: those of the database."""
        return self._core.engine.sizes()

    def relations(self) -> Mapping[str, Callable[[], Reading]]:
        """See `Backend.relations`: of the database, as it is without the transaction."""
        return {name: partial(self._relation, read) for name, read in self._core.relations().items()}

    def _relation(self, read: Callable[[], Reading]) -> Reading:
        with self._core.lock:
            return read()

    def explained(
        self, relation: Relation, below: Mapping[str, Relation], names: Callable[[str], tuple[str, ...]], lock: Turns
    ) -> Sequence[Section]:
        """See `Backend.explained`: as of the database."""
        return self._core.engine.explained(relation, below, names, self._core.lock)

    def table_before(self, name: str) -> PendingTable:
        """A table of which the transaction has changed no row, as it is declared by now."""
        table, now = self.before.table(name), self.catalog.table(name)
        found = PendingTable(table, Before(self._core, table, self.as_of), self.own, self.time)
        return found if now is table else found.altered(Altered(table, now, tuple(range(len(now.fields)))), ())
