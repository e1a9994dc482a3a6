"""Foreign keys that a table declares as enforced: each commit is checked, as of every logical time that it brings."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from catalog.errors import ConstraintError
from catalog.schema import ForeignKey, Table
from ivm.trace.arrangement import Arrangement
from ivm.trace.column import Array
from ivm.trace.delta import Delta
from ivm.trace.keys import KeyLayout
from ivm.trace.table_store import TableStore

SHOWN = 3


class ForeignKeys:
    """The checks of all enforced foreign keys of `tables`: each table is added when it comes, dropped before it goes.

    Size: an index on either side of each foreign key, shared with the views that use the same. It is filled when a
    check first looks something up in it, and goes with the table that declares the key.
    """

    def __init__(self, tables: Mapping[str, TableStore]) -> None:
        self._tables = tables
        self._held: dict[tuple[str, ForeignKey], tuple[Arrangement, Arrangement]] = {}

    def check(self, deltas: Mapping[str, Delta]) -> None:
        """Raise ConstraintError unless every reference that `deltas` touch is satisfied at every time.

        Rows added must find their target at the time at which they come; rows taken away must not be referred to from
        that time on, unless a row with the same key takes their place at it. Between the times of changes nothing can
        break. Cost: a probe for each change of a table with enforced keys; nothing for other tables.
        """
        for name, key in self._held:
            store = self._tables[name]
            if name in deltas:
                self._check_added(store, key, deltas[name])
            if key.table in deltas:
                self._check_removed(store, key, deltas[key.table])

    def add(self, name: str) -> None:
        """Take the indexes that the checks of a table's own foreign keys use."""
        child = self._tables[name]
        for key in child.table.foreign_keys:
            if key.enforced and (name, key) not in self._held:
                parent = self._tables[key.table]
                self._held[name, key] = (
                    child.arrangement(_places(child.table, key.columns)),
                    parent.arrangement(_places(parent.table, key.referenced)),
                )

    def drop(self, name: str) -> None:
        """Give them back."""
        for key in self._tables[name].table.foreign_keys:
            if (name, key) in self._held:
                del self._held[name, key]

    def _check_added(self, child: TableStore, key: ForeignKey, delta: Delta) -> None:
        columns = _places(child.table, key.columns)
        added = delta if delta.diffs is None else delta.take(np.flatnonzero(delta.diffs > 0))
        _, referenced = self._held[child.table.name, key]
        missing = _unmatched(child.table, columns, added, referenced)
        if len(missing):
            _raise(child.table, key, added.take(missing), columns, child, "refer to no row of")

    def _check_removed(self, child: TableStore, key: ForeignKey, delta: Delta) -> None:
        if delta.diffs is None:
            return
        parent = self._tables[key.table]
        targets = _places(parent.table, key.referenced)
        removed = delta.take(np.flatnonzero(delta.diffs < 0))
        referring, referenced = self._held[child.table.name, key]
        gone = removed.take(_unmatched(parent.table, targets, removed, referenced))
        kept = _unmatched(parent.table, targets, gone, referring)
        orphans = np.setdiff1d(np.arange(len(gone)), kept)
        if len(orphans):
            _raise(child.table, key, gone.take(orphans), targets, child, "still refer to rows removed from")


def _places(table: Table, names: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(table.index(name) for name in names)


def _unmatched(table: Table, columns: tuple[int, ...], delta: Delta, other: Arrangement) -> Array:
    """Positions in `delta` whose `columns`, none of them NULL, equal the key of no row of `other` at their time."""
    layout = KeyLayout(tuple((table.fields[c].type.physical, table.fields[c].nullable) for c in columns), nulls="drop")
    words, dropped = layout.pack([delta.column(c) for c in columns], len(delta))
    other.catch_up()
    positions, _ = other.probe(words, dropped, delta.times, True)
    found = np.zeros(len(delta), np.bool_)
    found[positions] = True
    if dropped is not None:
        found |= dropped
    return np.flatnonzero(~found)


def _raise(table: Table, key: ForeignKey, rows: Delta, columns: tuple[int, ...], store: TableStore, what: str) -> None:
    shown = store.describe(rows, columns, SHOWN)
    raise ConstraintError(
        f"cannot commit: FOREIGN KEY ({', '.join(key.columns)}) of table {table.name}: {len(rows)} row(s) {what} "
        f"{key.table} ({', '.join(key.referenced)}): {shown}; add the rows referred to in the same transaction, or "
        "declare the key without enforcement"
    )
