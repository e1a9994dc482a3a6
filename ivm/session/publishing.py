"""COMMIT: what a transaction has changed becomes one commit of the database, and what it has defined exists with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial

from catalog.catalog import Catalog
from catalog.errors import ConstraintError, TransactionError
from catalog.schema import Table, View
from ivm.durable.journal import Written
from ivm.durable.restore import bound_again
from ivm.engine.decided import Also
from ivm.engine.transaction import Change
from ivm.engine.view import Installed
from ivm.intake.ingest import Intake
from ivm.session.before import check_same
from ivm.session.core import Core
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
        with core.dropping(), core.lock:
            if not core.catalog.is_like(pending.before):
                raise TransactionError(
                    "cannot commit: the transaction creates or drops something, and others have done so since it "
                    "began. Nothing was changed; run it again"
                )
            new = _New(core, pending.catalog.fixed())
            try:
                new.fill()
                also = Also(new.written(changes := _changes(core, pending)), new.work())
                _committed(core, pending, partial(core.engine.commit, changes, also=also))
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
            check_same(core, table)
        stored, addresses = Intake(table.fields, f"table {name}", table.primary_key).rows(rows)
        given.append(Change(table, stored, addresses, None if (diffs > 0).all() else diffs))
    return given


class _New:
    """What comes to exist with a commit: made, and nobody sees it. The caller has both locks."""

    def __init__(self, core: Core, catalog: Catalog) -> None:
        self._core = core
        self._catalog = catalog
        old = core.catalog.content
        here = catalog.content
        self._new = [entry for name, entry in here.items() if old.get(name) is not entry]
        self._gone = [entry for name, entry in old.items() if here.get(name) is not entry]
        self._views: dict[str, Installed | None] = {}
        self._oracle_sql: dict[str, str] = {}
        self._known = core.engine.renderer.views

    @property
    def _tables(self) -> list[Table]:
        return [entry for entry in self._new if isinstance(entry, Table)]

    def fill(self) -> None:
        """Make the tables, and fill the views, each after those that it reads. Changes of the commit reach them."""
        engine = self._core.engine
        for table in self._tables:
            engine.tables.put(table.name, engine.tables.made(table))
        engine.renderer.views = dict(self._known)
        for view in self._new:
            if isinstance(view, View):
                self._install(view)

    def _install(self, view: View) -> None:
        engine, bound = self._core.engine, bound_again(view, self._catalog)
        self._views[view.name], self._oracle_sql[view.name] = None, bound.oracle_sql
        if not view.maintained:
            return
        there = {name: float(len(each.log)) for name, each in self._views.items() if each is not None}
        installed = engine.installed(view, engine.planned(bound.relation, there), lambda progress: None)
        self._views[view.name] = installed
        installed.node.owners[view.name] = None
        engine.renderer.views[view.name] = installed.node
        engine.sweep()  # the installation is over: what a change raises there is the commit's

    def give_up(self) -> None:
        """Leave nothing behind, unless it has happened."""
        engine = self._core.engine
        engine.settle()
        if self._core.catalog.is_like(self._catalog):
            return
        engine.renderer.views = self._known
        for name, installed in self._views.items():
            if installed is not None:
                installed.node.owners.pop(name, None)
        engine.sweep()
        for table in self._tables:
            engine.tables.put(table.name, None)

    def written(self, changes: Sequence[Change]) -> Callable[[int], Written | None]:
        """What makes what the journal has of it."""
        core, made = self._core, [table.name for table in self._tables]
        journal, old = core.engine.journal, core.catalog.fixed()

        def written(time: int) -> Written | None:
            return None if journal is None else journal.transaction(old, self._catalog, made, changes, time)

        return written

    def work(self) -> Callable[[], None]:
        """What lets it exist, when the changes are final."""
        core, engine = self._core, self._core.engine
        gone = {view.name: None for view in self._gone if isinstance(view, View)}
        told = cache(partial(succession, core, self._catalog, {**gone, **self._views}))

        def work() -> None:
            tell = told()  # before the views are others
            for name in gone.keys() - self._views.keys():
                engine.put(name, None, None)
            for name, installed in self._views.items():
                engine.put(name, installed, self._oracle_sql[name])
            for entry in self._gone:
                if isinstance(entry, Table):
                    engine.put_table(entry.name, None)
            core.catalog.become(self._catalog)
            tell()

        return work
