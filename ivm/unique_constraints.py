"""UNIQUE constraints beside the primary key: each commit is checked, as of every logical time that it brings."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from catalog.errors import ConstraintError
from catalog.schema import Table, Unique
from ivm.declarations import SHOWN, added
from ivm.trace.arrangement import Arrangement
from ivm.trace.delta import Delta
from ivm.trace.table_store import TableStore

UniqueIndexes = Mapping[Unique, Arrangement]
"""UNIQUE constraints of a table, each with the index of its columns, shared with the views that use the same."""


def unique_indexes(store: TableStore, table: Table, known: UniqueIndexes) -> UniqueIndexes:
    """The indexes of the UNIQUE constraints that `table` declares of the rows of `store`.

    ConstraintError if rows break one that is not `known`. Cost: that of indexing the rows and of a probe for each.
    """
    found = {}
    for unique in table.unique_constraints:
        found[unique] = known.get(unique) or store.arrangement(table.places(unique.columns))
        if unique not in known:
            for rows in store.contents(store.last_time):
                _check(store, unique, found[unique], rows)
    return found


def check_unique(store: TableStore, indexes: UniqueIndexes, delta: Delta) -> None:
    """Raise ConstraintError if a row that `delta` adds agrees with another one, at the time at which it comes.

    Later nothing can break until other rows come. A NULL agrees with nothing. Cost: a probe for each added row and
    constraint.
    """
    for unique, arrangement in indexes.items():
        _check(store, unique, arrangement, delta)


def _check(store: TableStore, unique: Unique, arrangement: Arrangement, delta: Delta) -> None:
    come = added(delta)
    if len(come) == 0:
        return
    columns = arrangement.key
    words, dropped = arrangement.layout.pack([come.column(c) for c in columns], len(come))
    arrangement.catch_up()
    positions, _ = arrangement.probe(words, dropped, come.times, True)
    # Each row finds itself. What comes after is sorted by the position of the row.
    again = np.unique(positions[1:][positions[1:] == positions[:-1]])
    if len(again) == 0:
        return
    table = store.table
    twice = come.take(again)
    shown = store.describe(twice, columns, SHOWN)
    key = table.key_indexes
    which = f", in rows with ({', '.join(table.primary_key)}) = {store.describe(twice, key, SHOWN)}" if key else ""
    raise ConstraintError(
        f"cannot change table {table.name}: {unique} would be broken: ({', '.join(unique.columns)}) = {shown} would be "
        f"there more than once{which}; give other values, or delete the rows that have them. Nothing was changed"
    )
