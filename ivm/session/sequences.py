"""The numbers of sequences: each is given once, also where what it was given for is undone, or the process is killed.

DuckDB gives them to its queries, each time from a sequence of the connection that begins where ours has come to. How
far that may be is written down ahead (`ivm.catalog.sequence.SEQUENCES`), so that not every number is a commit.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from ivm.catalog.catalog import Catalog
from ivm.catalog.errors import BindError, Error, TransactionError
from ivm.catalog.names import as_literal, key, parts_of, quoted
from ivm.catalog.paths import Names
from ivm.catalog.sequence import SEQUENCES, Sequence, Sequences
from ivm.durable.payload import Batch
from ivm.engine.backend import Backend
from ivm.engine.transaction import Change
from ivm.sql.sequence_words import NEXT, numbers_called, only_next, renamed_calls
from ivm.trace.turns import Turns

if TYPE_CHECKING:
    import duckdb

_AHEAD = 100
"""So many numbers are written down before they are given; a crash loses those that were not."""


class Holds(Protocol):
    """Where numbers are kept; see `ivm.session.core.Core`."""

    catalog: Catalog
    engine: Backend
    lock: Turns

    def commit(self, changes: list[Change], batch: Batch | None = None, *, settles: bool = True) -> int:
        """Commit checked changes."""


@dataclass(slots=True, eq=False)
class Counter:
    """How far a sequence has come. `last`: the last number, None: none was given. `reserved`: up to which it is written
    down that numbers may have been given. `is_given`: whether currval knows of it.
    """

    last: int | None = None
    reserved: int | None = None
    is_given: bool = False


class Numbers:
    """How far the sequences of a database have come. Thread-safe."""

    def __init__(self, core: Holds) -> None:
        self._core = core
        self.lock = threading.Lock()  # nobody who has it waits for another
        self._counters: dict[str, Counter] = {}
        self._is_read = False

    @property
    def catalog(self) -> Catalog:
        """What exists."""
        return self._core.catalog

    def counter(self, name: str) -> Counter:
        """That of a sequence, by its key. The caller has the lock."""
        return self._counters.setdefault(name, Counter())

    def answer(self, duck: duckdb.DuckDBPyConnection, text: str, *, tries: bool = False) -> pa.Table:
        """The rows of a query, which may call nextval and currval. If it only `tries`, no number is given."""
        from ivm.duck import answer  # noqa: PLC0415  DuckDB, which takes a while to import

        calls, there = numbers_called(text), self.catalog.sequences
        meant = {name: key(self._meant(name)) for _, name in calls}
        called = [(call, meant[name]) for call, name in calls]
        known = {name: there[name] for _, name in called if name in there}
        if not known:
            return answer(duck, text)
        self.read()
        for call, name in called:
            if call != NEXT and name in known and not self._is_given(name) and (NEXT, name) not in called:
                raise BindError(
                    f"currval: sequence {known[name].name!r} is not yet defined in this session; call nextval"
                )
        while True:
            with self.lock:
                before = {name: self.counter(name).last for name in known}
            for name, each in known.items():
                _begin(duck, each, before[name])
            rows = answer(duck, renamed_calls(text, lambda name: _quoted(known.get(meant[name]))))
            after = {name: _reached(duck, each) for name, each in known.items()}
            if tries or self._exchange(before, after):
                break
        if not tries:
            self.reserve(known)
        names = rows.column_names
        for name, named in meant.items():  # columns are called by what was written
            own = as_literal(_quoted(known.get(named)) or name)
            names = [each.replace(own, as_literal(_shown(name))) for each in names]
        return rows.rename_columns(names)

    def _meant(self, written: str) -> str:
        """What the name of a sequence means that is not looked up on a search path any more."""
        return Names(self.catalog).found_out.sequence(parts_of(written))

    def take(self, name: str, count: int) -> list[int]:
        """The next numbers of a sequence, by its key. NumericError if there are not so many."""
        self.read()
        each, found = self.catalog.sequences[name], list[int]()
        with self.lock:
            counter = self.counter(name)
            last = counter.last
            for _ in range(count):
                last = each.after(last)
                found.append(last)
            if found:
                counter.last, counter.is_given = last, True
        self.reserve({name: each})
        return found

    def default(self, text: str) -> str | None:
        """The key of a sequence, where the text of a DEFAULT is nextval of it and nothing else."""
        written = only_next(text)
        name = None if written is None else key(self._meant(written))
        return name if name in self.catalog.sequences else None

    def forget(self, name: str) -> None:
        """A sequence that is another one now, or gone, begins anew. Not for who has the lock."""
        self.read()
        with self.lock:
            gone = self._counters.pop(name, None)
        if gone is not None and gone.reserved is not None:
            self._commit({name: None})

    def become(self, own: OwnNumbers) -> None:
        """Have what a transaction has made of its sequences, with the commit that writes it down. It may be called
        again.
        """
        due = own.due()
        with self.lock:
            for name, counter in own.changed().items():
                if counter is None:
                    self._counters.pop(name, None)
                else:
                    counter.reserved = due.get(name, counter.reserved)
                    self._counters[name] = counter

    @property
    def is_written(self) -> bool:
        """Whether they outlive the process."""
        return self._core.engine.journal is not None

    def close(self) -> None:
        """Write down how far they have come, so that no number is lost. Once the database is closed, nothing."""
        with suppress(Error), self.lock:
            found = {name: each.last for name, each in self._counters.items() if each.reserved not in (None, each.last)}
            due = {name: last for name, last in found.items() if last is not None}
        if due and not self._core.lock.closed:
            with suppress(Error):
                self._write(due)

    def read(self) -> None:
        """Know what is written down, of a database that was opened again."""
        if self._is_read:
            return
        found: dict[str, int] = {}
        with self._core.lock:
            table = self._core.engine.tables.get(SEQUENCES.name)
            if table is not None:
                rows = table.reading()().to_pylist()
                found = {row["name"]: row["last"] for row in rows if self._may_be(row["name"], row["last"])}
        with self.lock:
            if not self._is_read:
                self._counters = {**{name: Counter(last, last) for name, last in found.items()}, **self._counters}
                self._is_read = True

    def _may_be(self, name: str, last: int | None) -> bool:
        """Whether it is a number of that sequence, not of one that had its name."""
        each = self.catalog.sequences.get(name)
        return each is not None and last is not None and each.least <= last <= each.most

    def _is_given(self, name: str) -> bool:
        with self.lock:
            return self.counter(name).is_given

    def _exchange(self, before: Mapping[str, int | None], after: Mapping[str, int | None]) -> bool:
        """Note how far a query has come, unless another has taken numbers meanwhile."""
        with self.lock:
            if any(self.counter(name).last != last for name, last in before.items()):
                return False
            for name, last in after.items():
                if last is not None and last != before[name]:
                    counter = self.counter(name)
                    counter.last, counter.is_given = last, True
            return True

    def reserve(self, sequences: Sequences) -> None:
        """Write down numbers ahead where some were given beyond; nothing of a database that ends with its process."""
        if not self.is_written:
            return
        with self.lock:
            due = {
                name: each.ahead(last, _AHEAD)
                for name, each in sequences.items()
                if not each.temporary
                and (last := self.counter(name).last) is not None
                and not each.covers(self.counter(name).reserved, last)
            }
        if due:
            self._write(due)

    def _commit(self, due: Mapping[str, int | None]) -> None:
        self._core.commit([last_numbers(due)], settles=False)

    def _write(self, due: Mapping[str, int]) -> None:
        self._commit(due)
        with self.lock:
            for name, last in due.items():
                self.counter(name).reserved = last


class OwnNumbers(Numbers):
    """The numbers that a transaction gives: those of sequences that it has created are its own, until COMMIT writes
    down how far they have come; all others are the database's, which are given once, whatever becomes of it.
    """

    def __init__(self, base: Numbers, before: Catalog, catalog: Catalog) -> None:
        """`before`: what existed when the transaction began. `catalog`: what exists, as it sees it."""
        self._base, self._before, self._catalog = base, before, catalog
        self.lock, self._counters = base.lock, {}

    @property
    def catalog(self) -> Catalog:
        """See `Numbers.catalog`."""
        return self._catalog

    def counter(self, name: str) -> Counter:
        """See `Numbers.counter`. TransactionError if it is the database's, and others have made it another."""
        if self._is_own(name):
            return super().counter(name)
        if self._base.catalog.sequences.get(name) is not self._before.sequences.get(name):
            raise TransactionError(
                f"cannot use sequence {self.catalog.sequences[name].name!r} in this transaction: others have dropped "
                "or replaced it since it began; ROLLBACK and run it again"
            )
        return self._base.counter(name)

    def read(self) -> None:
        """See `Numbers.read`."""
        self._base.read()

    def reserve(self, sequences: Sequences) -> None:
        """See `Numbers.reserve`."""
        self._base.reserve({name: each for name, each in sequences.items() if not self._is_own(name)})

    def forget(self, name: str) -> None:
        """See `Numbers.forget`."""
        self._counters.pop(name, None)

    def changed(self) -> Mapping[str, Counter | None]:
        """Those of the sequences that COMMIT makes others, by their keys; None: it drops them."""
        names = [name for name in {**self._before.sequences, **self.catalog.sequences} if self._is_own(name)]
        return {
            name: super(OwnNumbers, self).counter(name) if name in self.catalog.sequences else None for name in names
        }

    def due(self) -> Mapping[str, int | None]:
        """What COMMIT is to write down: how far its own have come, and that those are gone in whose place they are."""
        found = dict[str, int | None]()
        for name, counter in self.changed().items() if self._base.is_written else ():
            last = None if counter is None or self.catalog.sequences[name].temporary else counter.last
            was = self._before.sequences.get(name)
            if last is not None or (was is not None and not was.temporary):
                found[name] = last
        return found

    def _is_own(self, name: str) -> bool:
        return self.catalog.sequences.get(name) is not self._before.sequences.get(name)


def last_numbers(due: Mapping[str, int | None]) -> Change:
    """The change that writes down up to which numbers of sequences may have been given; None: it begins anew."""
    rows = pa.table({"name": pa.array(due.keys(), pa.string()), "last": pa.array(due.values(), pa.int64())})
    return Change(SEQUENCES, rows, mode="upsert")


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
