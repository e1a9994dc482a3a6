"""UNIQUE constraints beside the primary key: each commit is checked, as of every logical time that it brings."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from catalog.errors import ConstraintError
from catalog.schema import Table, Unique
from ivm.trace.arrangement import Arrangement
from ivm.trace.delta import Delta
from ivm.trace.table_store import TableStore

SHOWN = 3


class UniqueConstraints:
    """The checks of all UNIQUE constraints of `tables`: each is added when it comes, dropped before it goes.

    Size: an index for each set of columns, shared with the views that use the same.
    """

    def __init__(self, tables: Mapping[str, TableStore]) -> None:
        self._tables = tables
        self._held: dict[str, dict[Unique, Arrangement]] = {}

    def check(self, deltas: Mapping[str, Delta]) -> None:
        """Raise ConstraintError if a row that `deltas` add agrees with another one, at the time at which it comes.

        Later nothing can break until other rows come. A NULL agrees with nothing. Cost: a probe for each added row of a
        table with such constraints; nothing for other tables.
        """
        for name, delta in deltas.items():
            for unique, arrangement in self._held.get(name, {}).items():
                _check(self._tables[name], unique, arrangement, delta)

    def add(self, table: Table, unique: Unique) -> None:
        """Check a constraint from now on. ConstraintError if rows break it already: then it is not added.

        Cost: that of indexing the rows and of a probe for each.
        """
        store = self._tables[table.name]
        arrangement = store.arrangement(_places(table, unique))
        for rows in store.contents(store.last_time):
            _check(store, unique, arrangement, rows)
        self._held.setdefault(table.name, {})[unique] = arrangement

    def drop(self, table: Table, unique: Unique) -> None:
        """Check a constraint no longer."""
        self._held.get(table.name, {}).pop(unique, None)


def _places(table: Table, unique: Unique) -> tuple[int, ...]:
    return tuple(table.index(name) for name in unique.columns)


def _check(store: TableStore, unique: Unique, arrangement: Arrangement, delta: Delta) -> None:
    added = delta if delta.diffs is None else delta.take(np.flatnonzero(delta.diffs > 0))
    if len(added) == 0:
        return
    columns = arrangement.key
    words, dropped = arrangement.layout.pack([added.column(c) for c in columns], len(added))
    arrangement.catch_up()
    positions, _ = arrangement.probe(words, dropped, added.times, True)
    # Each row finds itself. What comes after is sorted by the position of the row.
    again = np.unique(positions[1:][positions[1:] == positions[:-1]])
    if len(again) == 0:
        return
    table = store.table
    twice = added.take(again)
    shown = store.describe(twice, columns, SHOWN)
    key = table.key_indexes
    which = f", in rows with ({', '.join(table.primary_key)}) = {store.describe(twice, key, SHOWN)}" if key else ""
    raise ConstraintError(
        f"cannot change table {table.name}: {unique} would be broken: ({', '.join(unique.columns)}) = {shown} would be "
        f"there more than once{which}; give other values, or delete the rows that have them. Nothing was changed"
    )
