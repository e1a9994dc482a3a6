"""The tables of a definition as a shard is to have them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ivm.catalog.catalog import Catalog
from ivm.catalog.names import key
from ivm.catalog.schema import Table
from ivm.cluster.planning.guards import at_home
from ivm.cluster.protocol.orders import Definition
from ivm.engine.declaring import declared
from ivm.engine.tables import Declared, Tables
from ivm.intake.incoming import default_values
from ivm.trace.columns.exported import ArrowRows


def declared_here(
    tables: Tables, definition: Definition, old: Catalog, new: Catalog, rows: Mapping[str, ArrowRows]
) -> dict[str, Declared]:
    """The tables by name, with the constraints that a shard can check; `rows`: those that new ones begin with.

    See `ivm.engine.declaring.declared`.
    """
    home = _at_home(new)
    changed = [table.name for table in new.tables if old.content.get(key(table.name)) is not table]
    altered = {}
    for each in definition.altered_tables(old, new):
        table = home.table(each.table.name)
        change = replace(each, old=tables[each.old.name].table, table=table)
        altered[table.name] = change, default_values(table, change.new)
    made = {name: rows.get(name) for name in definition.made}
    return declared(tables, home, made, altered, changed, definition.time, beside=True)


def _at_home(catalog: Catalog) -> Catalog:
    """What exists, with tables as each shard has them."""
    home = catalog.fixed()
    home.content = {
        name: at_home(entry, catalog.table) if isinstance(entry, Table) else entry
        for name, entry in catalog.content.items()
    }
    return home
