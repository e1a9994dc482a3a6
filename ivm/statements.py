"""What each SQL statement does to a database."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import pyarrow as pa

from catalog.catalog import Catalog
from catalog.errors import BindError
from catalog.names import key
from catalog.schema import Table
from catalog.schema import View as Definition
from ivm.engine import Engine, Planned, Progress
from ivm.kernels.allocator import give_back_freed_pages
from ivm.rehearsal import rehearse
from ivm.result import Result
from ivm.trace.from_values import array_of
from ivm.trace.turns import Turns
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
from sql.syntax import Syntax

RESERVED = "ivm_"
DEFINITIONS = (CreateTable, CreateView, DropTable, DropView)
"""The statements that change what exists; they must not meet."""


Ask = Callable[[str], pa.Table]
"""Answers SELECTs in DuckDB's dialect, all as of one moment."""


class Database(Protocol):
    """What statements need of the database that they are run on."""

    catalog: Catalog
    engine: Engine
    lock: Turns

    def transaction(self) -> Transaction:
        """Changes at one logical time."""
        ...

    def change(self, names: Sequence[str], collect: Callable[[Transaction, Ask], int]) -> int:
        """Commit what `collect` makes of relations, as they are then; it may be called twice."""
        ...

    def query(self, text: str, names: Sequence[str]) -> pa.Table:
        """A SELECT in DuckDB's dialect, answered once."""
        ...

    def explain(self, text: str, dialect: str, origin: tuple[int, int], syntax: Syntax | None) -> str:
        """The EXPLAIN text of a SELECT, whose syntax may be known."""
        ...

    def pause(self, progress: Callable[[], Progress]) -> None:
        """Called between two chunks of an installation."""
        ...

    def close_subscriptions(self, view: str) -> None:
        """End the subscriptions of a view."""
        ...


def statements_of(text: str, dialect: str) -> Sequence[Statement | PlainInsert]:
    """The statements of a text; see `parse`. INSERTs of plain literals are read faster, if it holds nothing else."""
    return (plain_inserts(text) if dialect == "duckdb" else None) or parse(text, dialect)


def run_statement(database: Database, statement: Statement | PlainInsert, dialect: str) -> Result:
    """Carry out one statement; on any error nothing has changed.

    The caller has the definitions' lock where the statement is one of these, and not the database's, which is taken
    here, for as long as the engine is read or changed.
    """
    match statement:
        case CreateTable():
            return _create_table(database, statement)
        case CreateView():
            return _create_view(database, statement, dialect)
        case DropTable():
            return _drop_table(database, statement)
        case DropView():
            return _drop_view(database, statement)
        case Query():
            return Result(database.query(_in_duckdb(database, statement, dialect), statement.names))
        case PlainInsert():
            return _insert_plain(database, statement)
        case Insert() | Delete() | Update():
            return _change(database, statement)
        case Explain():
            return _explain(database, statement, dialect)


def _in_duckdb(database: Database, statement: Query, dialect: str) -> str:
    if dialect == "duckdb":
        return statement.text
    return translated(Source(statement.written, *statement.origin), dialect, database.catalog.fixed())


def _create_table(database: Database, statement: CreateTable) -> Result:
    if statement.if_not_exists and database.catalog.find(statement.table.name) is not None:
        return Result()
    _check_reserved(statement.table.name)
    with database.lock:
        database.engine.create_table(database.catalog.add_table(statement.table))
    return Result()


def _create_view(database: Database, statement: CreateView, dialect: str) -> Result:
    if statement.if_not_exists and database.catalog.find(statement.name) is not None:
        return Result()
    _check_reserved(statement.name)
    bound = bind(statement.query_text, database.catalog, dialect, statement.origin, statement.syntax)
    bound = with_names(bound, statement.name, statement.columns)
    # Other views that use this one read its text again, in DuckDB's dialect and with its names.
    definition = Definition(statement.name, bound.text, bound.schema, bound.uses, statement.maintained, bound.order)
    database.catalog.check_view(definition)
    planned = database.engine.planned(bound.relation) if definition.maintained else None
    try:
        if planned is not None:
            rehearse(database.engine, definition, planned, database.lock)
        _define(database, definition, planned, bound.oracle_sql)
    except BaseException:
        give_back_freed_pages()
        raise
    return Result()


def _define(database: Database, definition: Definition, planned: Planned | None, oracle_sql: str) -> None:
    with database.lock:
        try:
            database.engine.define(definition, planned, oracle_sql, database.pause, database.lock.aside)
            database.catalog.add_view(definition)
        except BaseException:
            database.engine.undefine(definition.name)
            raise


def _drop_table(database: Database, statement: DropTable) -> Result:
    if statement.if_exists and database.catalog.find(statement.name) is None:
        return Result()
    with database.lock:
        database.engine.drop_table(database.catalog.drop_table(statement.name).name)
    give_back_freed_pages()
    return Result()


def _drop_view(database: Database, statement: DropView) -> Result:
    if statement.if_exists and database.catalog.find(statement.name) is None:
        return Result()
    with database.lock:
        view = database.catalog.drop_view(statement.name)
        database.close_subscriptions(view.name)
        database.engine.undefine(view.name)
    give_back_freed_pages()
    return Result()


def _change(database: Database, statement: Insert | Delete | Update) -> Result:
    def collect(tx: Transaction, ask: Ask) -> int:
        table = database.catalog.table(statement.table)
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

    count = database.change(statement.query.names if isinstance(statement, Insert) else statement.names, collect)
    return _counted(count)


def _insert_plain(database: Database, statement: PlainInsert) -> Result:
    table = database.catalog.table(statement.table)
    named = columns_to_insert(statement, table)
    check_width(table, named, statement.width)
    types = {field.name: field.type for field in table.fields}
    columns = columns_of(statement, [types[name] for name in named])
    if columns is None:
        (insert,) = parse(statement.text)
        return run_statement(database, insert, "duckdb")
    values = dict(zip(named, columns, strict=True))
    count = len(statement.values) // statement.width
    arrays = [array_of(values.get(field.name, [None] * count), field.type) for field in table.fields]
    with database.transaction() as tx:
        tx.insert(table.name, pa.Table.from_arrays(arrays, names=list(types)))
    return _counted(count)


def _counted(rows: int) -> Result:
    return Result(pa.table({"count": pa.array([rows], pa.int64())}))


def _key_columns(rows: pa.Table, table: Table) -> pa.Table:
    return rows.select(list(table.primary_key)) if table.primary_key else rows


def _explain(database: Database, statement: Explain, dialect: str) -> Result:
    inner = statement.inner
    text = inner.query_text if isinstance(inner, CreateView) else inner.written
    lines = database.explain(text, dialect, inner.origin, inner.syntax)
    return Result(pa.table({"explain": pa.array([lines], pa.string())}))


def _check_reserved(name: str) -> None:
    if key(name).startswith(RESERVED):
        raise BindError(
            f"cannot create {name!r}: names that begin with {RESERVED} are the engine's own; choose another"
        )
