"""Ad-hoc SELECTs, run by DuckDB over the tables, views and introspection relations that they name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import duckdb
import pyarrow as pa

from catalog.errors import BindError

Provider = Callable[[], pa.Table]


def run_query(
    text: str,
    names: Sequence[str],
    relations: Mapping[str, Provider],
    definitions: Mapping[str, tuple[str, Sequence[str]]],
) -> pa.Table:
    """DuckDB's answer. `relations` gives the contents of what is stored, `definitions` the SQL of registered views
    with the names that they use.

    Only what `names` mentions (through definitions too) is read. Raises BindError with DuckDB's words where it refuses.
    """
    with duckdb.connect() as connection:
        done: set[str] = set()
        for name in names:
            _provide(connection, name, relations, definitions, done)
        try:
            return connection.sql(text).to_arrow_table()
        except duckdb.Error as error:
            raise BindError(f"cannot run the query: {error}") from error


def _provide(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    relations: Mapping[str, Provider],
    definitions: Mapping[str, tuple[str, Sequence[str]]],
    done: set[str],
) -> None:
    if name in done:
        return
    done.add(name)
    if name in relations:
        connection.register(name, relations[name]())
    elif name in definitions:
        text, uses = definitions[name]
        for used in uses:
            _provide(connection, used, relations, definitions, done)
        connection.execute(f'CREATE TEMP VIEW "{name}" AS {text}')
