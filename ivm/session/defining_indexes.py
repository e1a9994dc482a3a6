"""What CREATE INDEX and DROP INDEX do. The caller is the only one who creates or drops; see `Core.defining`."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from ivm.catalog.errors import BindError
from ivm.catalog.names import suggestion, written
from ivm.catalog.schema import Index, Table
from ivm.results.result import Result
from ivm.session.core import Core
from ivm.sql.statements import CreateIndex, Drop


def create_index(core: Core, statement: CreateIndex) -> Result | None:
    """Have an index, which is a constraint if it is unique, and else a name; what is to be said of that."""
    found, index = core.catalog.index(statement.index.name), statement.index
    if found is not None:
        if statement.if_not_exists:
            return None
        raise BindError(
            f"cannot create index {index.name!r}: table {found[0].name} has one of that name; drop it first"
        )
    table = core.catalog.table(statement.table)
    names = [field.name for field in table.fields]
    for column in index.columns:
        if written(column, names) is None:
            what = f"cannot create index {index.name!r}: table {table.name} has no column {column!r}"
            raise BindError(f"{what}{suggestion(column, names)}")
    columns = tuple(names[place] for place in table.places(index.columns))
    _set_indexes(core, table, (*table.indexes, replace(index, columns=columns)))
    if index.unique:
        return None
    note = (
        f"index {index.name} is noted, and does nothing: which indexes table {table.name} has is decided by the views "
        "that read it; SELECT * FROM ivm_arrangements lists them, EXPLAIN says which ones a view would use"
    )
    return Result(pa.table({"note": pa.array([note], pa.string())}))


def drop_index(core: Core, statement: Drop) -> None:
    """Forget an index, and the constraint that it is. BindError if there is none."""
    found = core.catalog.index(statement.name)
    if found is not None:
        table, index = found
        _set_indexes(core, table, tuple(each for each in table.indexes if each is not index))
    elif not statement.if_exists:
        known = (index.name for table in core.catalog.tables for index in table.indexes)
        raise BindError(f"there is no index {statement.name!r}{suggestion(statement.name, known)}")


def _set_indexes(core: Core, table: Table, indexes: tuple[Index, ...]) -> None:
    with core.lock:
        catalog = core.catalog.fixed()
        declared = core.engine.tables.indexed(catalog.set_indexes(table.name, indexes))

        def carry_out() -> None:
            core.engine.put_table(table.name, declared)
            core.catalog.become(catalog)

        core.carry_out(carry_out, catalog)
