"""What a table's declaration promises about its changes (append-only, static), checked when they come."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from catalog.errors import ConstraintError
from catalog.schema import Table
from ivm.trace.delta import Delta
from ivm.trace.table_store import TableStore

SHOWN = 3
"""So many of the rows that break a promise are told."""


def added(delta: Delta) -> Delta:
    """The updates that add rows."""
    return delta if delta.diffs is None else delta.take(np.flatnonzero(delta.diffs > 0))


def removed(delta: Delta) -> Delta:
    """The updates that take rows away."""
    return delta.take(np.empty(0, np.int64) if delta.diffs is None else np.flatnonzero(delta.diffs < 0))


def check_static(table: Table, views: Collection[str]) -> None:
    """Raise ConstraintError if the table is static, and `views` read it."""
    if table.static and views:
        raise ConstraintError(
            f"cannot change table {table.name}: it is declared static, and is read by view {', '.join(sorted(views))}; "
            "fill it before views are created, drop them, or declare the table without static"
        )


def check_upsert(table: Table) -> None:
    """Raise ConstraintError if the table has no primary key, by which rows could replace others."""
    if not table.primary_key:
        raise ConstraintError(
            f"cannot upsert into table {table.name}: it has no PRIMARY KEY by which rows are found; declare one, or "
            "insert and delete"
        )


def check_append_only(store: TableStore, delta: Delta) -> None:
    """Raise ConstraintError if `delta`, which the table has just made, takes rows away though it is append-only."""
    if not store.table.append_only or len(gone := removed(delta)) == 0:
        return
    table = store.table
    columns = table.key_indexes or tuple(range(len(table.fields)))
    names = ", ".join(table.fields[c].name for c in columns)
    raise ConstraintError(
        f"cannot change table {table.name}: it is declared append-only, and {len(gone)} row(s) would be deleted or "
        f"replaced: ({names}) = {store.describe(gone, columns, SHOWN)}; insert only, or declare the table without "
        "append_only"
    )
