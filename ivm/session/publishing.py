"""COMMIT: what a transaction has changed becomes one commit of the database, and what it has defined exists with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial

import pyarrow as pa

from catalog.altering import Altered
from catalog.errors import ConstraintError, TransactionError
from catalog.schema import Table, View
from ivm.durable.journal import Written
from ivm.durable.restore import bound_again
from ivm.engine.decided import Also
from ivm.engine.declaring import declared
from ivm.engine.installing import Put, beside, renamed
from ivm.engine.tables import Declared
from ivm.engine.transaction import Change
from ivm.engine.view import Installed
from ivm.intake.incoming import default_values
from ivm.intake.ingest import Intake
from ivm.plan.renamed import Renaming
from ivm.render.renderer import Renderer
from ivm.session.before import check_same
from ivm.session.core import Core
from ivm.session.freeing import dropping
from ivm.session.pending import Pending
from ivm.session.succession import succession


def publish(core: Core, pending: Pending) -> None:
    """Commit all changes, at one logical time, or nothing.

    Raises what a commit and what creating a view raises, and TransactionError if others were first: they have changed
    what the transaction has changed, or what its changes rest upon. Views that are new are filled meanwhile, and others
    wait for that. Cost: that of the commit, and of what is created.
    """
    if not pending.defines:
        with core.lock:
            changes = _changes(core, pending)
            if changes:
                _committed(core, pending, partial(core.commit, changes, settles=False))
        return
    with core.definitions:
        core.check_writable()
        core.begin_defining(None)
        with dropping(core), core.lock:
            if not core.catalog.is_like(pending.before):
                raise TransactionError(
                    "cannot commit: the transaction creates or drops something, and others have done so since it "
                    "began. Nothing was changed; run it again"
                )
            new = _New(core, pending)
            try:
                changes = _changes(core, pending)
                new.fill()
                also = Also(new.written, new.work())
                _committed(core, pending, partial(core.clock.commit, core.engine, changes, None, also))
            except BaseException:
                new.give_up()
                raise


def _committed(core: Core, pending: Pending, commit: Callable[[], int]) -> None:
    try:
        commit()
    except ConstraintError as error:
        others = [name for name, table in pending.tables.items() if table.has_changed]
        if not others:
            raise
        raise TransactionError(
            f"cannot commit: {error}. Others have changed {', '.join(others)} since the transaction began, and were "
            "first; run it again"
        ) from error


def _changes(core: Core, pending: Pending) -> list[Change]:
    """What differs, checked against what others have changed. The caller has the lock."""
    given = []
    for name, (rows, diffs) in pending.changes().items():
        pending.tables[name].check_first(rows, diffs)
        table = pending.tables[name].table
        if not pending.tables[name].is_new:
            check_same(core, pending.tables[name].change.old)
        # Rows that go may be from before a column was NOT NULL; those that come have been checked.
        fields = tuple(replace(field, nullable=True) for field in table.fields)
        stored, addresses = Intake(fields, f"table {name}", table.primary_key).rows(rows)
        given.append(Change(table, stored, addresses, None if (diffs > 0).all() else diffs))
    return given


class _New:
    """What comes to exist with a commit: made, and nobody sees it. The caller has both locks.

    Tables that are altered are so at once, and as they were again where the commit fails: nobody reads meanwhile what
    they are called.
    """

    def __init__(self, core: Core, pending: Pending) -> None:
        self._core, self._pending = core, pending
        self._catalog = pending.catalog.fixed()
        old = core.catalog.content
        here = self._catalog.content
        self._altered = pending.altered()
        altered = {id(each.table) for each in self._altered} | {id(each.old) for each in self._altered}
        new = [entry for name, entry in here.items() if old.get(name) is not entry]
        gone = [entry for name, entry in old.items() if here.get(name) is not entry]
        self._new, self._gone = ([each for each in part if id(each) not in altered] for part in (new, gone))
        self._views: dict[str, Put] = {view.name: (None, None) for view in self._gone if isinstance(view, View)}
        self._renamed: dict[str, str] = {}
        """What views of before are called now, if it is something else."""
        self._before: dict[str, Declared | None] = {}
        self._made: dict[str, Installed] = {}
        self._rendered: Renderer | None = None
        self._renderer: Renderer | None = None

    @property
    def _tables(self) -> list[Table]:
        return [entry for entry in self._new if isinstance(entry, Table)]

    def fill(self) -> None:
        """Make the tables, and fill the views, each after those that it reads. Changes of the commit reach them."""
        engine, anew = self._core.engine, self._put_tables()
        reading = {view.name for name in anew for view in self._catalog.dependents(name)}
        new = [view for view in self._catalog.views if view in self._new or view.name in reading]
        for view in new:
            was = self._pending.was(view)
            if was is not None and was.name != view.name:
                self._renamed[was.name] = view.name
        kept = {view.name for view in new if self._pending.is_kept(view) and view.name not in reading}
        self._rendered, renaming = engine.renderer, self._renaming()
        gone = {*self._views, *(view.name for view in new)} - kept
        self._renderer = engine.beside({name: engine.tables[name] for name in anew}, gone)
        engine.renderer = self._renderer  # so that changes reach what is there after the commit
        for view in new:
            self._views[view.name] = self._installed(view, self._renderer, renaming if view.name in kept else None)

    def _renaming(self) -> Renaming:
        """Let what has another name be known by it; not what is dropped, whose name that may have been."""
        engine = self._core.engine
        tables = {each.old.name: each.table.name for each in self._altered if each.old.name != each.table.name}
        renaming = Renaming({**tables, **self._renamed})
        if renaming.names:
            dropped = [[each.name for each in self._gone if isinstance(each, kind)] for kind in (Table, View)]
            views = {*dropped[1]} - renaming.names.keys()
            left = beside(engine.renderer, {**engine.tables}, {*dropped[0]}, views)
            engine.renderer = renamed(left, renaming)
        return renaming

    def _put_tables(self) -> list[str]:
        """Let tables be what they are to be, with the rows there are; those that views read in another way now.

        TransactionError if others have changed rows of which the transaction has promised something.
        """
        tables = self._core.engine.tables
        altered = {each.table.name: (each, default_values(each.table, each.new)) for each in self._altered}
        for each, values in altered.values():
            if _promises(each, values) and self._pending.tables[each.table.name].has_changed:
                raise TransactionError(
                    f"cannot commit: a column of table {each.table.name} is NOT NULL from now on, and others have "
                    "changed the table since the transaction began. Nothing was changed; run it again"
                )
        for table in self._tables:
            self._pending.tables[table.name].check_alone()
        made = {table.name: None for table in self._tables}
        found = declared(tables, self._catalog, made, altered, (), self._core.engine.time)
        renamed = [each.old.name for each in self._altered if each.old.name not in found]
        puts: dict[str, Declared | None] = {**dict.fromkeys(renamed), **found}
        anew = [name for name in made if name in tables]
        anew += [each.table.name for each in self._altered if each.is_stored_anew]
        for name, put in puts.items():
            self._before.setdefault(name, tables.there(name) if name in tables else None)
            tables.put(name, put)
        return anew

    def _installed(self, view: View, renderer: Renderer, kept: Renaming | None) -> Put:
        engine, bound = self._core.engine, bound_again(view, self._catalog)
        if not view.maintained:
            return None, bound.oracle_sql
        was = self._pending.was(view)
        if was is not None and kept is not None:
            return engine.views[was.name].called(view, kept), bound.oracle_sql
        sizes = {name: float(len(each.log)) for name, each in self._made.items()}
        planned = engine.planned(bound.relation, sizes)
        installed = engine.installed(view, planned, lambda progress: None, renderer=renderer)
        self._made[view.name] = installed
        installed.node.owners[view.name] = None
        engine.sweep()  # the installation is over: what a change raises there is the commit's
        return installed, bound.oracle_sql

    def give_up(self) -> None:
        """Leave nothing behind, unless it has happened."""
        engine = self._core.engine
        engine.settle()
        if self._core.catalog.is_like(self._catalog):
            return
        if self._rendered is not None:
            engine.renderer = self._rendered
        for name, installed in self._made.items():
            installed.node.owners.pop(name, None)
        engine.sweep()
        for name, put in self._before.items():
            engine.tables.put(name, put)

    def written(self, changes: Sequence[Change], time: int) -> Written | None:
        """What the journal has of it, and of the changes with which it comes to exist."""
        core, made = self._core, [table.name for table in self._tables]
        journal = core.engine.journal
        if journal is None:
            return None
        return journal.transaction(core.catalog, self._catalog, made, changes, time, self._altered)

    def work(self) -> Callable[[], None]:
        """What lets it exist, when the changes are final."""
        core, engine = self._core, self._core.engine
        told = cache(partial(succession, core, self._catalog, self._followed()))
        there = {table.name for table in self._catalog.tables}
        gone = [entry.name for entry in self._gone if isinstance(entry, Table) and entry.name not in there]

        def work() -> None:
            tell = told()  # before the views are others
            engine.put_all(self._views, self._renderer)
            for name in gone:
                engine.put_table(name, None)
            core.catalog.become(self._catalog)
            for was, name in self._renamed.items():
                engine.listeners.rename(was, name)
            tell()

        return work

    def _followed(self) -> dict[str, Installed | None]:
        """Of each view that there was before what takes its place, unless it stays."""
        found = dict[str, Installed | None]()
        for view in self._core.catalog.views:
            name = self._renamed.get(view.name, view.name)
            installed, _ = self._views.get(name, (None, None))
            there = self._core.engine.views.get(view.name)
            if name in self._views and (installed is None or there is None or installed.node is not there.node):
                found[view.name] = installed
        return found


def _promises(change: Altered, values: Sequence[pa.Scalar]) -> bool:
    """Whether a column has no NULL from now on though rows that are there might have."""
    given = iter(values)
    for field, was in zip(change.table.fields, change.taken, strict=True):
        may_be_null = not next(given).is_valid if was is None else change.old.fields[was].nullable
        if may_be_null and not field.nullable:
            return True
    return False
