"""Ad-hoc SELECTs, run by DuckDB over the tables, views and introspection relations that they name; and the changes that
are computed from their answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Protocol, TypeVar

import duckdb
import pyarrow as pa

from catalog.names import key
from ivm.core import Core
from ivm.duck import UnknownNameError, Use, answer, connection, define, offer, told, write
from ivm.snapshot import Snapshot, snapshot
from ivm.transaction import Transaction

T = TypeVar("T")
_NONE: Mapping[str, pa.Table] = {}


class Ask(Protocol):
    """Answers SELECTs in DuckDB's dialect, all as of one moment."""

    def __call__(self, text: str, given: Mapping[str, pa.Table] = _NONE) -> pa.Table:
        """The answer; the text may read what is `given` too, by names that no relation has."""
        ...


def query(core: Core, text: str, names: Sequence[str]) -> pa.Table:
    """A SELECT in DuckDB's dialect, answered as of now; `names` are the relations it mentions."""
    return _answer(core, names, seen(core, names), text)


def change(
    core: Core, names: Sequence[str], collect: Callable[[Transaction, Ask], T], watched: Sequence[str] = ()
) -> T:
    """Commit what `collect` puts into the transaction, which may ask SELECTs over `names`; returns what it returns.

    It is called without the lock. If what it read has changed when the turn to commit comes, it is called once more,
    with the lock, so that no change of others is lost. `watched` is what it reads in another way.
    """
    with core.transaction() as tx:
        first = seen(core, names, watched)
        result = collect(tx, partial(_answer, core, names, first))
        with core.lock:
            if not first.is_current(core.catalog, core.engine):
                tx.forget()
                result = collect(tx, partial(_answer, core, names, seen(core, names)))
            tx.commit()
    return result


def seen(core: Core, names: Sequence[str], watched: Sequence[str] = ()) -> Snapshot:
    """What the relations called `names` hold now."""
    with core.lock:
        return snapshot(names, core.catalog, core.engine, watched)


def _answer(
    core: Core, names: Sequence[str], held: Snapshot, text: str, given: Mapping[str, pa.Table] = _NONE
) -> pa.Table:
    try:
        return run_query(text, names, held, given, external_access=core.external_access)
    except UnknownNameError:
        for name in names:
            if key(name) not in held.stored:
                core.catalog.lookup(name)  # says it better, with the names that are close
        raise


def wrote(core: Core, text: str, names: Sequence[str], held: Snapshot) -> int:
    """Carry out a COPY to a file, of what was seen of the relations called `names`; how many rows it wrote."""
    for name in names:
        if key(name) not in held.stored and key(name) not in held.definitions:
            core.catalog.lookup(name)
    try:
        with connection(Use.OPEN) as duck:
            done: set[str] = set()
            for name in names:
                _provide(duck, name, held, done)
            return write(duck, text)
    except duckdb.Error as error:
        raise told(error, Use.OPEN) from error


def run_query(
    text: str, names: Sequence[str], seen: Snapshot, given: Mapping[str, pa.Table] = _NONE, *, external_access: bool
) -> pa.Table:
    """DuckDB's answer over what was seen of the relations called `names`, and what is `given`; needs no lock.

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
            for name, table in given.items():
                offer(duck, name, table)
            return answer(duck, text)
    except duckdb.Error as error:
        raise told(error, use) from error


def _provide(duck: duckdb.DuckDBPyConnection, name: str, seen: Snapshot, done: set[str]) -> None:
    found = key(name)
    if found in done:
        return
    done.add(found)
    if found in seen.stored:
        offer(duck, name, seen.stored[found]())
    elif found in seen.definitions:
        text, uses = seen.definitions[found]
        for used in uses:
            _provide(duck, used, seen, done)
        define(duck, name, text)
