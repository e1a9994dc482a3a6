"""Ad-hoc SELECTs, run by DuckDB over the tables, views and introspection relations that they name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import duckdb
import pyarrow as pa

from catalog.names import key
from ivm.duck import Use, answer, connection, define, told

Provider = Callable[[], pa.Table]


def run_query(
    text: str,
    names: Sequence[str],
    relations: Mapping[str, Provider],
    definitions: Mapping[str, tuple[str, Sequence[str]]],
    *,
    external_access: bool,
) -> pa.Table:
    """DuckDB's answer. `relations` gives the contents of what is stored, `definitions` the SQL of registered views
    with the names that they use, both by the keys of their names.

    Only what `names` mentions (through definitions too) is read; files and all else outside only with
    `external_access`. Raises AccessError for a text that reaches there without, MemoryLimitError where DuckDB's memory
    is not enough, and BindError with DuckDB's words where it refuses: UnknownNameError where it misses a name.
    """
    use = Use.OPEN if external_access else Use.CLOSED
    try:
        with connection(use) as duck:
            done: set[str] = set()
            for name in names:
                _provide(duck, name, relations, definitions, done)
            return answer(duck, text)
    except duckdb.Error as error:
        raise told(error, use) from error


def _provide(
    duck: duckdb.DuckDBPyConnection,
    name: str,
    relations: Mapping[str, Provider],
    definitions: Mapping[str, tuple[str, Sequence[str]]],
    done: set[str],
) -> None:
    found = key(name)
    if found in done:
        return
    done.add(found)
    if found in relations:
        duck.register(name, relations[found]())
    elif found in definitions:
        text, uses = definitions[found]
        for used in uses:
            _provide(duck, used, relations, definitions, done)
        define(duck, name, text)
