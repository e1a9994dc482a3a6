"""How rows that may meet others come into a table, whoever computes what becomes of those that are there."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from ivm.catalog.schema import Table
from ivm.engine.transaction import Transaction
from ivm.session.conflicts import conflicts
from ivm.session.core import Core
from ivm.trace.columns.column import Ints


def meetings(
    core: Core, table: Table, keys: Sequence[tuple[int, ...]], rows: pa.Table
) -> tuple[pa.Table, pa.Table, pa.Table]:
    """Those of `rows` that meet no row of the table, those that do, and the rows that these meet.

    See `ivm.session.conflicts`. The caller has the lock.
    """
    store, dictionary = core.engine.some_rows(table, keys, rows)
    fresh, meeting, met = conflicts(store, dictionary, keys, rows)
    return _taken(rows, fresh), _taken(rows, meeting), met


def _taken(rows: pa.Table, places: Ints) -> pa.Table:
    """The rows at these places, which ascend."""
    if len(places) in (0, rows.num_rows):
        return rows if len(places) else rows.slice(0, 0)
    return rows.take(places)


def put(fresh: pa.Table, both: pa.Table | None, table: Table, tx: Transaction) -> pa.Table:
    """Insert the rows that are `fresh`, and replace those of `both`, see `replaced`; all that came or changed."""
    if fresh.num_rows:
        tx.insert(table.name, fresh)
    return pa.concat_tables([replaced(both, table, tx), fresh]) if both is not None and both.num_rows else fresh


def replaced(both: pa.Table, table: Table, tx: Transaction) -> pa.Table:
    """Replace rows, whose columns are `both` as they are and then as they will be; the new ones."""
    names = [field.name for field in table.fields]
    columns = both.columns
    before = pa.table(columns[: len(names)], names=names)
    after = pa.table(columns[len(names) :], names=names)
    key = list(table.primary_key)
    if key and before.select(key).equals(after.select(key)):
        tx.upsert(table.name, after)
        return after
    tx.delete(table.name, key_columns(before, table))
    tx.insert(table.name, after)
    return after


def key_columns(rows: pa.Table, table: Table) -> pa.Table:
    """Of rows of a table what one deletes by."""
    return rows.select(list(table.primary_key)) if table.primary_key else rows
