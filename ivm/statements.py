"""What each SQL statement does to a database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from catalog.errors import BindError
from catalog.names import key
from catalog.schema import Table
from catalog.schema import View as Definition
from ivm.core import Core
from ivm.engine import Planned
from ivm.explain import explain
from ivm.kernels.allocator import give_back_freed_pages
from ivm.rehearsal import rehearse
from ivm.result import Result
from ivm.trace.from_values import array_of
from ivm.trace.sequences import array_from
from ivm.transaction import Transaction
from sql.bind import bind, with_names
from sql.changes import (
    check_width,
    columns_to_insert,
    rows_after_update,
    rows_to_delete,
    rows_to_insert,
    width_to_insert,
)
from sql.dialects import translated
from sql.parse import parse
from sql.plain_insert import PlainInsert, columns_of, plain_inserts
from sql.source import Source
from sql.statements import (
    CreateTable,
    CreateView,
    Delete,
    DropTable,
    DropView,
    Explain,
    Insert,
    Query,
    Statement,
    Update,
)

if TYPE_CHECKING:
    from ivm.adhoc import Ask

RESERVED = "ivm_"
DEFINITIONS = (CreateTable, CreateView, DropTable, DropView)
"""The statements that change what exists; they must not meet."""


def statements_of(text: str, dialect: str) -> Sequence[Statement | PlainInsert]:
    """The statements of a text; see `parse`. INSERTs of plain literals are read faster, if it holds nothing else."""
    return (plain_inserts(text) if dialect == "duckdb" else None) or parse(text, dialect)


def run_statement(core: Core, statement: Statement | PlainInsert, dialect: str) -> Result:
    """Carry out one statement; on any error nothing has changed.

    The caller has the definitions' lock where the statement is one of these, and not the core's, which is taken
    here, for as long as the engine is read or changed.
    """
    match statement:
        case CreateTable():
            return _create_table(core, statement)
        case CreateView():
            return _create_view(core, statement, dialect)
        case DropTable():
            return _drop_table(core, statement)
        case DropView():
            return _drop_view(core, statement)
        case Query():
            return _query(core, statement, dialect)
        case PlainInsert():
            return _insert_plain(core, statement)
        case Insert() | Delete() | Update():
            return _change(core, statement)
        case Explain():
            return _explain(core, statement, dialect)


def _in_duckdb(core: Core, statement: Query, dialect: str) -> str:
    if dialect == "duckdb":
        return statement.text
    return translated(Source(statement.written, *statement.origin), dialect, core.catalog.fixed())


def _create_table(core: Core, statement: CreateTable) -> Result:
    if statement.if_not_exists and core.catalog.find(statement.table.name) is not None:
        return Result()
    _check_reserved(statement.table.name)
    with core.lock:
        core.engine.create_table(core.catalog.add_table(statement.table))
    return Result()


def _create_view(core: Core, statement: CreateView, dialect: str) -> Result:
    if statement.if_not_exists and core.catalog.find(statement.name) is not None:
        return Result()
    _check_reserved(statement.name)
    bound = bind(statement.query_text, core.catalog, dialect, statement.origin, statement.syntax)
    bound = with_names(bound, statement.name, statement.columns)
    # Other views that use this one read its text again, in DuckDB's dialect and with its names.
    definition = Definition(
        statement.name, bound.text, bound.schema, bound.uses, statement.maintained, bound.order, bound.hidden
    )
    core.catalog.check_view(definition)
    planned = core.engine.planned(bound.relation) if definition.maintained else None
    try:
        if planned is not None:
            rehearse(core.engine, definition, planned, core.lock)
        _define(core, definition, planned, bound.oracle_sql)
    except BaseException:
        give_back_freed_pages()
        raise
    return Result()


def _define(core: Core, definition: Definition, planned: Planned | None, oracle_sql: str) -> None:
    with core.lock:
        try:
            core.engine.define(definition, planned, oracle_sql, core.pause, core.lock.aside)
            core.catalog.add_view(definition)
        except BaseException:
            core.engine.undefine(definition.name)
            raise


def _drop_table(core: Core, statement: DropTable) -> Result:
    if statement.if_exists and core.catalog.find(statement.name) is None:
        return Result()
    with core.lock:
        core.engine.drop_table(core.catalog.drop_table(statement.name).name)
    give_back_freed_pages()
    return Result()


def _drop_view(core: Core, statement: DropView) -> Result:
    if statement.if_exists and core.catalog.find(statement.name) is None:
        return Result()
    with core.lock:
        view = core.catalog.drop_view(statement.name)
        core.close_subscriptions(view.name)
        core.engine.undefine(view.name)
    give_back_freed_pages()
    return Result()


def _query(core: Core, statement: Query, dialect: str) -> Result:
    from ivm.adhoc import query  # noqa: PLC0415  DuckDB, which a program without SELECTs does not wait for

    return Result(query(core, _in_duckdb(core, statement, dialect), statement.names))


def _change(core: Core, statement: Insert | Delete | Update) -> Result:
    from ivm.adhoc import change  # noqa: PLC0415  as above

    def collect(tx: Transaction, ask: Ask) -> int:
        table = core.catalog.table(statement.table)
        match statement:
            case Insert():
                text = rows_to_insert(statement, table)
                if not statement.values:
                    width = ask(width_to_insert(statement)).num_columns
                    check_width(table, columns_to_insert(statement, table), width)
                rows = ask(text)
                tx.insert(table.name, rows)
            case Delete():
                rows = ask(rows_to_delete(statement, table))
                tx.delete(table.name, _key_columns(rows, table))
            case Update():
                rows = ask(rows_to_delete(statement, table))
                tx.delete(table.name, _key_columns(rows, table))
                tx.insert(table.name, ask(rows_after_update(statement, table)))
        return rows.num_rows

    count = change(core, statement.query.names if isinstance(statement, Insert) else statement.names, collect)
    return _counted(count)


def _insert_plain(core: Core, statement: PlainInsert) -> Result:
    table = core.catalog.table(statement.table)
    named = columns_to_insert(statement, table)
    check_width(table, named, statement.width)
    types = {field.name: field.type for field in table.fields}
    columns = columns_of(statement, [types[name] for name in named])
    if columns is None:
        (insert,) = parse(statement.text)
        return run_statement(core, insert, "duckdb")
    values = dict(zip(named, columns, strict=True))
    count = len(statement.values) // statement.width
    arrays = [array_of(values.get(field.name, [None] * count), field.type) for field in table.fields]
    with core.transaction() as tx:
        tx.insert(table.name, pa.Table.from_arrays(arrays, names=list(types)))
    return _counted(count)


def _counted(rows: int) -> Result:
    return Result(pa.table({"count": array_from([rows])}), changed=rows)


def _key_columns(rows: pa.Table, table: Table) -> pa.Table:
    return rows.select(list(table.primary_key)) if table.primary_key else rows


def _explain(core: Core, statement: Explain, dialect: str) -> Result:
    inner = statement.inner
    text = inner.query_text if isinstance(inner, CreateView) else inner.written
    lines = explain(core, text, dialect, inner.origin, inner.syntax)
    return Result(pa.table({"explain": array_from([lines])}), as_text=True)


def _check_reserved(name: str) -> None:
    if key(name).startswith(RESERVED):
        raise BindError(
            f"cannot create {name!r}: names that begin with {RESERVED} are the engine's own; choose another"
        )
