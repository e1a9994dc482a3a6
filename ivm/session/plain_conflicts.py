"""INSERTs of plain values, some of which may meet rows of their table: done without DuckDB."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from catalog.names import key, twice
from catalog.schema import Table
from ivm.engine.transaction import Change
from ivm.intake.ingest import Intake
from ivm.results.result import Result, counted
from ivm.session.conflicts import conflicts
from ivm.session.core import Core
from ivm.trace.columns.column import Ints
from ivm.trace.columns.exported import ArrowRows
from sql.changes import conflict_columns
from sql.plain_insert import PlainConflict


def put_plain(
    core: Core,
    table: Table,
    intake: Intake,
    named: Sequence[str],
    conflict: PlainConflict | None,
    rows: tuple[ArrowRows, Ints | None],
) -> Result | None:
    """Insert rows, whose columns `named` were given, or do with them what the `conflict` says; how many have changed.

    None, and nothing has changed, where that is not for here. Cost of a row that meets another one: some 0.1 ms.
    """
    data, addresses = rows
    if conflict is None:
        core.commit([Change(table, data, addresses)])
        return counted(data.num_rows)
    targets = conflict_columns(table, conflict)
    taken = None if intake.generated is not None else _taken(table, conflict, named, targets[0])
    if taken is None:
        return None
    given = pa.Table.from_batches([data]) if isinstance(data, pa.RecordBatch) else data
    with core.lock:
        if core.catalog.find(table.name) is not table or core.some_rows is not None:
            return None
        places = [table.places(target) for target in targets]
        fresh, meeting, met = conflicts(core.engine.tables[table.name], core.engine.dictionary, places, given)
        changes = [Change(table, data, addresses) if len(fresh) == len(given) else Change(table, given.take(fresh))]
        if conflict.action != "nothing" and len(meeting):
            changes.append(Change(table, _after(met, given.take(meeting), taken), mode="upsert"))
        changed = sum(change.data.num_rows for change in changes)
        core.commit([change for change in changes if change.data.num_rows], settles=False)
    core.settle()
    return counted(changed)


def _taken(
    table: Table, conflict: PlainConflict, named: Sequence[str], target: Sequence[str]
) -> Mapping[int, int] | None:
    """Of each column that changes in a row that is there the one of the new row that it is taken from, both by place.

    None where it takes DuckDB to say what comes of it: the key may change, there is none, or values have to be cast.
    """
    if conflict.action == "nothing":
        return {}
    pairs = conflict.assigned
    if conflict.action == "replace":
        pairs = tuple((name, name) for name in named if name not in target)
    places = {key(field.name): place for place, field in enumerate(table.fields)}
    if twice([name for name, _ in pairs]) or any(key(name) not in places for pair in pairs for name in pair):
        return None
    taken = {places[key(column)]: places[key(source)] for column, source in pairs}
    changes_key = not table.primary_key or any(place in taken for place in table.key_indexes)
    fields = table.fields
    is_cast = any(fields[place].type != fields[source].type for place, source in taken.items())
    return None if changes_key or is_cast else taken


def _after(met: pa.Table, given: pa.Table, taken: Mapping[int, int]) -> pa.Table:
    """Rows that were met, with what they take of those that met them."""
    columns = [given.column(taken[place]) if place in taken else column for place, column in enumerate(met.columns)]
    return pa.Table.from_arrays(columns, names=met.column_names)
