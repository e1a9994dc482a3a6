"""What writes down definitions of a database over shards: they are orders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from time import perf_counter_ns
from typing import Any, Protocol

from ivm.catalog.errors import InterfaceError
from ivm.cluster.driver.tables import ShardedTables
from ivm.cluster.driver.transport import Given
from ivm.cluster.files.versions import Version
from ivm.cluster.planning.planning import Beside, Guarding, is_kept
from ivm.cluster.planning.reading import Committing, ShardedView
from ivm.cluster.protocol import orders
from ivm.durable.payload import Defining
from ivm.engine.transaction import Change
from ivm.subscriptions.listeners import Listeners


class Defines(Protocol):
    """What a driver has, and does, for definitions; see `ivm.cluster.driver.driver.Driver`."""

    tables: ShardedTables
    guards: Guarding
    beginnings: Mapping[str, Any]
    listeners: Listeners

    @property
    def time(self) -> int:
        """The logical time of the last commit."""
        ...

    def sizes(self) -> dict[str, float]:
        """The rows of each table and view."""
        ...

    def coming(self) -> Beside:
        """What plans the views that come."""
        ...

    def guard(self, guarding: Guarding) -> None:
        """These check constraints, of tables that are to be put."""
        ...

    def levels(self, names: Iterable[str], more: Iterable[ShardedView] = ()) -> int:
        """How many levels a commit needs."""
        ...

    def published(
        self, definition: orders.Definition, levels: int, given: Given, commit: Committing | None = None
    ) -> Version:
        """Publish what exists from now on; `reach` is to follow."""
        ...

    def reach(self, version: Version) -> None:
        """Be at a version that was published."""
        ...

    def settle(self) -> None:
        """End what was tried."""
        ...

    def sweep(self) -> None:
        """Nothing is left of what was on its way in."""
        ...

    def tidy(self) -> None:
        """Remove what is needed no more."""
        ...


class Definitions:
    """Stands where a database has its journal: a definition is published where others are written down."""

    is_pending = False

    def __init__(self, driver: Defines) -> None:
        self._driver = driver

    def define(self, to: Defining) -> Version:
        """See `Journal.define`; raises as `Driver.published`."""
        driver = self._driver
        beside = driver.coming()
        made = {name: rows for name, rows in to.made.items() if rows is not None and rows.num_rows}
        changes = [Change(to.new.table(name), rows) for name, rows in made.items()]
        time = driver.time + bool((changes or driver.beginnings) and not to.altered)
        return driver.published(self._planned(beside, to._replace(time=time)), beside.level, changes)

    def transaction(self, to: Defining, changes: Sequence[Change]) -> Version:
        """See `Journal.transaction`; raises as `Driver.published`. The last level of filling is the commit's first."""
        driver, started, old, new, time = self._driver, perf_counter_ns(), to.old, to.new, to.time
        beside = driver.coming()
        definition = self._planned(beside, to._replace(time=driver.time))
        kept = {view.name for view in new.views if view.maintained and is_kept(view, old, beside.anew)}
        watched = tuple(name for name in driver.listeners.views() if name in kept)
        names = [change.table.name for change in changes]
        levels = beside.level - 1 + driver.levels(names, beside.views.values())
        there = [name for name in names if name in driver.tables and new.find(name) is not None]
        updates = sum(change.data.num_rows for change in changes)
        commit = Committing("", time, there, updates, started, watched)
        definition = definition.followed_by(orders.Commit(time, watched=watched))
        return driver.published(definition, levels, changes, commit)

    def _planned(self, beside: Beside, to: Defining) -> orders.Definition:
        """What is to be, with its guards, and what that is planned by."""
        driver, (old, new, time, made, altered) = self._driver, to
        definition = orders.Definition.between(old, new, time, made, altered, beside.anew)
        driver.guard(
            beside.guard(old, new, driver.guards, made, lambda: driver.tables.estimates(driver.sizes(), new.tables))
        )
        return definition.planned(beside.sizes or {})

    def keep(self, written: Version) -> None:
        """It takes effect. It may be interrupted, and called again."""
        self._driver.reach(written)

    def take_back(self) -> None:
        """It does not. It may be interrupted, and is then done by whoever comes next."""
        self._driver.settle()
        self._driver.sweep()

    def settle(self) -> None:
        """It has taken effect."""
        self._driver.tidy()

    def certain(self) -> None:
        """What was published is certain."""

    def finish(self) -> int:
        """InterfaceError: the folder itself is to be copied."""
        raise InterfaceError("cannot back up a database over shards: copy its folder, while nobody commits")

    def copy(self, path: str | PathLike[str], record: int) -> None:
        """As `finish`."""
        self.finish()

    def close(self) -> None:
        """Nothing is held."""
