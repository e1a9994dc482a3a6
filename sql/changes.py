"""The SELECTs that compute what an INSERT, DELETE or UPDATE changes, in DuckDB's dialect.

They read the tables as they are before the statement. Values are cast to the table's types, so that each result
has exactly the table's columns, in order.
"""

from __future__ import annotations

from catalog.catalog import suggestion
from catalog.errors import BindError
from catalog.schema import Table
from sql.statements import Delete, Insert, Update


def rows_to_insert(insert: Insert, table: Table) -> str:
    """The SELECT of the rows to insert; a column that the INSERT leaves out is NULL.

    BindError for an unknown or repeated column. A wrong number of values is DuckDB's to report.
    """
    columns = insert.columns or tuple(field.name for field in table.fields)
    for column in columns:
        _check(table, column, f"INSERT INTO {table.name}")
        if columns.count(column) > 1:
            raise BindError(f"INSERT INTO {table.name} names column {column!r} twice; name it once")
    values = [
        f"CAST({quoted(field.name) if field.name in columns else 'NULL'} AS {field.type}) AS {quoted(field.name)}"
        for field in table.fields
    ]
    names = ", ".join(quoted(column) for column in columns)
    return f"SELECT {', '.join(values)} FROM ({insert.query.text}) AS new_rows({names})"


def rows_to_delete(delete: Delete | Update, table: Table) -> str:
    """The SELECT of the rows that a DELETE, or an UPDATE before it puts its new ones, removes."""
    alias = quoted(delete.alias)
    values = [f"{alias}.{quoted(field.name)}" for field in table.fields]
    return f"SELECT {', '.join(values)} {_from(delete)}"


def rows_after_update(update: Update, table: Table) -> str:
    """The SELECT of the rows that an UPDATE puts in place of those of `rows_to_delete`, in the same order of rows."""
    new = dict(update.assignments)
    for column in new:
        _check(table, column, f"UPDATE {table.name}")
    alias = quoted(update.alias)
    values = [
        f"CAST({new.get(field.name, f'{alias}.{quoted(field.name)}')} AS {field.type}) AS {quoted(field.name)}"
        for field in table.fields
    ]
    return f"SELECT {', '.join(values)} {_from(update)}"


def quoted(name: str) -> str:
    """`name` as a quoted identifier."""
    return '"' + name.replace('"', '""') + '"'


def _from(change: Delete | Update) -> str:
    where = f" WHERE {change.condition}" if change.condition else ""
    return f"FROM {quoted(change.table)} AS {quoted(change.alias)}{where}"


def _check(table: Table, column: str, what: str) -> None:
    names = [field.name for field in table.fields]
    if column not in names:
        raise BindError(f"{what}: there is no column {column!r}{suggestion(column, names)}")
