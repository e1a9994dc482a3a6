"""What comes to exist with a commit over shards: it is planned here, and made by the shards when it is published."""

from __future__ import annotations

from collections.abc import Callable

from ivm.cluster.driver.driver import Driver
from ivm.cluster.driver.tables import NewTable
from ivm.cluster.planning.planning import check_not_followed
from ivm.cluster.protocol.placing import placement_of
from ivm.durable.restore import bound_again
from ivm.engine.backend import Maintained
from ivm.session import coming
from ivm.session.core import Core
from ivm.session.pending import Pending
from ivm.session.succession import succession

_EXPECTED = 1000.0
"""So many rows has a view that has not been maintained so far."""


class Coming(coming.Coming):
    """See `ivm.session.coming.Coming`. Nothing is put before it is published."""

    def __init__(self, core: Core, pending: Pending) -> None:
        super().__init__(core, pending)
        assert isinstance(core.engine, Driver), "shards have the rows"
        self._driver = core.engine

    def prepare(self) -> None:
        """See `Coming.prepare`: nothing, since all is done by one order."""

    def fill(self) -> None:
        """Plan the tables and views. UnsupportedError for what cannot be over shards, or is not to be filled again."""
        self.check_tables()
        driver, tables = self._driver, {table.name: self._driver.tables.made(table) for table in self.tables}
        new_names = {name for name in tables if name not in driver.tables}
        for each in self.altered:
            if each.is_read_otherwise:
                tables |= dict.fromkeys((each.old.name, each.table.name), NewTable(each.table))
        new = self.changed_views(tables, whole=False)
        anew = {view.name for view in new} - self.kept
        others = {name: made for name, made in tables.items() if name not in new_names}
        beside = driver.beside(others, {name for name in anew if name in driver.views})
        beside.placed |= {name: (placement_of(made.table), 1) for name, made in tables.items()}
        sizes = driver.sizes() | {name: _EXPECTED for name in anew if name not in driver.views}
        beside.sizes = driver.tables.estimates(sizes, self.catalog.tables)
        self.renderer = beside
        for view in new:
            bound, installed = bound_again(view, self.catalog), None
            if view.name in self.kept and view.maintained:
                installed = driver.views[view.name].of(view)
            elif view.maintained:
                check_not_followed(view, driver.views.values())
                installed = beside.plan(view, bound.relation, beside.sizes)
            self.views[view.name] = installed, bound.oracle_sql

    def stays(self, view: str, installed: Maintained | None) -> bool:
        """See `Coming.stays`."""
        return view in self.kept

    def told(self) -> Callable[[], Callable[[], None]]:
        """See `Coming.told`. What views hold is found out now: it is not there any more once it is published."""
        tell = succession(self.core, self.catalog, self.followed())
        return lambda: tell

    def put(self) -> None:
        """See `Coming.put`."""
        for name in self._driver.guarding:  # those that are new are among them
            self._driver.put_table(name, NewTable(self.catalog.table(name)))
        super().put()

    def give_up(self) -> None:
        """See `Coming.give_up`."""
        self._driver.settle()
        self._driver.sweep()
