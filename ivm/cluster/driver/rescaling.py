"""The same tables and views over another number of shards, at the same logical time.

They are made beside those that there are, which nothing touches: all tables without rows, then the rows of all of them
as one commit, at the time that there is, then the views in the order of their creation. Constraints are checked again.
Then one publication makes them those that count; see `ivm.cluster.files.chains`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from ivm.catalog.catalog import Catalog
from ivm.catalog.names import key
from ivm.catalog.schema import Table, View
from ivm.cluster.driver.driver import Driver
from ivm.cluster.driver.transport import Transport
from ivm.cluster.files.ledger import Ledger
from ivm.durable.restore import bound_again
from ivm.session.core import Core
from ivm.trace.columns.exported import ArrowRows
from ivm.trace.helpers import Helpers


def rescale(core: Core, driver: Driver, shards: int) -> None:
    """Let a database's driver have so many shards; see `ShardedDatabase.rescale`."""
    with core.definitions:
        core.begin_defining(None)
        with core.lock:
            driver.be_sure()
            old, ledger, new, is_made = driver.transport, driver.ledger.beside(driver.version, shards), None, False
            try:
                new = old.anew(shards, max(driver.time - 1, 0), ledger.name)
                made = _rescaled(driver, core.catalog, new, ledger)
                is_made = True
                driver.leave_for(made)
                core.replace(partial(driver.become, made))
            finally:
                for each in (old, new):
                    if each is not None and each is not driver.transport:
                        each.leave()
                if not is_made:
                    ledger.drop()


def _rescaled(driver: Driver, catalog: Catalog, transport: Transport, ledger: Ledger) -> Driver:
    """What a driver has, over new shards, which are at the time before its own; for `Driver.become`."""
    time, made = driver.time, Driver(transport, ledger, Helpers(1))
    made.version = replace(made.version, time=max(time - 1, 0), batches=driver.version.batches, again=True)
    there = catalog.fixed()
    there.content = {}
    for table in catalog.tables:
        there = _defined(made, there, {key(table.name): table}, {table.name: None})
        made.put_table(table.name, made.tables.made(table))
    if time:
        names = [table.name for table in catalog.tables]
        made.commit_frames(driver.transport.rows(driver.version, names, transport.shards), "diff")
    for view in catalog.views:
        bound = bound_again(view, catalog)
        installed = (
            made.installed(view, made.planned(bound.relation), lambda progress: None) if view.maintained else None
        )
        there = _defined(made, there, {key(view.name): view}, {})
        made.put(view.name, installed, bound.oracle_sql)
    if not catalog.content:
        _defined(made, there, {}, {})  # so that there is a version, with the types that have names
    return made


def _defined(
    driver: Driver, there: Catalog, more: Mapping[str, Table | View], made: Mapping[str, ArrowRows | None]
) -> Catalog:
    """What there is with another table or view, which shards have then."""
    catalog = there.fixed()
    catalog.content = {**there.content, **more}
    driver.reach(driver.journal.define(there, catalog, driver.time, made))
    return catalog
