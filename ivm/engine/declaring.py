"""Several tables as they are to be: new ones, those that are altered, and those that refer to these."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import pyarrow as pa

from ivm.catalog.altering import Altered
from ivm.catalog.catalog import Catalog
from ivm.catalog.names import key
from ivm.catalog.schema import Table
from ivm.engine.tables import Declared, Tables
from ivm.trace.columns.exported import ArrowRows

Reshaped = tuple[Altered, Sequence[pa.Scalar]]
"""What a table has become, and what its rows hold in columns that are new."""


def declared(
    tables: Tables,
    catalog: Catalog,
    made: Mapping[str, ArrowRows | None],
    altered: Mapping[str, Reshaped],
    others: Collection[str],
    time: int,
    *,
    beside: bool = False,
) -> dict[str, Declared]:
    """Those tables of `catalog` that are to be put, by name; nobody sees them before.

    `made`: new ones, also in place of others of their names, with the rows that they begin with, as of `time`.
    `others`: those of which something else is declared. `beside`: what reads them is filled before they are put, so
    that their rows must be there in the columns that they are to have. ConstraintError if rows break what is declared
    of them now. Cost: none for rows that stay as they are kept; else see `Tables.altered`.
    """
    found = dict[str, Declared]()
    for table in referred_first(catalog.tables):
        name = table.name
        if name in made:
            found[name] = tables.made(table, made[name], time, found)
        elif name in altered:
            change, values = altered[name]
            found[name] = tables.altered(change, values, found, beside=beside)
        elif name in others or _refers(table, found):
            found[name] = tables.indexed(table, found)
    return found


def referred_first(tables: Iterable[Table]) -> list[Table]:
    """The tables, each after those to which its foreign keys refer."""
    left = {key(table.name): table for table in tables}
    found: list[Table] = []

    def add(name: str) -> None:
        table = left.pop(key(name), None)
        if table is not None:
            for foreign in table.foreign_keys:
                add(foreign.table)
            found.append(table)

    for name in list(left):
        add(name)
    return found


def _refers(table: Table, others: Mapping[str, Declared]) -> bool:
    """Whether foreign keys of a table that are checked refer to one of the others."""
    return any(each.enforced and each.table in others for each in table.foreign_keys)
