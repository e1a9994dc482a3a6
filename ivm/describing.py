"""SHOW, DESCRIBE and SUMMARIZE: what there is, and what its columns are."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from catalog.names import quoted
from catalog.schema import Table, View
from ivm.adhoc import asked, query
from ivm.core import Core
from ivm.result import Result, table_of
from sql.statements import Describe, Query, Show, Summarize


def _shown(core: Core, statement: Show) -> Result:
    """The tables and views by name, in the columns that DuckDB gives them."""
    catalog = core.catalog.fixed()
    entries: list[Table | View] = [*catalog.tables, *catalog.views]
    if statement.what == "views":
        entries = list(catalog.views)
    entries.sort(key=lambda entry: entry.name)
    if statement.what != "all tables":
        return Result(table_of(((entry.name,) for entry in entries), name=pa.string()))
    rows = []
    for entry in entries:
        fields = entry.fields if isinstance(entry, Table) else entry.schema
        kind = "table" if isinstance(entry, Table) else "materialized view" if entry.maintained else "view"
        rows.append((entry.name, kind, [field.name for field in fields], [str(field.type) for field in fields]))
    texts = pa.list_(pa.string())
    return Result(table_of(rows, name=pa.string(), kind=pa.string(), column_names=texts, column_types=texts))


def described(core: Core, statement: Show | Describe | Summarize, dialect: str) -> Result:
    """What there is, or the columns of a table, a view or a query in this dialect, as DuckDB lists them."""
    match statement:
        case Show():
            return _shown(core, statement)
        case Describe():
            return _columns_of(core, statement.of, dialect)
        case Summarize():
            return Result(asked(core, statement.query, dialect, "SUMMARIZE {}"))


def _columns_of(core: Core, of: str | Query, dialect: str) -> Result:
    if isinstance(of, Query):
        return Result(asked(core, of, dialect, "DESCRIBE {}"))
    entry = core.catalog.find(of)
    if isinstance(entry, Table):
        return _listed(_column(entry, place) for place in range(len(entry.fields)))
    if isinstance(entry, View):
        return _listed((f.name, str(f.type), "YES" if f.nullable else "NO", None, None) for f in entry.schema)
    # One of the engine's own relations, or a name that there is not.
    return Result(query(core, f"DESCRIBE {quoted(of)}", (of,)))


def _column(table: Table, place: int) -> tuple[str | None, ...]:
    field = table.fields[place]
    unique = any(field.name in constraint.columns for constraint in table.unique_constraints)
    key = "PRI" if place in table.key_indexes else "UNI" if unique else None
    default = table.default(field.name)
    null = "YES" if field.nullable else "NO"
    return field.name, str(field.type), null, key, None if default is None else default.value


def _listed(columns: Iterable[tuple[str | None, ...]]) -> Result:
    types = dict.fromkeys(("column_name", "column_type", "null", "key", "default", "extra"), pa.string())
    return Result(table_of(((*column, None) for column in columns), **types))
