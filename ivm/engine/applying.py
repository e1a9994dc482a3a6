"""The changes of a commit, brought to the tables that they are of."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ivm.catalog.errors import BindError
from ivm.catalog.schema import Schema, Table
from ivm.engine.tables import Tables, check_append_only, check_static
from ivm.engine.transaction import Change
from ivm.trace.concatenation import concat_deltas
from ivm.trace.delta import Delta
from ivm.trace.state import Marks


def applied(
    tables: Tables,
    marks: Marks,
    changes: Sequence[Change],
    time: int,
    earliest: int,
    readers_of: Callable[[str], list[str]],
) -> tuple[dict[str, Delta], int]:
    """The deltas of the tables at `time`, or the changes' own times, and how many rows the changes had.

    Of all times up to `earliest` only that is left. Each table is put among the `marks` before it is changed;
    `readers_of` tells the views that read a table. BindError for a table that is another one by now, ConstraintError.
    """
    updates = 0
    deltas: dict[str, Delta] = {}
    further: dict[str, list[Delta]] = {}
    for table, data, addresses, diffs, times, mode, missing in changes:
        rows, name = data.num_rows, table.name
        if rows == 0:
            continue
        updates += rows
        store = tables.get(name)
        if store is None or (store.table is not table and _stored(store.table) != _stored(table)):
            raise BindError(f"cannot change table {name}: it was dropped since its rows were given; repeat it")
        if store.table.static:
            check_static(store.table, readers_of(name))
        if store not in marks:
            marks[store] = store.mark()
        delta = store.apply(data, diffs, time if times is None else times, mode, missing, earliest, addresses)
        if delta is None:
            continue
        if store.table.append_only:
            check_append_only(store, delta)
        if name in deltas:
            further.setdefault(name, [deltas[name]]).append(delta)
        else:
            deltas[name] = delta
    for name, several in further.items():
        deltas[name] = concat_deltas(several) or deltas[name]
    return deltas, updates


def _stored(table: Table) -> tuple[Schema, tuple[str, ...]]:
    """What decides how rows are stored."""
    return table.fields, table.primary_key
