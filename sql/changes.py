"""The SELECTs that compute what an INSERT, DELETE or UPDATE changes, in DuckDB's dialect.

They read the tables as they are before the statement. Values are cast to the table's types, so that each result
has exactly the table's columns, in order.
"""

from __future__ import annotations

from catalog.errors import BindError
from catalog.names import quoted, suggestion, twice, written
from catalog.schema import Table
from sql.plain_insert import PlainInsert
from sql.statements import Delete, Insert, Update


def columns_to_insert(insert: Insert | PlainInsert, table: Table) -> tuple[str, ...]:
    """The columns that an INSERT names, as they were declared; BindError for one that is unknown or named again."""
    columns = insert.columns or tuple(field.name for field in table.fields)
    columns = tuple(_checked(table, column, f"INSERT INTO {table.name}") for column in columns)
    again = twice(columns)
    if again is not None:
        raise BindError(f"INSERT INTO {table.name} names column {again!r} twice; name it once")
    return columns


def check_width(table: Table, columns: tuple[str, ...], width: int, row: int | None = None) -> None:
    """BindError if an INSERT gives another number of values than it has columns; `row`: which one, from 1."""
    if width != len(columns):
        where = "" if row is None else f" in row {row}"
        raise BindError(
            f"INSERT INTO {table.name} has {len(columns)} column{'s' * (len(columns) != 1)} ({', '.join(columns)}), "
            f"but {width} value{'s' * (width != 1)}{where}; give one for each, or name the columns after the table"
        )


def width_to_insert(insert: Insert) -> str:
    """The SELECT that has as many columns as the query of an INSERT, and no rows."""
    return f"SELECT * FROM ({insert.query.text}) AS new_rows LIMIT 0"


def rows_to_insert(insert: Insert, table: Table) -> str:
    """The SELECT of the rows to insert; a column that the INSERT leaves out is NULL.

    Each value of VALUES is cast for itself, so that a row does not depend on the others. BindError for an unknown or
    repeated column, and for a wrong number of values in VALUES; that of a query shows in `width_to_insert`.
    """
    columns = columns_to_insert(insert, table)
    types = {field.name: field.type for field in table.fields}
    text = insert.query.text
    if insert.values:
        rows = []
        for number, row in enumerate(insert.values, 1):
            check_width(table, columns, len(row), number)
            cast = (f"CAST({value} AS {types[name]})" for name, value in zip(columns, row, strict=True))
            rows.append(f"({', '.join(cast)})")
        text = f"VALUES {', '.join(rows)}"
    values = [
        f"CAST({quoted(field.name) if field.name in columns else 'NULL'} AS {field.type}) AS {quoted(field.name)}"
        for field in table.fields
    ]
    names = ", ".join(quoted(column) for column in columns)
    return f"SELECT {', '.join(values)} FROM ({text}) AS new_rows({names})"


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
