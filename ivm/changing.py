"""What INSERT, UPDATE, DELETE and COPY do to a database.

DuckDB computes their rows without the lock; what they read is looked at again when they commit (see `adhoc.change`).
COPY is by its readers and writers of files, where the application lets SQL text reach these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import duckdb
import numpy as np
import pyarrow as pa

from catalog.errors import AccessError, BindError
from catalog.names import as_literal, quoted
from catalog.schema import Field, Table
from ivm.adhoc import Ask, change, wrote
from ivm.core import Core
from ivm.duck import Use, answer, batches, connection, told, with_hugeints
from ivm.installing import Progress
from ivm.result import Result, counted
from ivm.trace.arrow import to_arrow
from ivm.trace.batch import Batch, Reader, Readers
from ivm.trace.column import Ints
from ivm.trace.dictionary import TextDictionary
from ivm.trace.table_store import TableStore
from ivm.transaction import Transaction
from sql.changes import (
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
from sql.statements import Conflict, Copy, Delete, Insert, Query, Update

_Told = Callable[[Progress], None] | None


def run_change(core: Core, statement: Insert | Delete | Update) -> Result:
    """Change what the statement would at the moment of its commit; how many rows, or what it says after RETURNING."""
    match statement:
        case Insert():
            watched = () if statement.conflict is None else (statement.table,)
            return change(core, statement.names, partial(_insert, core, statement), watched)
        case Delete():
            return change(core, statement.names, partial(_delete, core, statement))
        case Update():
            return change(core, statement.names, partial(_update, core, statement))


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
        rows = _insert_or(core, statement, statement.conflict, columns, rows, tx, ask)
    return _answer(statement, table, rows, ask)


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
        keys = conflict_columns(statement, conflict, table)
        places = [table.places(key) for key in keys]
        without, meeting, met = _conflicts(core.engine.tables[table.name], core.engine.dictionary, places, rows)
    fresh = rows.take(without)
    tx.insert(table.name, fresh)
    if conflict.action == "nothing" or len(meeting) == 0:
        return fresh
    given = {OLD: _numbered(met, table), NEW: _numbered(rows.take(meeting), table)}
    both = ask(rows_after_conflict(statement, conflict, table, columns, keys[0]), given)
    return pa.concat_tables([_replace(both, table, tx), fresh])


def _delete(core: Core, statement: Delete, tx: Transaction, ask: Ask) -> Result:
    table = core.catalog.table(statement.table)
    rows = ask(rows_to_delete(statement, table))
    tx.delete(table.name, _key_columns(rows, table))
    return _answer(statement, table, rows, ask)


def _update(core: Core, statement: Update, tx: Transaction, ask: Ask) -> Result:
    table = core.catalog.table(statement.table)
    after = _replace(ask(rows_to_update(statement, table)), table, tx)
    return _answer(statement, table, after, ask)


def _replace(both: pa.Table, table: Table, tx: Transaction) -> pa.Table:
    """Replace rows, whose columns are `both` as they are and then as they will be; the new ones."""
    names = [field.name for field in table.fields]
    columns = both.columns
    before = pa.table(columns[: len(names)], names=names)
    after = pa.table(columns[len(names) :], names=names)
    key = list(table.primary_key)
    if key and before.select(key).equals(after.select(key)):
        tx.upsert(table.name, after)
        return after
    tx.delete(table.name, _key_columns(before, table))
    tx.insert(table.name, after)
    return after


def _answer(statement: Insert | Delete | Update, table: Table, rows: pa.Table, ask: Ask) -> Result:
    if not statement.returning:
        return counted(rows.num_rows)
    answered = f"SELECT {statement.returning} FROM {quoted(NEW)} AS {quoted(statement.alias)}"
    return Result(ask(answered, {NEW: with_hugeints(rows, table.fields)}))


def _numbered(rows: pa.Table, table: Table) -> pa.Table:
    return with_hugeints(rows, table.fields).append_column(ROW, pa.array(np.arange(rows.num_rows)))


def _key_columns(rows: pa.Table, table: Table) -> pa.Table:
    return rows.select(list(table.primary_key)) if table.primary_key else rows


def _conflicts(
    store: TableStore, dictionary: TextDictionary, keys: Sequence[tuple[int, ...]], rows: pa.Table
) -> tuple[Ints, Ints, pa.Table]:
    """How `rows`, which have the table's columns, meet those of the table on any of the `keys`, sets of columns.

    The positions of those that meet nothing; of those that meet a row of the table; and the rows that these meet. Rows
    are looked at one after the other, as if each had been inserted alone: of those that agree with each other only the
    first is in either, as in DuckDB; a NULL meets nothing. The caller has the lock. Cost: a probe for each row and key,
    and a step in Python; text that is new is kept.
    """
    batch = Batch(rows, Readers([Reader(field.type, dictionary) for field in store.table.fields]))
    found = [_looked_up(store, key, batch) for key in keys]
    there = np.full(rows.num_rows, -1, np.int64)
    for _, positions, numbers in found:
        there[positions] = numbers
    taken: list[set[bytes | None]] = [set() for _ in keys]
    fresh, meeting = [], []
    for place, number in enumerate(there.tolist()):
        own = [words[place] for words, _, _ in found]
        if any(key is not None and key in seen for key, seen in zip(own, taken, strict=True)):
            continue
        if number < 0:
            fresh.append(place)
        else:
            meeting.append(place)
            own = own if len(keys) == 1 else []  # what is ignored takes no place
        for key, seen in zip(own, taken, strict=False):
            seen.add(key)
    numbers, fields = there[meeting], store.table.fields
    columns = [to_arrow(store.store.gather(c, numbers), f.type, dictionary.now()) for c, f in enumerate(fields)]
    met = pa.table(columns, names=[field.name for field in fields])
    return np.array(fresh, np.int64), np.array(meeting, np.int64), met


def _looked_up(store: TableStore, key: tuple[int, ...], batch: Batch) -> tuple[list[bytes | None], Ints, Ints]:
    """How rows meet living ones on the columns `key`, of which the table has an index.

    Of each row its key as bytes, None if a NULL is in it; and (position, number of a living row with the same key).
    """
    arrangement = store.arrangement(key)
    arrangement.catch_up()
    words, dropped = arrangement.layout.pack([batch.column(c) for c in key], len(batch))
    positions, numbers = arrangement.probe(words, dropped, store.last_time, True)
    packed = np.ascontiguousarray(words.reshape(len(batch), -1))
    keys: list[bytes | None] = packed.view(f"V{8 * packed.shape[1]}").ravel().tolist()
    if dropped is not None:
        keys = [None if gone else each for each, gone in zip(keys, dropped.tolist(), strict=True)]
    return keys, positions, numbers


def run_copy(core: Core, statement: Copy, progress: _Told) -> Result:
    """Read a file into a table, or write a query's rows to one; how many rows.

    What is read commits at once, or not at all: its rows are held as they come, batch after batch, as the table then
    keeps them, and never twice. `progress` is called after each batch; if it raises, nothing has changed.
    """
    if not core.external_access:
        raise AccessError(
            f"cannot copy file {statement.path!r}: SQL text reaches nothing outside unless the application allows it "
            "with ivm.connect(external_access=True)"
        )
    if statement.query is not None:
        return _write(core, statement, statement.query)
    return _read(core, statement, progress)


def _write(core: Core, statement: Copy, query: Query) -> Result:
    options = ", ".join((f"FORMAT {statement.format}", *(f"{name} {text}" for name, text in statement.options)))
    text = f"COPY ({query.text}) TO {as_literal(statement.path)} ({options})"
    return counted(wrote(core, text, query.names))


def _read(core: Core, statement: Copy, progress: _Told) -> Result:
    table = core.catalog.table(statement.table)
    columns = columns_to_copy(statement, table)
    rows = 0
    with core.transaction() as tx:
        for batch in _batches(statement, table, columns):
            tx.insert(table.name, batch)
            rows += batch.num_rows
            if progress is not None:
                progress(Progress(table.name, rows, rows))
        tx.commit()
    return counted(rows)


def _batches(statement: Copy, table: Table, columns: tuple[Field, ...]) -> Iterator[pa.Table]:
    try:
        with connection(Use.OPEN) as duck:
            if statement.format == "parquet":
                _check_file(answer(duck, f"DESCRIBE FROM read_parquet({as_literal(statement.path)})"), table, columns)
            yield from batches(duck, rows_to_copy(statement, table, columns))
    except duckdb.Error as error:
        raise told(error, Use.OPEN) from error


def _check_file(described: pa.Table, table: Table, columns: tuple[Field, ...]) -> None:
    if described.num_rows != len(columns):
        names = ", ".join(field.name for field in columns)
        raise BindError(
            f"cannot copy into table {table.name}: the file has {described.num_rows} columns "
            f"({', '.join(described['column_name'].to_pylist())}), and {len(columns)} are needed ({names}); name those "
            "that it has after the table, in its order"
        )
