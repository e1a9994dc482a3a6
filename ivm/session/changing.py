"""What INSERT, UPDATE, DELETE, MERGE and COPY do to a database.

DuckDB computes their rows without the lock; what they read is looked at again when they commit (see `adhoc.change`).
COPY is by its readers and writers of files, where the application lets SQL text reach these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ivm.catalog.errors import AccessError, BindError, ConstraintError
from ivm.catalog.names import as_literal, quoted
from ivm.catalog.schema import Field, Table
from ivm.catalog.zones import UTC
from ivm.duck import Use, answer, batches, connection, for_queries, told
from ivm.engine.installing import Progress
from ivm.engine.transaction import Transaction
from ivm.intake.formats import taken
from ivm.results.result import Result, counted
from ivm.session.adhoc import Ask, change
from ivm.session.core import Core
from ivm.session.putting import key_columns, meetings, put, replaced
from ivm.session.taking import commit_taken
from ivm.session.writing import write
from ivm.sql.changes import (
    NEW,
    OLD,
    ROW,
    check_width,
    columns_to_copy,
    columns_to_insert,
    conflict_columns,
    rows_after_conflict,
    rows_to_copy,
    rows_to_delete,
    rows_to_insert,
    rows_to_update,
)
from ivm.sql.json_file import keys, keys_of, objects
from ivm.sql.merge import ACTION, ACTIONS, FAILED, MERGED, columns_of_source, rows_to_merge
from ivm.sql.statements import Conflict, Copy, Delete, Insert, Merge, Update

_Told = Callable[[Progress], None] | None


def run_change(core: Core, statement: Insert | Delete | Update | Merge) -> Result:
    """Change what the statement would at the moment of its commit; how many rows, or what it says after RETURNING."""
    match statement:
        case Insert():
            loaded = _loaded(core, statement)
            if loaded is not None:
                return counted(loaded)
            watched = () if statement.conflict is None else (statement.table,)
            return change(core, statement.names, partial(_insert, core, statement), watched, statement.query.loops)
        case Delete():
            return change(core, statement.names, partial(_delete, core, statement))
        case Update():
            return change(core, statement.names, partial(_update, core, statement))
        case Merge():
            return change(core, statement.names, partial(_merge, core, statement))


def _loaded(core: Core, statement: Insert) -> int | None:
    """How many rows were inserted without passing through this process; None if they have to."""
    conflict, needs_rows = statement.conflict, statement.values or statement.defaults or statement.returning
    if core.loads is None or needs_rows or core.settings.zone != UTC:
        return None
    core.check_writable()
    table = core.catalog.table(statement.table)
    if conflict is not None and not _is_by_key_alone(table, conflict):
        return None

    def rows(given: Sequence[str], text: str) -> tuple[Sequence[str], str]:
        columns = columns_to_insert(statement, table, given)
        check_width(table, columns, len(given))
        of = replace(statement, query=replace(statement.query, text=text))
        return columns, rows_to_insert(of, table, columns)

    loaded = core.loads.insert(table, statement.query.text, rows, ignores=conflict is not None)
    core.settle()
    return loaded


def _is_by_key_alone(table: Table, conflict: Conflict) -> bool:
    """Whether rows that meet others by the primary key are left out, and there is nothing else to meet by."""
    return conflict.action == "nothing" and conflict_columns(table, conflict) == (table.primary_key,)


def _insert(core: Core, statement: Insert, tx: Transaction, ask: Ask) -> Result:
    table = core.catalog.table(statement.table)
    given: Sequence[str] = ()
    if not statement.values and not statement.defaults:
        given = ask(f"SELECT * FROM ({statement.query.text}) AS new_rows LIMIT 0").column_names
    columns = columns_to_insert(statement, table, given)
    if given:
        check_width(table, columns, len(given))
    rows = ask(rows_to_insert(statement, table, columns))
    if statement.conflict is None:
        tx.insert(table.name, rows)
    else:
        rows = core.incoming.completed(table, rows)
        rows = _insert_or(core, statement, statement.conflict, columns, rows, tx, ask)
    return _answer(core, statement, table, rows, ask)


def _insert_or(
    core: Core,
    statement: Insert,
    conflict: Conflict,
    columns: tuple[str, ...],
    rows: pa.Table,
    tx: Transaction,
    ask: Ask,
) -> pa.Table:
    """Put rows into the transaction that may meet others; those that are put into the table."""
    with core.lock:
        table = core.catalog.table(statement.table)
        keys = conflict_columns(table, conflict)
        places = [table.places(key) for key in keys]
        fresh, meeting, met = meetings(core, table, places, rows)
    given = {OLD: _numbered(met, table), NEW: _numbered(meeting, table)}
    both = None
    if conflict.action != "nothing":  # also of none: it may be wrong
        both = ask(rows_after_conflict(statement, conflict, table, columns, keys[0]), given)
    return put(fresh, both, table, tx)


def _delete(core: Core, statement: Delete, tx: Transaction, ask: Ask) -> Result:
    table = core.catalog.table(statement.table)
    rows = ask(rows_to_delete(statement, table))
    tx.delete(table.name, key_columns(rows, table))
    return _answer(core, statement, table, rows, ask)


def _update(core: Core, statement: Update, tx: Transaction, ask: Ask) -> Result:
    table = core.catalog.table(statement.table)
    after = replaced(ask(rows_to_update(statement, table)), table, tx)
    return _answer(core, statement, table, after, ask)


def _merge(core: Core, statement: Merge, tx: Transaction, ask: Ask) -> Result:
    table = core.catalog.table(statement.table)
    takes = any(when.takes for when in statement.whens)
    given = ask(columns_of_source(statement)).column_names if takes else ()
    found = ask(rows_to_merge(statement, table, given))
    _check_not_failed(table, found)
    gone, both, come = (found.filter(pc.equal(found.column(0), action)) for action in MERGED)
    _check_once(statement, table, pa.concat_tables([gone, both]))
    names, width = [field.name for field in table.fields], len(table.fields)
    deleted = pa.table(gone.columns[2 : 2 + width], names=names)
    inserted = pa.table(come.columns[2 + width :], names=names)
    # What goes first makes room: a key may come back.
    tx.delete(table.name, key_columns(deleted, table))
    updated = replaced(pa.table(both.columns[2:], names=names * 2), table, tx)
    tx.insert(table.name, inserted)
    if not statement.returning:
        return counted(found.num_rows)
    rows = (deleted, updated, inserted)
    changed = for_queries(core.incoming.completed(table, pa.concat_tables(rows)), table.fields)
    actions = pa.table({ACTION: np.repeat(MERGED, [each.num_rows for each in rows])})
    relations = f"{quoted(NEW)} AS {quoted(statement.alias)} POSITIONAL JOIN {quoted(ACTIONS)}"
    return Result(ask(f"SELECT {statement.returning} FROM {relations}", {NEW: changed, ACTIONS: actions}))


def _check_not_failed(table: Table, found: pa.Table) -> None:
    """ConstraintError if a row was taken by a clause that says THEN ERROR."""
    failed = found.column(0).filter(pc.starts_with(found.column(0), FAILED))
    if len(failed):
        why = failed[0].as_py().removeprefix(FAILED)
        raise ConstraintError(f"MERGE INTO {table.name}: {why}. Nothing was changed")


def _check_once(statement: Merge, table: Table, changed: pa.Table) -> None:
    """ConstraintError if a row of the table is more than once among those that go or become others."""
    _, first, times = np.unique(changed.column(1).to_numpy(), return_index=True, return_counts=True)
    if (times > 1).any():
        at = int(first[times > 1][0])
        row = {field.name: changed.column(2 + place)[at].as_py() for place, field in enumerate(table.fields)}
        raise ConstraintError(
            f"MERGE INTO {table.name} cannot change a row twice, and {row} matches several rows of "
            f"{statement.source_alias}; leave one of these for each row, or say more in ON or WHEN MATCHED AND"
        )


def _answer(core: Core, statement: Insert | Delete | Update, table: Table, rows: pa.Table, ask: Ask) -> Result:
    if not statement.returning:
        return counted(rows.num_rows)
    answered = f"SELECT {statement.returning} FROM {quoted(NEW)} AS {quoted(statement.alias)}"
    return Result(ask(answered, {NEW: for_queries(core.incoming.completed(table, rows), table.fields)}))


def _numbered(rows: pa.Table, table: Table) -> pa.Table:
    return for_queries(rows, table.fields).append_column(ROW, pa.array(np.arange(rows.num_rows)))


def run_copy(core: Core, statement: Copy, progress: _Told) -> Result:
    """Read a file into a table, or write a query's rows to one; how many rows.

    What is read commits at once, or not at all: its rows are held as they come, batch after batch, as the table then
    keeps them, and never twice; or elsewhere, see `Loads`. `progress` is called after each batch, and before what is
    done elsewhere; if it raises, nothing has changed.
    """
    if not core.external_access:
        raise AccessError(
            f"cannot copy file {statement.path!r}: SQL text reaches nothing outside unless the application allows it "
            "with ivm.connect(external_access=True)"
        )
    if statement.query is not None:
        return write(core, statement, statement.query)
    return _read(core, statement, progress)


def _read(core: Core, statement: Copy, progress: _Told) -> Result:
    table = core.catalog.table(statement.table)
    core.check_writable()
    if statement.format == "debezium":
        return _read_envelopes(core, statement, table)
    columns = columns_to_copy(statement, table)
    _check_parquet(statement, table, columns)
    text = rows_to_copy(statement, table, columns, _keys(statement, table, columns))
    if core.loads is not None and core.settings.zone == UTC:
        if progress is not None:
            progress(Progress(table.name, 0, 0))
        loaded = core.loads.insert(table, text, lambda given, text: (given, text))
        if loaded is not None:
            return counted(loaded)
    rows = 0
    with core.transaction() as tx:
        for batch in _batches(text, core.settings.zone):
            tx.insert(table.name, batch)
            rows += batch.num_rows
            if progress is not None:
                progress(Progress(table.name, rows, rows))
        tx.commit()
    return counted(rows)


def _read_envelopes(core: Core, statement: Copy, table: Table) -> Result:
    """Change a table as the envelopes of a file say; how many they are."""
    with _files() as duck:
        found = answer(duck, objects(statement)).column(0)
    commit_taken(core, [taken(core.incoming, table.name, pa.table({"value": found}), "debezium", "diff")], None)
    return counted(len(found))


def _batches(query: str, zone: str) -> Iterator[pa.Table]:
    with _files(zone) as duck:
        yield from batches(duck, query)


@contextmanager
def _files(zone: str = UTC) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that reaches files. DuckDB's errors are told as ours."""
    try:
        with connection(Use.OPEN, zone=zone) as duck:
            yield duck
    except duckdb.Error as error:
        words = str(error).partition("\nTry ")[0]  # without advice of options that COPY has not
        raise told(type(error)(words), Use.OPEN) from error


def _keys(statement: Copy, table: Table, columns: tuple[Field, ...]) -> Mapping[str, str]:
    """The keys of columns in a file of JSON objects; none of another file, or one without rows."""
    if statement.format != "json":
        return {}
    with _files() as duck:
        found = answer(duck, keys(statement))["name"].to_pylist()
    return keys_of(statement, table, columns, found)


def _check_parquet(statement: Copy, table: Table, columns: tuple[Field, ...]) -> None:
    """BindError for a Parquet file that has another number of columns; of CSV its reader says so."""
    if statement.format != "parquet":
        return
    with _files() as duck:
        described = answer(duck, f"DESCRIBE FROM read_parquet({as_literal(statement.path)})")
    if described.num_rows != len(columns):
        names = ", ".join(field.name for field in columns)
        raise BindError(
            f"cannot copy into table {table.name}: the file has {described.num_rows} columns "
            f"({', '.join(described['column_name'].to_pylist())}), and {len(columns)} are needed ({names}); name those "
            "that it has after the table, in its order"
        )
