"""What each SQL statement does to a database."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

import pyarrow as pa

from catalog.errors import BindError, UnsupportedError
from catalog.names import key
from catalog.paths import Names
from catalog.schema import Table
from ivm.engine.installing import Progress
from ivm.engine.transaction import Change
from ivm.intake.ingest import Intake
from ivm.results.result import Result, counted
from ivm.session.analyze import analyzed
from ivm.session.core import Core
from ivm.session.defining import define
from ivm.session.explain import explain
from ivm.session.plain_conflicts import put_plain
from ivm.session.prepared import deallocate, prepare, text_of
from ivm.session.row_statements import run_plain
from ivm.trace.columns.arrow import array_from
from sql.changes import check_width, columns_to_insert
from sql.connection_statements import (
    Begin,
    Commit,
    Deallocate,
    Execute,
    Idle,
    Load,
    Prepare,
    Rollback,
    Set,
    SetVariable,
)
from sql.macros import with_macros
from sql.named_types import with_types
from sql.parameters import Parameters
from sql.parse import parse
from sql.plain_insert import OpenInsert, PlainInsert, columns_of, open_insert, plain_inserts, usual_head
from sql.plain_rows import PlainRows, plain_rows
from sql.recent import Recent
from sql.schemas import with_schemas
from sql.sql_text import SqlText
from sql.statements import (
    Analyze,
    Checkpoint,
    Copy,
    CreateView,
    Delete,
    Describe,
    Explain,
    Insert,
    Merge,
    Query,
    Show,
    Statement,
    Summarize,
    Update,
    WithChanges,
)
from sql.syntax import chunks, dialect_named, statement_tokens

Insertion = TypeVar("Insertion", PlainInsert, OpenInsert)
MOST_FRAMES = 5000
"""Python's limit of 1000 frames is reached by 40 nested parentheses; this one by 200, and fits a stack of 8 MiB."""


def make_room() -> None:
    """Room for nested statements.

    The interpreter's limit is raised for good: to lower it again could hit another thread.
    """
    if sys.getrecursionlimit() < MOST_FRAMES:
        sys.setrecursionlimit(MOST_FRAMES)


def nested_too_deeply() -> UnsupportedError:
    """What to raise for a statement that needs more room than `make_room` makes."""
    return UnsupportedError(
        f"cannot plan this statement: it is nested too deeply, beyond the limit of {MOST_FRAMES} calls in calls, "
        f"which some 200 parentheses or 300 views on views reach; split it into materialized views"
    )


def statements_of(text: str, dialect: str, names: Names) -> Sequence[Statement | PlainInsert | PlainRows]:
    """The statements of a text, see `parse`, in which types and macros of the catalog have names. Plain ones are read
    faster, if it holds nothing else.
    """
    types, macros = names.catalog.types, names.catalog.macros
    named = {name: str(type_) for name, type_ in types.items()} if types else {}
    if named:
        text = with_types(text, named, dialect)
    if macros:
        text = with_macros(text, macros, dialect)
    if dialect == "duckdb":
        inserts = [_resolved(each, names) for each in plain_inserts(text) or ()]
        plain = [each for each in inserts if each is not None]
        if inserts and len(plain) == len(inserts):
            return plain
    text = renamed(text, names, dialect)
    if dialect == "duckdb":
        rows = plain_rows(text)
        if rows is not None:
            return (rows,)
    text = text if named else with_types(text, named, dialect)
    return _parsed(text if macros else with_macros(text, macros, dialect), dialect)


def _resolved(insert: Insertion, names: Names) -> Insertion | None:
    """An INSERT into what its table's name means; None if it names a schema, and there is no such table."""
    if names.is_plain and "." not in insert.table:
        return insert
    table = names.given(insert.table)
    return None if "." in insert.table and key(table) not in names.catalog.content else insert._replace(table=table)


def in_steps(text: str, dialect: str, names: Names) -> Sequence[str]:
    """The text, or its statements one by one, each as far down in it as it was, where one decides what names mean in
    those that follow.
    """
    if ";" not in text or (names.is_plain and _NAMING.search(text) is None):
        return (text,)
    found = list(chunks(statement_tokens(dialect_named(dialect), SqlText(text))))
    ends = [*(each[0].start for each in found[1:]), len(text)]
    cut = []
    for tokens, end in zip(found, ends, strict=True):
        line, column = SqlText(text).position(tokens[0].start)
        cut.append("\n" * (line - 1) + " " * (column - 1) + text[tokens[0].start : end].rstrip(";\n\t "))
    return cut


_NAMING = re.compile(r"\b(?:schema|search_path|use|prepare|temp|temporary)\b", re.IGNORECASE)
"""What stands in statements that decide what names mean."""


def renamed(text: str, names: Names, dialect: str) -> str:
    """See `with_schemas`, which is spared for texts that came not long ago, while there is what there was."""
    if not names.concerns(text):
        return text
    seen = names.catalog.content, names.catalog.schemas, names.path
    known = _RENAMED.get((text, dialect))
    if known is not None and known[0][0] is seen[0] and known[0][1:] == seen[1:]:
        return known[1]
    found = with_schemas(text, names, dialect)
    if len(text) <= _MOST_CHARACTERS:
        _RENAMED.put((text, dialect), (seen, found))
    return found


def _parsed(text: str, dialect: str) -> Sequence[Statement]:
    """As `parse`, which is spared for texts that came not long ago."""
    known = _PARSED.get((text, dialect))
    if known is not None:
        return known
    found = parse(text, dialect)
    if len(text) <= _MOST_CHARACTERS and all(isinstance(each, _REMEMBERED) for each in found):
        _PARSED.put((text, dialect), found)
    return found


_PARSED: Recent[tuple[str, str], Sequence[Statement]] = Recent(512)
_RENAMED: Recent[tuple[str, str], tuple[tuple[object, tuple[str, ...], tuple[str, ...]], str]] = Recent(512)
_MOST_CHARACTERS = 4000
_REMEMBERED = (Query, Insert, Delete, Update, Merge, WithChanges)
"""The statements that come time and again, and of which nothing is used up when they are carried out."""


def run_statement(
    core: Core,
    statement: Statement | PlainInsert | PlainRows,
    dialect: str,
    progress: Callable[[Progress], None] | None = None,
) -> Result:
    """Carry out one statement; on any error nothing has changed. `progress`: told by a COPY how far it is.

    The caller has the definitions' lock where the statement is one of these, and not the core's, which is taken
    here, for as long as the engine is read or changed.
    """
    match statement:
        case Query():
            from ivm.session.adhoc import asked  # noqa: PLC0415  DuckDB, which a program without SELECTs need not load

            return Result(asked(core, statement, dialect))
        case PlainInsert():
            return _insert_plain(core, statement)
        case PlainRows():
            result = run_plain(core, statement)
            if result is None:
                return run_statement(core, _parsed(statement.text, dialect)[0], dialect, progress)
            return result
        case Insert() | Delete() | Update() | Merge():
            from ivm.session.changing import run_change  # noqa: PLC0415  as above

            return run_change(core, statement)
        case WithChanges():
            from ivm.session.chained import run_with_changes  # noqa: PLC0415  as above

            return run_with_changes(core, statement, dialect)
        case Show() | Describe() | Summarize():
            from ivm.session.adhoc import described  # noqa: PLC0415  as above

            return described(core, statement, dialect)
        case Set() | SetVariable() | Load():
            return _set(core, statement)
        case Idle():
            if statement.name:
                core.catalog.lookup(statement.name)
            return Result()
        case Prepare():
            prepare(core, statement)
            return Result()
        case Execute():
            return run_statement(core, _executed(core, statement), "duckdb", progress)
        case Deallocate():
            deallocate(core, statement)
            return Result()
        case Copy():
            from ivm.session.changing import run_copy  # noqa: PLC0415  as above

            return run_copy(core, statement, progress)
        case Checkpoint():
            if core.checkpoints is not None:
                core.checkpoints.make()
            return Result()
        case Explain():
            inner = statement.inner
            text = inner.query_text if isinstance(inner, CreateView) else inner.written
            lines = explain(core, text, dialect, inner.origin, inner.syntax)
            return Result(pa.table({"explain": array_from([lines])}), as_text=True)
        case Analyze():
            return analyzed(core, statement, dialect)
        case Begin() | Commit() | Rollback():
            raise AssertionError("these are for `Transactions`")
        case _:
            return define(core, statement, dialect)


def _set(core: Core, statement: Set | SetVariable | Load) -> Result:
    from ivm.session.setting import load, set_to, set_variable  # noqa: PLC0415  DuckDB, as above

    match statement:
        case Set():
            set_to(core, statement)
        case SetVariable():
            set_variable(core, statement)
        case Load():
            load(core, statement)
    return Result()


def _executed(core: Core, statement: Execute) -> Statement | PlainInsert | PlainRows:
    """What EXECUTE carries out. Its names mean what they meant when it was prepared."""
    return statements_of(text_of(core, statement), "duckdb", Names(core.catalog))[0]


def _insert_plain(core: Core, statement: PlainInsert) -> Result:
    """INSERT of literals, which needs no DuckDB."""
    table, intake, named = _columns(core, statement)
    columns = None if core.settings.reads_otherwise(table.fields) else columns_of(statement, intake.types(named))
    if columns is not None:
        count = len(columns[0])
        rows = intake.values(named, columns, count, stored=True)
        done = None if rows is None else put_plain(core, table, intake, named, statement.conflict, rows)
        if done is not None:
            return done
    text = renamed(statement.text, core.settings.names, "duckdb")
    return run_statement(core, parse(text)[0], "duckdb")


def insert_row(core: Core, text: str) -> Result | None:
    """Insert the row of a text that is an INSERT of one, as most are; None, and nothing has changed, for any other."""
    head = usual_head(text)
    if head is None:
        return None
    name, at = head
    try:
        table, intake = core.incoming.intake(core.settings.names.given(name))
    except BindError:  # what else is wrong with the text may come before
        return None
    columns = None if core.settings.reads_otherwise(table.fields) else intake.usual.values(text, at)
    rows = None if columns is None or intake.plain is None else intake.plain.batch(1, columns, range(len(columns)))
    if rows is None:
        return None
    core.commit([Change(table, *rows)])
    return counted(1)


def insert_values(core: Core, text: str, params: Parameters) -> Result | None:
    """Insert the values of a text that is an INSERT of nothing but ?, as they are; None where that is not for here.

    They are what their literals would be; where that is not certain, nothing has changed.
    """
    if len(text) > _MOST_CHARACTERS or not isinstance(params, list | tuple):
        return None
    opened = open_insert(text)
    statement = None if opened is None else _resolved(opened, core.settings.names)
    if statement is None or len(params) != statement.width * statement.rows:
        return None
    table, intake, named = _columns(core, statement)
    columns = [params[place :: statement.width] for place in range(statement.width)]
    rows = intake.values(named, columns, statement.rows, stored=False)
    return None if rows is None else put_plain(core, table, intake, named, statement.conflict, rows)


def _columns(core: Core, statement: PlainInsert | OpenInsert) -> tuple[Table, Intake, tuple[str, ...]]:
    """The table that an INSERT is of, what takes its rows, and the columns that it names."""
    table, intake = core.incoming.intake(statement.table)
    named = columns_to_insert(statement, table)
    check_width(table, named, statement.width)
    return table, intake, named
