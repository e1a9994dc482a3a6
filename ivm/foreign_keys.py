"""Foreign keys that a table declares as enforced, checked at the end of each commit."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from catalog.errors import ConstraintError
from catalog.schema import ForeignKey, Table
from ivm.trace.column import Array
from ivm.trace.delta import Delta
from ivm.trace.keys import KeyLayout
from ivm.trace.table_store import TableStore

SHOWN = 3


def check_foreign_keys(tables: Mapping[str, TableStore], deltas: Mapping[str, Delta], time: int) -> None:
    """Raise ConstraintError unless, as of `time`, every reference that `deltas` touch is satisfied.

    Rows added must find their target; rows taken away must not be referred to any more, unless a row with the same key
    took their place. Cost: a probe for each change of a table with enforced keys; nothing for other tables.
    """
    for store in tables.values():
        for key in store.table.foreign_keys:
            if not key.enforced:
                continue
            if store.table.name in deltas:
                _check_added(store, key, tables[key.table], deltas[store.table.name], time)
            if key.table in deltas:
                _check_removed(store, key, tables[key.table], deltas[key.table], time)


def _check_added(child: TableStore, key: ForeignKey, parent: TableStore, delta: Delta, time: int) -> None:
    columns = tuple(child.table.index(name) for name in key.columns)
    targets = tuple(parent.table.index(name) for name in key.referenced)
    added = delta if delta.diffs is None else delta.take(np.flatnonzero(delta.diffs > 0))
    missing = _unmatched(child.table, columns, added, parent, targets, time)
    if len(missing):
        _raise(child.table, key, added.take(missing), columns, child, "refer to no row of")


def _check_removed(child: TableStore, key: ForeignKey, parent: TableStore, delta: Delta, time: int) -> None:
    if delta.diffs is None:
        return
    columns = tuple(child.table.index(name) for name in key.columns)
    targets = tuple(parent.table.index(name) for name in key.referenced)
    removed = delta.take(np.flatnonzero(delta.diffs < 0))
    gone = removed.take(_unmatched(parent.table, targets, removed, parent, targets, time))
    kept = _unmatched(parent.table, targets, gone, child, columns, time)
    orphans = np.setdiff1d(np.arange(len(gone)), kept)
    if len(orphans):
        _raise(child.table, key, gone.take(orphans), targets, child, "still refer to rows removed from")


def _unmatched(
    table: Table, columns: tuple[int, ...], delta: Delta, other: TableStore, key: tuple[int, ...], time: int
) -> Array:
    """Positions in `delta` whose `columns`, none of them NULL, equal the `key` of no row of `other` at `time`."""
    layout = KeyLayout(tuple((table.fields[c].type.physical, table.fields[c].nullable) for c in columns), nulls="drop")
    words, dropped = layout.pack([delta.column(c) for c in columns], len(delta))
    positions, _ = other.arrangement(key).probe(words, dropped, time, True)
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
