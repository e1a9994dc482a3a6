"""What comes to exist with a commit, where all rows are here."""

from __future__ import annotations

from collections.abc import Mapping

from ivm.catalog.schema import Table, View
from ivm.durable.restore import bound_again
from ivm.engine.backend import Maintained
from ivm.engine.declaring import declared
from ivm.engine.installing import Pause, Put, beside, renamed
from ivm.engine.tables import Declared
from ivm.engine.view import Installed
from ivm.intake.incoming import default_values
from ivm.plan.renamed import Renaming
from ivm.render.renderer import Renderer
from ivm.session.coming import Coming
from ivm.session.core import Core, engine_of
from ivm.session.pending import Pending
from ivm.trace.turns import Aside, at_once


class ComingWhole(Coming):
    """See `Coming`. Tables are what they are to be at once, and as they were again where the commit fails: nobody reads
    meanwhile what they are called.
    """

    def __init__(self, core: Core, pending: Pending) -> None:
        super().__init__(core, pending)
        self._engine = engine_of(core)
        self._before: dict[str, Declared | None] = {}
        self._made: dict[str, Installed] = {}
        self._rendered: Renderer | None = None
        self._prepared: Mapping[str, Declared] | None = None

    def prepare(self) -> None:
        """See `Coming.prepare`. Views are filled beside those there are, where tables and views keep their names and
        rows, and others are new: those begin without rows, and nobody else knows of them.
        """
        engine, new = self._engine, self.changed_views((), whole=True)
        if self.renamed or self.altered or any(table.name in engine.tables for table in self.tables):
            return
        found = self._declared()
        gone = {*self.views, *(view.name for view in new)} - self.kept
        self.renderer = engine.beside({}, gone)
        self.renderer.tables.update({name: each.store for name, each in found.items()})
        for view in new:
            if view.name not in self.kept:
                self.views[view.name] = self._installed(view, self.renderer, self.core.pause, self.core.lock.aside)
        self._prepared = found

    def fill(self) -> None:
        """See `Coming.fill`."""
        self.check_tables()
        engine, found = self._engine, self._prepared
        anew = self._put_tables(self._declared() if found is None else found)
        new, renaming = self.changed_views(anew, whole=True), Renaming({})
        if found is None:
            self._rendered, renaming = engine.renderer, self._renaming()
            gone = {*self.views, *(view.name for view in new)} - self.kept
            self.renderer = engine.beside({name: engine.tables.there(name) for name in anew}, gone)
            engine.renderer = self.renderer  # so that changes reach what is there after the commit
        for view in new:
            if view.name in self.kept:
                self.views[view.name] = self._as_it_was(view, renaming)
            elif found is None:
                self.views[view.name] = self._installed(view, engine.renderer, _alone)
        for name, installed in self._made.items():
            installed.node.owners[name] = None
        engine.sweep()  # the installation is over: what a change raises there is the commit's

    def stays(self, view: str, installed: Maintained | None) -> bool:
        """See `Coming.stays`."""
        there = self._engine.views.get(view)
        return isinstance(installed, Installed) and there is not None and installed.node is there.node

    def give_up(self) -> None:
        """See `Coming.give_up`."""
        engine = self._engine
        engine.settle()
        if self.core.catalog.is_like(self.catalog):
            return
        if self._rendered is not None:
            engine.renderer = self._rendered
        for name, installed in self._made.items():
            installed.node.owners.pop(name, None)
        engine.sweep()
        engine.tables.anew = ()
        for name, put in self._before.items():
            engine.tables.put(name, put)

    def put(self) -> None:
        """See `Coming.put`."""
        self._engine.tables.anew = ()
        super().put()

    def _renaming(self) -> Renaming:
        """Let what has another name be known by it; not what is dropped, whose name that may have been."""
        engine = self._engine
        tables = {each.old.name: each.table.name for each in self.altered if each.old.name != each.table.name}
        renaming = Renaming({**tables, **self.renamed})
        if renaming.names:
            dropped = [[each.name for each in self.gone if isinstance(each, kind)] for kind in (Table, View)]
            views = {*dropped[1]} - renaming.names.keys()
            left = beside(engine.renderer, {**engine.tables}, {*dropped[0]}, views)
            engine.renderer = renamed(left, renaming)
        return renaming

    def _declared(self) -> dict[str, Declared]:
        """The tables that are to be put."""
        altered = {each.table.name: (each, default_values(each.table, each.new)) for each in self.altered}
        made, engine = {table.name: None for table in self.tables}, self._engine
        return declared(engine.tables, self.catalog, made, altered, (), engine.time)

    def _put_tables(self, found: Mapping[str, Declared]) -> list[str]:
        """Let tables be what they are to be, with the rows there are; those that views read in another way now."""
        tables, there = self._engine.tables, {table.name for table in self.catalog.tables}
        puts: dict[str, Declared | None] = {**dict.fromkeys(name for name in tables if name not in there), **found}
        anew = [table.name for table in self.tables if table.name in tables]
        tables.anew = frozenset(anew)
        anew += [each.table.name for each in self.altered if each.is_stored_anew]
        for name, put in puts.items():
            self._before.setdefault(name, tables.there(name) if name in tables else None)
            tables.put(name, put)
        return anew

    def _as_it_was(self, view: View, renaming: Renaming) -> Put:
        """A view that stays filled, of this definition; None for one that is not maintained."""
        was, sql = self.pending.was(view), bound_again(view, self.catalog).oracle_sql
        if was is None or not view.maintained:
            return None, sql
        return self._engine.views[was.name].called(view, renaming), sql

    def _installed(self, view: View, renderer: Renderer, pause: Pause, aside: Aside = at_once) -> Put:
        engine, bound = self._engine, bound_again(view, self.catalog)
        if not view.maintained:
            return None, bound.oracle_sql
        sizes = dict.fromkeys((table.name for table in self.tables), 0.0)
        sizes |= {name: float(len(each.log)) for name, (each, _) in self.views.items() if each is not None}
        planned = engine.planned(bound.relation, sizes)
        installed = engine.installed(view, planned, pause, aside, renderer)
        self._made[view.name] = installed
        return installed, bound.oracle_sql


def _alone(progress: object) -> None:
    """Nobody is let in."""
