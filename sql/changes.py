"""The SELECTs that compute what an INSERT, DELETE or UPDATE changes, in DuckDB's dialect.

They read the tables as they are before the statement. Values are cast to the table's types, so that each result
has exactly the table's columns, in order.
"""

from __future__ import annotations

from catalog.errors import BindError
from catalog.names import quoted, suggestion, twice, written
from catalog.schema import Table
from sql.statements import Delete, Insert, Update


def rows_to_insert(insert: Insert, table: Table) -> str:
    """The SELECT of the rows to insert; a column that the INSERT leaves out is NULL.

    BindError for an unknown or repeated column. A wrong number of values is DuckDB's to report.
    """
    columns = insert.columns or tuple(field.name for field in table.fields)
    columns = tuple(_checked(table, column, f"INSERT INTO {table.name}") for column in columns)
    again = twice(columns)
    if again is not None:
        raise BindError(f"INSERT INTO {table.name} names column {again!r} twice; name it once")
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
    new = {_checked(table, column, f"UPDATE {table.name}"): value for column, value in update.assignments}
    alias = quoted(update.alias)
    values = [
        f"CAST({new.get(field.name, f'{alias}.{quoted(field.name)}')} AS {field.type}) AS {quoted(field.name)}"
        for field in table.fields
    ]
    return f"SELECT {', '.join(values)} {_from(update)}"


def _from(change: Delete | Update) -> str:
    where = f" WHERE {change.condition}" if change.condition else ""
    return f"FROM {quoted(change.table)} AS {quoted(change.alias)}{where}"


def _checked(table: Table, column: str, what: str) -> str:
    """The name of the column as it was declared."""
    names = [field.name for field in table.fields]
    found = written(column, names)
    if found is None:
        raise BindError(f"{what}: there is no column {column!r}{suggestion(column, names)}")
    return found
