"""The tables there are, and what is declared of them beside their primary keys, against which each commit is held."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from catalog.schema import Table
from ivm.constraints import Declared, declared
from ivm.trace.delta import Delta
from ivm.trace.dictionary import TextDictionary
from ivm.trace.table_store import TableStore


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
        return declared(table, store, self, self._dictionary)

    def indexed(self, table: Table) -> Declared:
        """The table there is, with the indexes that `table` has; see `Declared.indexed`."""
        return (self._held.get(table.name) or Declared(table, self[table.name], (), {}, {})).indexed(table)

    def put(self, name: str, declared: Declared | None) -> None:
        """The table of a name is this one from now on; None: there is none. Called again, it changes nothing."""
        if declared is None:
            self.pop(name, None)
            self._held.pop(name, None)
            return
        self[name] = declared.store
        declared.store.table = declared.table
        if declared.promises:
            self._held[name] = declared
        else:
            self._held.pop(name, None)

    def check(self, deltas: Mapping[str, Delta]) -> None:
        """Raise ConstraintError if what `deltas` bring breaks a constraint. Cost: nothing for tables without any."""
        changed = [(held, deltas[name]) for name, held in self._held.items() if name in deltas]
        for held, delta in changed:
            held.check_rows(delta)
        for held, delta in changed:
            held.check_unique(delta)
        for held in self._held.values():
            held.check_foreign(self, deltas)
