"""What each SQL statement does to a database."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence

import pyarrow as pa

from ivm.catalog.errors import UnsupportedError
from ivm.catalog.paths import Names
from ivm.engine.installing import Progress
from ivm.results.result import Result
from ivm.session.analyze import analyzed
from ivm.session.core import Core
from ivm.session.defining import define
from ivm.session.explain import explain
from ivm.session.plain_inserts import insert_plain, resolved
from ivm.session.prepared import deallocate, prepare, text_of
from ivm.session.row_statements import run_plain
from ivm.sql.connection_statements import (
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
from ivm.sql.macros import with_macros
from ivm.sql.named_types import with_types
from ivm.sql.parse import parse
from ivm.sql.plain_insert import PlainInsert, plain_inserts
from ivm.sql.plain_rows import PlainRows, plain_rows
from ivm.sql.recent import Recent
from ivm.sql.schemas import with_schemas
from ivm.sql.sql_text import SqlText
from ivm.sql.statements import (
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
from ivm.sql.syntax import chunks, dialect_named, statement_tokens
from ivm.sql.times import with_times
from ivm.trace.columns.arrow import array_from

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
    if types:
        text = with_types(text, names, dialect)
    if macros:
        text = with_macros(text, names, dialect)
    if dialect == "duckdb":
        inserts = [resolved(each, names) for each in plain_inserts(text) or ()]
        plain = [each for each in inserts if each is not None]
        if inserts and len(plain) == len(inserts):
            return plain
    text = with_times(renamed(text, names, dialect), dialect)
    if dialect == "duckdb":
        rows = plain_rows(text)
        if rows is not None:
            return (rows,)
    text = text if types else with_types(text, names, dialect)
    return _parsed(text if macros else with_macros(text, names, dialect), dialect)


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
    catalog = names.catalog
    seen = catalog.content, catalog.sequences, catalog.schemas, names.path, names.temp
    known = _RENAMED.get((text, dialect))
    if known is not None and known[0][0] is seen[0] and known[0][1] is seen[1] and known[0][2:] == seen[2:]:
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
_Seen = tuple[object, object, tuple[str, ...], tuple[str, ...], str]
_RENAMED: Recent[tuple[str, str], tuple[_Seen, str]] = Recent(512)
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
            result = insert_plain(core, statement)
            if result is None:
                text = renamed(statement.text, core.settings.names, "duckdb")
                return run_statement(core, _parsed(text, "duckdb")[0], "duckdb", progress)
            return result
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
                core.check_writable()
                core.checkpoints.make()
            return Result()
        case Explain():
            inner = statement.inner
            text = inner.query_text if isinstance(inner, CreateView) else inner.written
            lines = core.settings.names.told(explain(core, text, dialect, inner.origin, inner.syntax))
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
    return statements_of(text_of(core, statement), "duckdb", core.settings.names.found_out)[0]
