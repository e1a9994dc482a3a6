"""Ad-hoc SELECTs, run by DuckDB over the tables, views and introspection relations that they name; and the changes that
are computed from their answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import duckdb
import pyarrow as pa

from catalog.names import key
from ivm.core import Core
from ivm.duck import UnknownNameError, Use, answer, connection, define, told
from ivm.snapshot import Snapshot, snapshot
from ivm.transaction import Transaction

Ask = Callable[[str], pa.Table]
"""Answers SELECTs in DuckDB's dialect, all as of one moment."""


def query(core: Core, text: str, names: Sequence[str]) -> pa.Table:
    """A SELECT in DuckDB's dialect, answered as of now; `names` are the relations it mentions."""
    return _answer(core, text, names, seen(core, names))


def change(core: Core, names: Sequence[str], collect: Callable[[Transaction, Ask], int]) -> int:
    """Commit what `collect` puts into the transaction, which may ask SELECTs over `names`; returns what it returns.

    It is called without the lock. If what it read has changed when the turn to commit comes, it is called once more,
    with the lock, so that no change of others is lost.
    """
    with core.transaction() as tx:
        first = seen(core, names)
        result = collect(tx, lambda text: _answer(core, text, names, first))
        with core.lock:
            if not first.is_current(core.catalog, core.engine):
                tx.forget()
                again = seen(core, names)
                result = collect(tx, lambda text: _answer(core, text, names, again))
            tx.commit()
    return result


def seen(core: Core, names: Sequence[str]) -> Snapshot:
    """What the relations called `names` hold now."""
    with core.lock:
        return snapshot(names, core.catalog, core.engine)


def _answer(core: Core, text: str, names: Sequence[str], held: Snapshot) -> pa.Table:
    try:
        return run_query(text, names, held, external_access=core.external_access)
    except UnknownNameError:
        for name in names:
            if key(name) not in held.stored:
                core.catalog.lookup(name)  # says it better, with the names that are close
        raise


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
