"""DEFAULT: what stands in for columns that inserted rows leave out, computed by DuckDB."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pyarrow as pa

from catalog.errors import Error
from catalog.schema import Default, Table
from ivm.trace.ingest import Defaults


def check_defaults(table: Table) -> None:
    """Raise, for a table that is to be created, what computing one of its defaults raises."""
    for default in table.defaults:
        try:
            _values(table, default, 1)
        except Error as error:
            what = f"cannot create table {table.name!r}: DEFAULT {default.value} of column {default.column!r}"
            raise type(error)(f"{what}: {error}; write an expression of the column's type") from error


def defaults_of(table: Table) -> Defaults:
    """The table's defaults: a constant one is computed when it is first needed, any other anew for each row."""
    return {default.column: _maker(table, default) for default in table.defaults}


def _maker(table: Table, default: Default) -> Callable[[int], pa.Array]:
    if not default.constant:
        return lambda count: _values(table, default, count)

    @cache
    def value() -> pa.Scalar:
        return _values(table, default, 1)[0]

    return lambda count: pa.repeat(value(), count)


def _values(table: Table, default: Default, count: int) -> pa.Array:
    import duckdb  # noqa: PLC0415  which a program without defaults does not wait for

    from ivm.duck import Use, answer, connection, told  # noqa: PLC0415

    type_ = table.fields[table.index(default.column)].type
    try:
        with connection(Use.CLOSED) as duck:
            rows = answer(duck, f"SELECT CAST({default.value} AS {type_}) AS made FROM range({count})")
    except duckdb.Error as error:
        raise told(error, Use.CLOSED) from error
    return rows.column(0).combine_chunks()
