"""The same tables and views over another number of shards, at the same logical time; or over shards, in place of one
engine.

They are made beside those that there are, which nothing touches: all tables without rows, then their rows, in stretches
and all at the time that there is, then the views in the order of their creation. Constraints are checked again. Then
one publication makes them those that count; see `ivm.cluster.files.chains`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from ivm.catalog.catalog import Catalog
from ivm.catalog.errors import InterfaceError
from ivm.catalog.names import key
from ivm.catalog.schema import Table, View
from ivm.cluster.driver.driver import Driver
from ivm.cluster.driver.stretches import stretches_elsewhere, stretches_here
from ivm.cluster.driver.tables import NewTable
from ivm.cluster.driver.transport import Transport
from ivm.cluster.files.ledger import Ledger
from ivm.durable.payload import Defining
from ivm.durable.restore import bound_again
from ivm.engine.installing import Progress
from ivm.session.core import Core, engine_of
from ivm.subscriptions.names import Named
from ivm.trace.columns.exported import ArrowRows
from ivm.trace.helpers import Helpers

Tell = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class _What:
    """What is to be over new shards: what exists, at a logical time, with these batches, and what names have
    acknowledged; `load` brings the rows. Who is told of it.
    """

    catalog: Catalog
    time: int
    batches: Mapping[str, int]
    names: Mapping[str, Named]
    load: Callable[[Driver], object]
    tell: Tell


def telling(core: Core, progress: Tell | None) -> Tell:
    """What tells `progress`, if it is given, which may not use the database: it has the lock, and is about to move."""

    def tell(now: Progress) -> None:
        if progress is not None:
            with core.functions.calling():
                progress(now)

    return tell


def rescale(core: Core, driver: Driver, shards: int, tell: Tell) -> None:
    """Let a database's driver have so many shards; see `ShardedDatabase.rescale`."""

    def load(made: Driver) -> None:
        old, rows = driver.transport, driver.sizes()
        for tables, part, of in stretches_elsewhere(core.catalog.tables, rows, old.shards):
            names = [table.name for table in tables]
            made.bring(names, (), old.rows(driver.version, names, part, of))
            for name in names:
                tell(Progress(name, int(rows[name]) * (part + 1) // of, int(rows[name])))

    with core.definitions:
        core.begin_defining(None)
        with core.lock:
            names = dict(driver.listeners.names.each())
            what = _What(core.catalog, driver.time, driver.version.batches, names, load, tell)
            _move(core, driver, shards, what, driver.become)


def take_over(core: Core, driver: Driver, source: Core, tell: Tell) -> None:
    """Let a database's driver, which has nothing yet, have all that one in one piece has; see
    `ShardedDatabase.restore`.
    """
    engine, catalog = engine_of(source), source.catalog.lasting()

    def load(made: Driver) -> None:
        done = Counter[str]()
        for changes in stretches_here(catalog.tables, engine.tables):
            names = [*dict.fromkeys(change.table.name for change in changes)]
            made.bring(names, changes, {})
            for change in changes:
                done[change.table.name] += change.data.num_rows
            for name in names:
                tell(Progress(name, done[name], engine.tables[name].count))

    def become(made: Driver) -> None:
        driver.become(made)
        for table in catalog.tables:
            driver.tables.put(table.name, NewTable(table), driver.time)
        driver.oracle_sql.update(made.oracle_sql)
        core.catalog.become(catalog)

    with core.definitions:
        core.begin_defining(None)
        with core.lock:
            if core.catalog.content or driver.time:
                raise InterfaceError(
                    "cannot restore: the database has something already; give a new one, over another folder"
                )
            for view in catalog.views:
                for each in view.calls:
                    core.functions.expect(each, view.name)
            what = _What(catalog, engine.time, dict(engine.batches), {}, load, tell)
            _move(core, driver, driver.transport.shards, what, become)


def _move(core: Core, driver: Driver, shards: int, what: _What, become: Callable[[Driver], None]) -> None:
    """Have it over new shards in place of those there are; `become` makes the driver of these the database's."""
    driver.be_sure()
    old, ledger, new, is_made = driver.transport, driver.ledger.beside(driver.version, shards), None, False
    try:
        new = old.anew(shards, what.time, ledger.name)
        made = _made(what, new, ledger)
        is_made = True
        driver.leave_for(made)
        core.replace(partial(become, made))
    finally:
        for each in (old, new):
            if each is not None and each is not driver.transport:
                each.leave()
        if not is_made:
            ledger.drop()


def _made(what: _What, transport: Transport, ledger: Ledger) -> Driver:
    """What is to be, over new shards, to which nothing has happened up to its time; for `Driver.become`."""
    catalog, made = what.catalog, Driver(transport, ledger, Helpers(1))
    made.version = replace(made.version, time=what.time, batches=what.batches, again=True)
    there = catalog.fixed()
    there.content = {}
    for table in catalog.tables:
        there = _defined(made, there, {key(table.name): table}, {table.name: None})
        made.put_table(table.name, made.tables.made(table))
    what.load(made)
    for view in catalog.views:
        bound, installed = bound_again(view, catalog), None
        if view.maintained:
            planned, rows = made.planned(bound.relation), made.sizes()
            what.tell(Progress(view.name, 0, int(sum(rows.get(name, 0) for name in planned.tables))))
            installed = made.installed(view, planned, lambda progress: what.tell(progress()))
        there = _defined(made, there, {key(view.name): view}, {})
        made.put(view.name, installed, bound.oracle_sql)
    if not catalog.content:
        _defined(made, there, {}, {})  # so that there is a version, with the types that have names
    if what.names:
        made.tell_names(what.names)
    return made


def _defined(
    driver: Driver, there: Catalog, more: Mapping[str, Table | View], made: Mapping[str, ArrowRows | None]
) -> Catalog:
    """What there is with another table or view, which shards have then."""
    catalog = there.fixed()
    catalog.content = {**there.content, **more}
    driver.reach(driver.journal.define(Defining(there, catalog, driver.time, made)))
    return catalog
