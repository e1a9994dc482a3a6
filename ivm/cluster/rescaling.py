"""The same tables and views over another number of shards, at the same logical time.

They are made beside those that there are, which nothing touches: all tables without rows, then the rows of all of them
as one commit, at the time that there is, then the views in the order of their creation. Constraints are checked again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from catalog.catalog import Catalog
from catalog.names import key
from catalog.schema import Table, View
from ivm.cluster.driver import Driver
from ivm.cluster.ledger import InMemory
from ivm.cluster.transport import Transport
from ivm.durable.restore import bound_again
from ivm.trace.exported import ArrowRows
from ivm.trace.helpers import Helpers
from ivm.transaction import Change


def rescaled(driver: Driver, catalog: Catalog, transport: Transport) -> Driver:
    """What a driver has, over new shards, which are at the time before its own; for `Driver.become`.

    Cost: that of reading all tables, of their commit, and of filling all views.
    """
    time, made = driver.time, Driver(transport, InMemory(), Helpers(1))
    made.version = replace(made.version, time=max(time - 1, 0), batches=driver.version.batches)
    there = catalog.fixed()
    there.content = {}
    for table in catalog.tables:
        there = _defined(made, there, table, {table.name: None})
        made.put_table(table.name, made.tables.made(table))
    if time:
        made.commit([Change(each, driver.tables[each.name].reading()()) for each in catalog.tables], time=time)
    for view in catalog.views:
        bound = bound_again(view, catalog)
        installed = (
            made.installed(view, made.planned(bound.relation), lambda progress: None) if view.maintained else None
        )
        there = _defined(made, there, view, {})
        made.put(view.name, installed, bound.oracle_sql)
    return made


def _defined(driver: Driver, there: Catalog, entry: Table | View, made: Mapping[str, ArrowRows | None]) -> Catalog:
    """What there is with another table or view, which shards have then."""
    catalog = there.fixed()
    catalog.content = {**there.content, key(entry.name): entry}
    driver.reach(driver.define(there, catalog, made))
    return catalog
