"""Ad-hoc SELECTs, run by DuckDB over the tables, views and introspection relations that they name."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import pyarrow as pa

from catalog.names import key
from ivm.duck import Use, answer, connection, define, told
from ivm.snapshot import Snapshot


def run_query(text: str, names: Sequence[str], seen: Snapshot, *, external_access: bool) -> pa.Table:
    """DuckDB's answer over what was seen of the relations called `names`; needs no lock.

    Only what `names` mentions (through definitions too) is read; files and all else outside only with
    `external_access`. Raises AccessError for a text that reaches there without, MemoryLimitError where DuckDB's memory
    is not enough, and BindError with DuckDB's words where it refuses: UnknownNameError where it misses a name.
    """
    use = Use.OPEN if external_access else Use.CLOSED
    try:
        with connection(use) as duck:
            done: set[str] = set()
            for name in names:
                _provide(duck, name, seen, done)
            return answer(duck, text)
    except duckdb.Error as error:
        raise told(error, use) from error


def _provide(duck: duckdb.DuckDBPyConnection, name: str, seen: Snapshot, done: set[str]) -> None:
    found = key(name)
    if found in done:
        return
    done.add(found)
    if found in seen.stored:
        duck.register(name, seen.stored[found]())
    elif found in seen.definitions:
        text, uses = seen.definitions[found]
        for used in uses:
            _provide(duck, used, seen, done)
        define(duck, name, text)
