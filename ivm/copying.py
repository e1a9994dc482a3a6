"""COPY between files and tables, by DuckDB's readers and writers, where the application lets SQL text reach files."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import duckdb
import pyarrow as pa

from catalog.errors import AccessError, BindError
from catalog.names import as_literal
from catalog.schema import Field, Table
from ivm.adhoc import wrote
from ivm.core import Core
from ivm.duck import Use, answer, batches, connection, told
from ivm.engine import Progress
from ivm.result import Result, counted
from sql.changes import columns_to_copy, rows_to_copy
from sql.statements import Copy, Query

Told = Callable[[Progress], None] | None


def run_copy(core: Core, statement: Copy, progress: Told) -> Result:
    """Read a file into a table, or write a query's rows to one; how many rows.

    What is read commits at once, or not at all: its rows are held as they come, batch after batch, as the table then
    keeps them, and never twice. `progress` is called after each batch; if it raises, nothing has changed.
    """
    if not core.external_access:
        raise AccessError(
            f"cannot copy file {statement.path!r}: SQL text reaches nothing outside unless the application allows it "
            "with ivm.connect(external_access=True)"
        )
    if statement.query is not None:
        return _write(core, statement, statement.query)
    return _read(core, statement, progress)


def _write(core: Core, statement: Copy, query: Query) -> Result:
    options = ", ".join((f"FORMAT {statement.format}", *(f"{name} {text}" for name, text in statement.options)))
    text = f"COPY ({query.text}) TO {as_literal(statement.path)} ({options})"
    return counted(wrote(core, text, query.names))


def _read(core: Core, statement: Copy, progress: Told) -> Result:
    table = core.catalog.table(statement.table)
    columns = columns_to_copy(statement, table)
    rows = 0
    with core.transaction() as tx:
        for batch in _batches(statement, table, columns):
            tx.insert(table.name, batch)
            rows += batch.num_rows
            if progress is not None:
                progress(Progress(table.name, rows, rows))
        tx.commit()
    return counted(rows)


def _batches(statement: Copy, table: Table, columns: tuple[Field, ...]) -> Iterator[pa.Table]:
    try:
        with connection(Use.OPEN) as duck:
            if statement.format == "parquet":
                _check_width(answer(duck, f"DESCRIBE FROM read_parquet({as_literal(statement.path)})"), table, columns)
            yield from batches(duck, rows_to_copy(statement, table, columns))
    except duckdb.Error as error:
        raise told(error, Use.OPEN) from error


def _check_width(described: pa.Table, table: Table, columns: tuple[Field, ...]) -> None:
    if described.num_rows != len(columns):
        names = ", ".join(field.name for field in columns)
        raise BindError(
            f"cannot copy into table {table.name}: the file has {described.num_rows} columns "
            f"({', '.join(described['column_name'].to_pylist())}), and {len(columns)} are needed ({names}); name those "
            "that it has after the table, in its order"
        )
