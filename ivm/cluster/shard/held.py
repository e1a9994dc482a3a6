"""The rows that a shard has of tables and views; of what each shard has whole, those of the first count, or of all."""

from __future__ import annotations

import pyarrow as pa

from ivm.catalog.errors import BindError
from ivm.cluster.shard.resident import Resident
from ivm.distribute.placement import is_repeated
from ivm.engine.view import Installed
from ivm.trace.rows.table_store import TableStore


def rows_of_table(resident: Resident, name: str, as_of: int | None = None, *, whole: bool = False) -> pa.Table:
    """A shard's rows of a table now, or as of a time; `whole`: also where another has them, too. BindError where it
    does not know them.
    """
    rows = store_of(resident, name, as_of).reading(as_of)()
    is_given = whole or not (resident.number and resident.catalog.table(name).replicated)
    return rows if is_given else rows.slice(0, 0)


def rows_of_view(resident: Resident, name: str, as_of: int | None = None, *, whole: bool = False) -> pa.Table:
    """Likewise of a view, with its hidden columns, in no order."""
    part = part_of(resident, name, as_of)
    rows = part.shown(part.log.sealed, resident.engine.dictionary.now(), as_of).rows()
    return rows if whole or not repeats(resident, name) else rows.slice(0, 0)


def store_of(resident: Resident, name: str, as_of: int | None) -> TableStore:
    """A shard's rows of a table. BindError where it does not know what there was at a time."""
    store = resident.engine.tables[name]
    if as_of is not None and as_of < store.begins:
        raise BindError(
            f"cannot read table {name} as of time {as_of}: it was created, or shard {resident.number} loaded, since, "
            f"and it is known from time {store.begins} on; read a later one"
        )
    return store


def part_of(resident: Resident, view: str, as_of: int | None) -> Installed:
    """A shard's part of a view. BindError where it does not know what there was at a time."""
    part = resident.engine.views[view]
    if as_of is not None and as_of < part.log.sealed.since:
        raise BindError(
            f"cannot read view {view} as of time {as_of}: it was created, or shard {resident.number} loaded, since, "
            f"and it is known from time {part.log.sealed.since} on; read a later one"
        )
    return part


def repeats(resident: Resident, view: str) -> bool:
    """Whether another shard has the same rows, and gives them."""
    return is_repeated(resident.views[view].placement, resident.number)
