"""Foreign keys that a table declares as enforced: each commit is checked, as of every logical time that it brings."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from catalog.errors import ConstraintError
from catalog.schema import ForeignKey, Table
from ivm.declarations import SHOWN, added, removed
from ivm.trace.arrangement import Arrangement
from ivm.trace.column import Array
from ivm.trace.delta import Delta
from ivm.trace.keys import KeyLayout
from ivm.trace.table_store import TableStore

ForeignIndexes = Mapping[ForeignKey, tuple[Arrangement, Arrangement]]
"""Enforced foreign keys of a table, each with the index of the rows that refer and that of those referred to.

They are shared with the views that use the same, and filled when a check first looks something up in them.
"""


def foreign_indexes(child: TableStore, tables: Mapping[str, TableStore]) -> ForeignIndexes:
    """The indexes that the checks of a table's own foreign keys use."""
    table, found = child.table, {}
    for key in table.foreign_keys:
        if key.enforced:
            parent = child if key.table == table.name else tables[key.table]
            referring = child.arrangement(table.places(key.columns))
            found[key] = referring, parent.arrangement(parent.table.places(key.referenced))
    return found


def check_foreign(
    child: TableStore, indexes: ForeignIndexes, tables: Mapping[str, TableStore], deltas: Mapping[str, Delta]
) -> None:
    """Raise ConstraintError unless every reference that `deltas` touch is satisfied at every time.

    Rows added must find their target at the time at which they come; rows taken away must not be referred to from
    that time on, unless a row with the same key takes their place at it. Between the times of changes nothing can
    break. Cost: a probe for each change of the tables of a key.
    """
    for key, (referring, referenced) in indexes.items():
        if child.table.name in deltas:
            _check_added(child, key, referenced, deltas[child.table.name])
        if key.table in deltas:
            _check_removed(child, key, tables[key.table].table, referring, referenced, deltas[key.table])


def _check_added(child: TableStore, key: ForeignKey, referenced: Arrangement, delta: Delta) -> None:
    columns, come = child.table.places(key.columns), added(delta)
    missing = _unmatched(child.table, columns, come, referenced)
    if len(missing):
        _raise(child, key, come.take(missing), columns, "refer to no row of")


def _check_removed(
    child: TableStore, key: ForeignKey, parent: Table, referring: Arrangement, referenced: Arrangement, delta: Delta
) -> None:
    targets, gone = parent.places(key.referenced), removed(delta)
    if len(gone) == 0:
        return
    gone = gone.take(_unmatched(parent, targets, gone, referenced))
    kept = _unmatched(parent, targets, gone, referring)
    orphans = np.setdiff1d(np.arange(len(gone)), kept)
    if len(orphans):
        _raise(child, key, gone.take(orphans), targets, "still refer to rows removed from")


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


def _raise(store: TableStore, key: ForeignKey, rows: Delta, columns: tuple[int, ...], what: str) -> None:
    shown = store.describe(rows, columns, SHOWN)
    raise ConstraintError(
        f"cannot commit: FOREIGN KEY ({', '.join(key.columns)}) of table {store.table.name}: {len(rows)} row(s) {what} "
        f"{key.table} ({', '.join(key.referenced)}): {shown}; add the rows referred to in the same transaction, or "
        "declare the key without enforcement"
    )
