"""The numbers of sequences: each is given once, also where what it was given for is undone, or the process is killed.

DuckDB gives them to its queries, each time from a sequence of the connection that begins where ours has come to. How
far that may be is written down ahead (`catalog.sequence.SEQUENCES`), so that not every number is a commit.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from catalog.catalog import Catalog
from catalog.errors import BindError, Error
from catalog.names import as_literal, key, quoted
from catalog.paths import Names
from catalog.sequence import SEQUENCES, Sequence
from ivm.durable.payload import Batch
from ivm.engine.engine import Engine
from ivm.engine.transaction import Change
from ivm.trace.turns import Turns
from sql.sequence_words import NEXT, numbers_called, only_next, parts_of, renamed_calls

if TYPE_CHECKING:
    import duckdb

_AHEAD = 100
"""So many numbers are written down before they are given; a crash loses those that were not."""


class Holds(Protocol):
    """Where numbers are kept; see `ivm.session.core.Core`."""

    catalog: Catalog
    engine: Engine
    lock: Turns

    def commit(self, changes: list[Change], batch: Batch | None = None, *, settles: bool = True) -> int:
        """Commit checked changes."""


class Numbers:
    """How far the sequences of a database have come. Thread-safe."""

    def __init__(self, core: Holds) -> None:
        self._core = core
        self._lock = threading.Lock()  # nobody who has it waits for another
        self._last: dict[str, int] = {}
        self._reserved: dict[str, int] = {}
        self._given: set[str] = set()  # those of which currval knows
        self._is_read = False

    def answer(self, duck: duckdb.DuckDBPyConnection, text: str, *, tries: bool = False) -> pa.Table:
        """The rows of a query, which may call nextval and currval. If it only `tries`, no number is given."""
        from ivm.duck import answer  # noqa: PLC0415  DuckDB, which takes a while to import

        written = dict.fromkeys(name for _, name in numbers_called(text))
        meant = {name: key(self._meant(name)) for name in written}
        called = [(call, meant[name]) for call, name in numbers_called(text)]
        known = {name: self._core.catalog.sequences[name] for _, name in called if name in self._core.catalog.sequences}
        if not known:
            return answer(duck, text)
        self._read()
        for call, name in called:
            if call != NEXT and name in known and name not in self._given and (NEXT, name) not in called:
                raise BindError(
                    f"currval: sequence {known[name].name!r} is not yet defined in this session; call nextval"
                )
        while True:
            before = {name: self._last.get(name) for name in known}
            for name, each in known.items():
                _begin(duck, each, before[name])
            rows = answer(duck, renamed_calls(text, lambda name: _quoted(known.get(meant[name]))))
            after = {name: _reached(duck, each) for name, each in known.items()}
            if tries or self._exchange(before, after):
                break
        if not tries:
            self._reserve(known)
        names = rows.column_names
        for name in written:  # columns are called by what was written
            own = as_literal(_quoted(known.get(meant[name])) or name)
            names = [each.replace(own, as_literal(_shown(name))) for each in names]
        return rows.rename_columns(names)

    def _meant(self, written: str) -> str:
        """What the name of a sequence means that is not looked up on a search path any more."""
        return Names(self._core.catalog).sequence(parts_of(written))

    def take(self, name: str, count: int) -> list[int]:
        """The next numbers of a sequence, by its key. NumericError if there are not so many."""
        self._read()
        each, found = self._core.catalog.sequences[name], list[int]()
        with self._lock:
            last = self._last.get(name)
            for _ in range(count):
                last = each.after(last)
                found.append(last)
            if last is not None and found:
                self._last[name] = last
                self._given.add(name)
        self._reserve({name: each})
        return found

    def default(self, text: str) -> str | None:
        """The key of a sequence, where the text of a DEFAULT is nextval of it and nothing else."""
        written = only_next(text)
        name = None if written is None else key(self._meant(written))
        return name if name in self._core.catalog.sequences else None

    def forget(self, name: str) -> None:
        """A sequence that is another one now, or gone, begins anew. Not for who has the lock."""
        self._read()
        with self._lock:
            is_written = name in self._reserved
            self._last.pop(name, None)
            self._reserved.pop(name, None)
            self._given.discard(name)
        if is_written:
            self._commit({name: None})

    def close(self) -> None:
        """Write down how far they have come, so that no number is lost. Once the database is closed, nothing."""
        with suppress(Error), self._lock:
            due = {name: last for name, last in self._last.items() if self._reserved.get(name, last) != last}
        if due and not self._core.lock.closed:
            with suppress(Error):
                self._write(due)

    def _read(self) -> None:
        """Know what is written down, of a database that was opened again."""
        if self._is_read:
            return
        found: dict[str, int] = {}
        with self._core.lock:
            table = self._core.engine.tables.get(SEQUENCES.name)
            if table is not None:
                rows = table.reading()().to_pylist()
                found = {row["name"]: row["last"] for row in rows if self._may_be(row["name"], row["last"])}
        with self._lock:
            if not self._is_read:
                self._last |= found
                self._reserved |= found
                self._is_read = True

    def _may_be(self, name: str, last: int | None) -> bool:
        """Whether it is a number of that sequence, not of one that had its name."""
        each = self._core.catalog.sequences.get(name)
        return each is not None and last is not None and each.least <= last <= each.most

    def _exchange(self, before: Mapping[str, int | None], after: Mapping[str, int | None]) -> bool:
        """Note how far a query has come, unless another has taken numbers meanwhile."""
        with self._lock:
            if any(self._last.get(name) != last for name, last in before.items()):
                return False
            for name, last in after.items():
                if last is not None and last != before[name]:
                    self._last[name] = last
                    self._given.add(name)
            return True

    def _reserve(self, sequences: Mapping[str, Sequence]) -> None:
        """Write down numbers ahead where some were given beyond; nothing of a database that ends with its process."""
        if self._core.engine.journal is None:
            return
        with self._lock:
            due = {
                name: each.ahead(last, _AHEAD)
                for name, each in sequences.items()
                if not each.temporary
                and (last := self._last.get(name)) is not None
                and not each.covers(self._reserved.get(name), last)
            }
        if due:
            self._write(due)

    def _commit(self, due: Mapping[str, int | None]) -> None:
        rows = pa.table({"name": pa.array(due.keys(), pa.string()), "last": pa.array(due.values(), pa.int64())})
        self._core.commit([Change(SEQUENCES, rows, mode="upsert")], settles=False)

    def _write(self, due: Mapping[str, int]) -> None:
        self._commit(due)
        with self._lock:
            self._reserved |= due


def _quoted(sequence: Sequence | None) -> str | None:
    return None if sequence is None else quoted(sequence.name)


def _shown(written: str) -> str:
    """A name as it is shown, where its schema has been found out before."""
    parts = parts_of(written)
    return parts[0] if len(parts) == 1 and "." in parts[0] else written


def _begin(duck: duckdb.DuckDBPyConnection, sequence: Sequence, last: int | None) -> None:
    """A sequence of the connection, that has given its last number."""
    duck.execute(f"CREATE OR REPLACE TEMP {sequence.definition(last)}")
    if last is not None:
        duck.execute(f"SELECT nextval({as_literal(quoted(sequence.name))})").fetchall()


def _reached(duck: duckdb.DuckDBPyConnection, sequence: Sequence) -> int | None:
    """The last number that was given; None: there is none."""
    import duckdb  # noqa: PLC0415  as above

    with suppress(duckdb.Error):
        return int(duck.execute(f"SELECT currval({as_literal(quoted(sequence.name))})").fetchall()[0][0])
    return None
