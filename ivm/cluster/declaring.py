"""The tables of a definition as a shard is to have them: new ones, those that are altered, and what refers to these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from catalog.altering import Altered
from catalog.catalog import Catalog
from catalog.names import key
from catalog.schema import Table
from ivm.cluster.guards import at_home
from ivm.cluster.orders import Definition
from ivm.durable.restore import referred_first
from ivm.engine.tables import Declared, Tables
from ivm.intake.incoming import default_values
from ivm.trace.columns.exported import ArrowRows


def declared(
    tables: Tables, definition: Definition, old: Catalog, new: Catalog, rows: Mapping[str, ArrowRows]
) -> dict[str, Declared]:
    """The tables by name, which nobody sees before they are put; `rows`: those that new ones begin with.

    ConstraintError if rows break what is declared of them now. Cost: none for what stays as it is kept; else see
    `Tables.with_columns`.
    """
    home, found = _at_home(new), dict[str, Declared]()
    altered = {each.table.name: each for each in definition.altered_tables(old, new)}
    for table in referred_first(home.tables):
        name = table.name
        if name in definition.made:
            found[name] = tables.made(table, rows.get(name), definition.time, found)
        elif name in altered:
            was = tables[altered[name].old.name].table
            found[name] = _altered(tables, replace(altered[name], old=was, table=table), found)
        elif old.content.get(key(name)) is not new.content[key(name)] or _refers(table, found):
            found[name] = tables.indexed(table, found)
    return found


def _at_home(catalog: Catalog) -> Catalog:
    """What exists, with tables as each shard has them."""
    home = catalog.fixed()
    home.content = {
        name: at_home(entry, catalog.table) if isinstance(entry, Table) else entry
        for name, entry in catalog.content.items()
    }
    return home


def _altered(tables: Tables, change: Altered, others: Mapping[str, Declared]) -> Declared:
    """A table in the columns that it is to have; what reads it is filled from these before they are put."""
    if not change.has_other_columns:
        return tables.altered(change, (), others)
    store = tables.with_columns(change, default_values(change.table, change.new), tables.time())
    return tables.declared(change.table, store, others=others)


def _refers(table: Table, others: Mapping[str, Declared]) -> bool:
    """Whether foreign keys of a table that are checked refer to one of the others."""
    return any(each.enforced and each.table in others for each in table.foreign_keys)
