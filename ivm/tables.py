"""The tables there are, and what is declared of them beside their primary keys, against which each commit is held."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from catalog.schema import Table
from ivm.constraints import (
    ForeignIndexes,
    RowChecks,
    UniqueIndexes,
    check_foreign,
    check_rows,
    check_unique,
    foreign_indexes,
    row_checks_of,
    unique_indexes,
)
from ivm.trace.delta import Delta
from ivm.trace.dictionary import TextDictionary
from ivm.trace.table_store import TableStore


@dataclass(frozen=True, slots=True)
class Declared:
    """A table as it is declared, its rows, and what the checks of its constraints use."""

    table: Table
    store: TableStore
    checks: RowChecks
    unique: UniqueIndexes
    foreign: ForeignIndexes


class Tables(dict[str, TableStore]):
    """The stores of all tables, by name.

    A table is made, or gets other indexes, in two steps: what can fail, which changes nothing, and `put`.
    """

    def __init__(self, dictionary: TextDictionary) -> None:
        self._dictionary = dictionary
        self._held: dict[str, Declared] = {}  # those that have constraints

    def made(self, table: Table, rows: pa.Table | None = None, time: int = 0) -> Declared:
        """A new table, with `rows` that have been checked, as of `time`.

        BindError, TypeMismatchError or UnsupportedError for a CHECK that cannot be computed.
        """
        store = TableStore(table, self._dictionary)
        if rows is not None and rows.num_rows:
            store.apply(rows, None, time)
            store.seal(time + 1, time)
        checks, unique = row_checks_of(table, self._dictionary), unique_indexes(store, table, {})
        return Declared(table, store, checks, unique, foreign_indexes(store, self))

    def indexed(self, table: Table) -> Declared:
        """The table there is, with the indexes that `table` has. ConstraintError if rows break a unique one.

        Cost: see `unique_indexes`.
        """
        held = self._held.get(table.name) or Declared(table, self[table.name], (), {}, {})
        return replace(held, table=table, unique=unique_indexes(held.store, table, held.unique))

    def put(self, name: str, declared: Declared | None) -> None:
        """The table of a name is this one from now on; None: there is none. Called again, it changes nothing."""
        if declared is None:
            self.pop(name, None)
            self._held.pop(name, None)
            return
        self[name] = declared.store
        declared.store.table = declared.table
        if declared.checks or declared.unique or declared.foreign:
            self._held[name] = declared
        else:
            self._held.pop(name, None)

    def check(self, deltas: Mapping[str, Delta]) -> None:
        """Raise ConstraintError if what `deltas` bring breaks a constraint. Cost: nothing for tables without any."""
        changed = [(held, deltas[name]) for name, held in self._held.items() if name in deltas]
        for held, delta in changed:
            check_rows(held.store, held.checks, delta)
        for held, delta in changed:
            check_unique(held.store, held.unique, delta)
        for held in self._held.values():
            check_foreign(held.store, held.foreign, self, deltas)
