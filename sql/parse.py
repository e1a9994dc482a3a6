"""From SQL text to statements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NoReturn

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from ivm.catalog.names import key, quoted
from ivm.catalog.schema import Index
from ivm.sql import parse_changes
from ivm.sql.alter import alter
from ivm.sql.arguments import declared, refuse_unread
from ivm.sql.asked_loops import asked_loops, text_without
from ivm.sql.collate_words import with_plain_collations
from ivm.sql.create_table import create_table
from ivm.sql.duckdb_text import duckdb_text
from ivm.sql.macro_statements import about_macro
from ivm.sql.macro_words import is_about_macro
from ivm.sql.named_types import about_type, is_about_type
from ivm.sql.parse_changes import copy
from ivm.sql.parse_comment import comment_on
from ivm.sql.parse_merge import merge
from ivm.sql.parse_prepared import deallocate, execute, prepare
from ivm.sql.parse_settings import about_call, about_extension, about_pragma, about_setting, about_upkeep
from ivm.sql.reader import MUTUALLY
from ivm.sql.refused import STARTS
from ivm.sql.schema_statements import CreateSchema
from ivm.sql.sequence_statements import about_sequence
from ivm.sql.sequence_words import is_about_sequence
from ivm.sql.sql_text import SqlText, offset_of, text_of
from ivm.sql.statements import (
    SHOWN,
    Analyze,
    Checkpoint,
    CreateIndex,
    CreateTable,
    CreateTableAs,
    CreateView,
    Describe,
    Drop,
    Explain,
    Query,
    Show,
    Statement,
    Summarize,
)
from ivm.sql.syntax import BY_TOKENS, Syntax, part, statements
from ivm.sql.transaction_statements import about_transaction
from ivm.sql.transaction_words import is_about_transaction
from ivm.sql.tree import names_read, nodes_of, table_name
from ivm.sql.with_changes import with_changes


def parse(text: str, dialect: str = "duckdb") -> tuple[Statement, ...]:
    """The statements of `text`, in any dialect that sqlglot reads; linear in the length of the text.

    ParseError with line and column if the text is not SQL; UnsupportedError for a statement that the engine does
    not run; BindError for a table declaration that contradicts itself. Names are not looked up here.
    """
    source = SqlText(with_plain_collations(text, dialect))
    return tuple(_statement(syntax, source, dialect) for syntax in statements(source, dialect))


def _statement(syntax: Syntax, source: SqlText, dialect: str) -> Statement:
    tree = syntax.tree
    if [token.text.upper() for token in syntax.tokens] == ["CHECKPOINT"] and not syntax.explain:
        return Checkpoint()
    changing = with_changes(syntax, source, dialect, _converted) if TokenType.WITH in _kinds(syntax) else None
    statement = changing or _converted(syntax, source, dialect)
    if statement is not None:
        return _explained(statement, syntax, source) if syntax.explain else statement
    if isinstance(tree, exp.Command):
        if syntax.analyze and tree.name.upper() in ("VIEW", "MATERIALIZED"):
            return _analyzed(syntax.tokens, source)
        if tree.name.upper() in BY_TOKENS:
            found = _by_tokens(syntax.tokens, source, dialect)
            return _explained(found, syntax, source) if syntax.explain else found
        if is_about_type(syntax.tokens) and not syntax.explain:
            return about_type(syntax.tokens, source)
        if is_about_transaction(syntax.tokens) and not syntax.explain:
            return about_transaction(syntax.tokens, source)
        if is_about_sequence(syntax.tokens) and not syntax.explain:
            return about_sequence(syntax.tokens, source)
        if is_about_macro(syntax.tokens) and not syntax.explain:
            return about_macro(syntax.tokens, source, dialect)
        _explain_unreadable(syntax, source, dialect)
    source.misread(syntax.tokens[0].start, f"expected {STARTS}, not {syntax.tokens[0].text!r}")


def _kinds(syntax: Syntax) -> set[TokenType]:
    return {token.token_type for token in syntax.tokens}


def _converted(syntax: Syntax, source: SqlText, dialect: str) -> Statement | None:
    """The statement that a tree is; None if it is read by its tokens."""
    for kind, convert in _CONVERT.items():
        if isinstance(syntax.tree, kind):
            statement = convert(syntax, source, dialect)
            if not isinstance(statement, Query):
                refuse_unread(declared(syntax.tree), source)
            return statement
    return None


def _by_tokens(tokens: Sequence[Token], source: SqlText, dialect: str) -> Statement:
    """A statement that begins with one of `BY_TOKENS`."""
    word = tokens[0].text.upper()
    if word == "ALTER":
        return alter(tokens, source, dialect)
    found = _READ.get(word, about_setting)(tokens, source)
    return parse(found)[0] if isinstance(found, str) else found


_QUERY_STARTS = frozenset(["SELECT", "WITH", "FROM", "VALUES", "TABLE", "("])
_CREATED = frozenset(["TABLE", "VIEW"])
Created = CreateTable | CreateTableAs | CreateView | CreateIndex | CreateSchema
CHANGE_FEED, HISTORY = "change_feed", "history"
"""What may be set in CREATE MATERIALIZED VIEW v WITH (name = value)."""


def _explain_unreadable(syntax: Syntax, source: SqlText, dialect: str) -> NoReturn:
    """Raise the error for a statement that sqlglot gave up on: at the query inside it, if that is where it fails."""
    first = syntax.tokens[0]
    words = [token.text.upper() for token in syntax.tokens[:6]]
    if first.text.upper() != "CREATE" or not _CREATED & set(words):
        source.refuse(first.start, f"cannot read this {first.text.upper()} statement; a statement begins with {STARTS}")
    body = _after_as(syntax.tokens, first.end)
    if body is not None:
        if body.text.upper() not in _QUERY_STARTS:
            source.misread(body.start, f"expected SELECT after AS, not {body.text!r}")
        blank = "".join(c if c == "\n" else " " for c in source.text[: body.start])
        statements(SqlText(blank + source.text[body.start : syntax.tokens[-1].end + 1]), dialect)
    source.misread(first.start, "syntax error in this CREATE statement; check its name and commas")


def _explained(statement: Statement, syntax: Syntax, source: SqlText) -> Explain | Analyze:
    if syntax.analyze:
        if isinstance(statement, Query):
            return Analyze(statement)
        what = "EXPLAIN ANALYZE is for queries, which are run, and views; write EXPLAIN ANALYZE SELECT ... or VIEW name"
        source.refuse(syntax.tokens[0].start, what)
    if isinstance(statement, Query | CreateView):
        return Explain(statement)
    what = "EXPLAIN is for queries and views; write EXPLAIN SELECT ... or EXPLAIN CREATE MATERIALIZED VIEW ..."
    source.refuse(syntax.tokens[0].start, what)


def _analyzed(tokens: Sequence[Token], source: SqlText) -> Analyze:
    words = [token.text.upper() for token in tokens]
    if words[:-1] not in (["VIEW"], ["MATERIALIZED", "VIEW"]):
        source.misread(tokens[0].start, "cannot read this EXPLAIN ANALYZE; write EXPLAIN ANALYZE VIEW name")
    return Analyze(tokens[-1].text)


def _query(syntax: Syntax, source: SqlText, dialect: str) -> Query:
    query = _query_within(syntax.tree, syntax.tokens, source, dialect, answered=syntax.analyze or not syntax.explain)
    is_bound = dialect == "duckdb" and syntax.explain and not syntax.analyze
    read = part(syntax.tree, syntax.tokens[0].start) if is_bound else None
    return replace(query, syntax=read)


def _query_within(
    tree: exp.Expr, tokens: Sequence[Token], source: SqlText, dialect: str, *, answered: bool = True
) -> Query:
    """The query that a part of a statement is, with its tree and its tokens; whether it is to be `answered`."""
    first, last = tokens[0], tokens[-1]
    written = source.text[first.start : last.end + 1]
    _refuse_within(tree, source, answered=answered and dialect != "duckdb")
    text = written if dialect == "duckdb" else duckdb_text(tree)
    loops = asked_loops(tree, tokens, source) if answered else ()
    names = (*names_read(tree), *(loop.name for loop in loops))
    return Query(text_without(text, loops, first.start), names, written, source.position(first.start), None, loops)


def _refuse_within(tree: exp.Expr, source: SqlText, *, answered: bool) -> None:
    """A query changes nothing, not by what stands in its WITH either; and DuckDB is to take what it is to answer."""
    for node in nodes_of(tree):
        if isinstance(node, exp.CTE) and isinstance(node.this, exp.DML | exp.DDL | exp.Drop):
            what = f"{node.this.key.upper()} cannot stand in WITH, a query changes nothing; write it as a statement"
            source.refuse(node, what)
        if isinstance(node, exp.With) and MUTUALLY in node.meta and answered:
            what = "WITH MUTUALLY RECURSIVE is not supported in a SELECT of another dialect"
            source.refuse(node, f"{what}; write CREATE MATERIALIZED VIEW v AS .., and read v")


def _create(syntax: Syntax, source: SqlText, dialect: str) -> Created:
    tree = syntax.tree
    assert isinstance(tree, exp.Create), "dispatched by class"
    if tree.args.get("replace") and tree.args.get("exists"):
        source.fail(syntax.tokens[0].start, "OR REPLACE and IF NOT EXISTS exclude each other; write one of them")
    if tree.kind == "TABLE":
        as_query = tree.expression is not None
        return _create_table_as(tree, syntax, source, dialect) if as_query else create_table(tree, source, dialect)
    if tree.kind == "VIEW":
        return _create_view(tree, syntax, source, dialect)
    if tree.kind == "INDEX":
        return _create_index(tree, syntax, source)
    if tree.kind == "SCHEMA":
        return _create_schema(tree, syntax, source)
    source.refuse(
        syntax.tokens[0].start, f"CREATE {tree.kind} is not supported; tables, views, indexes and schemas are"
    )


def _create_schema(tree: exp.Create, syntax: Syntax, source: SqlText) -> CreateSchema:
    if tree.args.get("replace"):
        source.refuse(syntax.tokens[0].start, "CREATE OR REPLACE SCHEMA is not supported; write IF NOT EXISTS")
    return CreateSchema(tree.this.db, tree.this.catalog, bool(tree.args.get("exists")))


def _schema_named(node: exp.Table) -> str:
    """The name of a schema; that of its database stands in front, if it is written."""
    return ".".join(part for part in (node.catalog, node.db) if part)


def _create_table_as(tree: exp.Create, syntax: Syntax, source: SqlText, dialect: str) -> CreateTableAs:
    target: exp.Expr = tree.this
    columns = _plain_columns(target, source) if isinstance(target, exp.Schema) else ()
    target = target.this if isinstance(target, exp.Schema) else target
    name = table_name(target, source, "CREATE TABLE")
    tokens, empty = _after(syntax.tokens, _after_as(syntax.tokens, offset_of(target) or 0)), False
    properties = tree.args.get("properties")
    temporary = False
    for item in properties.expressions if properties else ():
        if isinstance(item, exp.TemporaryProperty):
            temporary = True
            continue
        if not isinstance(item, exp.WithDataProperty) or item.args.get("statistics"):
            what = f"CREATE TABLE AS with {text_of(item)} is not supported; declare the table, then INSERT INTO it"
            source.refuse(syntax.tokens[0].start, what)
        empty = bool(item.args.get("no"))
        tokens = tokens[: -3 if empty else -2]  # WITH [NO] DATA
    query = _query_within(tree.expression, tokens, source, dialect)
    flags = bool(tree.args.get("exists")), bool(tree.args.get("replace"))
    return CreateTableAs(name, query, columns, *flags, empty, temporary)


def _plain_columns(schema: exp.Schema, source: SqlText) -> tuple[str, ...]:
    for item in schema.expressions:
        if not isinstance(item, exp.Identifier):
            source.refuse(item, "CREATE TABLE ... AS takes names of columns without types; the query has these")
    return tuple(item.name for item in schema.expressions)


def _create_index(tree: exp.Create, syntax: Syntax, source: SqlText) -> CreateIndex:
    index, start = tree.this, syntax.tokens[0].start
    if tree.args.get("replace"):
        source.refuse(start, "CREATE OR REPLACE INDEX is not supported; drop it first")
    if index.this is None:
        source.fail(start, "CREATE INDEX needs a name: CREATE INDEX name ON table (columns)")
    unique, columns = bool(tree.args.get("unique")), dict[str, None]()
    parameters = index.args["params"]
    for item in parameters.args.get("columns") or ():
        column = item.this if isinstance(item, exp.Ordered) else item
        if unique and not isinstance(column, exp.Column):
            what = "CREATE UNIQUE INDEX takes names of columns; store the value of the expression in a column"
            source.refuse(item, what)
        columns |= dict.fromkeys(each.name for each in column.find_all(exp.Column))
    if parameters.args.get("where") and unique:
        source.refuse(start, "CREATE UNIQUE INDEX ... WHERE is not supported; leave the condition out")
    table = table_name(index.args["table"], source, "CREATE INDEX ... ON")
    if not columns:
        source.fail(start, "CREATE INDEX needs columns: CREATE INDEX name ON table (columns)")
    return CreateIndex(table, Index(index.name, tuple(columns), unique), bool(tree.args.get("exists")))


def _show(tokens: Sequence[Token], source: SqlText) -> Show | Describe:
    """SHOW TABLES [FROM schema], SHOW ALL TABLES, SHOW VIEWS; of any other name DESCRIBE, as in DuckDB."""
    words = [token.text for token in tokens[1:]]
    begins = next((place for place, word in enumerate(words) if word.upper() == "FROM"), len(words))
    what, of = " ".join(words[:begins]).lower(), "".join(words[begins + 1 :])
    if what in SHOWN and (begins == len(words) or of):
        return Show(what, of)
    if len(words) == 1:
        return Describe(words[0])
    source.refuse(
        0, f"SHOW {' '.join(words)} is not supported; SHOW TABLES, SHOW ALL TABLES, SHOW VIEWS and SHOW name are"
    )


def _describe(syntax: Syntax, source: SqlText, dialect: str) -> Describe | Summarize:
    inner, tokens = syntax.tree.this, syntax.tokens[1:]
    summarizes = isinstance(syntax.tree, exp.Summarize)
    if isinstance(inner, exp.Table) and isinstance(inner.this, exp.Identifier):
        name = table_name(inner, source, syntax.tokens[0].text.upper())
        if not summarizes:
            return Describe(name)
        text = f"SELECT * FROM {quoted(name)}"
        return Summarize(Query(text, (name,), text))
    if not isinstance(inner, exp.Query | exp.Values):
        source.refuse(tokens[0].start, f"{syntax.tokens[0].text.upper()} takes a name or a query")
    query = _query_within(inner, tokens, source, dialect)
    return Summarize(query) if summarizes else Describe(query)


def _create_view(tree: exp.Create, syntax: Syntax, source: SqlText, dialect: str) -> CreateView:
    target, columns = tree.this, ()
    if isinstance(target, exp.Schema):
        target, columns = target.this, tuple(item.name for item in target.expressions)
    maintained, temporary, change_feed, history = _view_options(tree, syntax, source)
    name = table_name(target, source, "CREATE VIEW")
    body = _after_as(syntax.tokens, offset_of(target) or 0)
    if tree.expression is None or body is None:
        source.misread(syntax.tokens[-1].end, f"CREATE VIEW {name} needs AS SELECT ... after the name")
    text = source.text[body.start : syntax.tokens[-1].end + 1]
    place, exists = source.position(body.start), bool(tree.args.get("exists"))
    read = _read_already(tree, tree.expression, body) if dialect == "duckdb" else None
    replaces = bool(tree.args.get("replace"))
    return CreateView(name, text, maintained, exists, place, columns, read, replaces, change_feed, temporary, history)


def _view_options(tree: exp.Create, syntax: Syntax, source: SqlText) -> tuple[bool, bool, bool, str]:
    """Whether it is MATERIALIZED, TEMP, whether its changes are written down, and how much of its past is kept."""
    properties, start = tree.args.get("properties"), syntax.tokens[0].start
    maintained = change_feed = temporary = False
    history = ""
    for item in properties.expressions if properties else ():
        if isinstance(item, exp.MaterializedProperty):
            maintained = True
            continue
        if isinstance(item, exp.TemporaryProperty):
            temporary = True
            continue
        if not isinstance(item, exp.Property) or key(item.name) not in (CHANGE_FEED, HISTORY):
            known = f"WITH ({CHANGE_FEED} = true) is, and WITH ({HISTORY} = '1 hour') or a number of times"
            source.refuse(start, f"CREATE VIEW with {text_of(item)} is not supported; {known}")
        value = item.args.get("value")
        if key(item.name) == HISTORY:
            history = value.name if isinstance(value, exp.Literal) else ""
            if not history:
                source.fail(start, f"{HISTORY} must be a number of times, or a length of time such as '1 hour'")
        elif not isinstance(value, exp.Boolean):
            source.fail(start, f"{CHANGE_FEED} must be true or false")
        else:
            change_feed = bool(value.this)
    for option in [CHANGE_FEED] * change_feed + [HISTORY] * bool(history) if not maintained else ():
        source.fail(start, f"{option} is for views that are maintained; write CREATE MATERIALIZED VIEW")
    return maintained, temporary, change_feed, history


_IN_VIEW = frozenset(("this", "kind", "replace", "exists", "properties", "expression"))


def _read_already(tree: exp.Create, query: exp.Expr, body: Token) -> Syntax | None:
    """The syntax of the view's query, where reading its text alone would find the same."""
    plain = isinstance(query, exp.Select | exp.SetOperation) and body.text.upper() in ("SELECT", "WITH")
    more = any(value for arg, value in tree.args.items() if arg not in _IN_VIEW)
    return part(query, body.start) if plain and not more else None


def _after_as(tokens: tuple[Token, ...], name_start: int) -> Token | None:
    for token, following in pairwise(tokens):
        if token.token_type == TokenType.ALIAS and token.start > name_start:
            return following
    return None


def _after(tokens: tuple[Token, ...], first: Token | None) -> tuple[Token, ...]:
    return tokens if first is None else tokens[next(i for i, token in enumerate(tokens) if token is first) :]


def _drop(syntax: Syntax, source: SqlText, dialect: str) -> Drop:
    tree, start = syntax.tree, syntax.tokens[0].start
    kind = tree.args.get("kind")
    if kind not in ("TABLE", "VIEW", "INDEX", "SCHEMA"):
        source.refuse(start, f"DROP {kind} is not supported; tables, views, indexes and schemas are")
    targets = tree.args.get("tables") or [tree.this]
    if len(targets) != 1:
        source.refuse(targets[1], "DROP takes one name; write one statement for each")
    name = _schema_named(targets[0]) if kind == "SCHEMA" else table_name(targets[0], source, f"DROP {kind}")
    return Drop(kind, name, bool(tree.args.get("exists")), bool(tree.args.get("cascade")))


_READ: dict[str, Callable[[Sequence[Token], SqlText], Statement | str]] = {
    "SHOW": _show, "COMMENT": comment_on, "PRAGMA": about_pragma, "CALL": about_call, "VACUUM": about_upkeep,
    "ANALYZE": about_upkeep, "LOAD": about_extension, "INSTALL": about_extension, "PREPARE": prepare,
    "EXECUTE": execute, "DEALLOCATE": deallocate,
}  # fmt: skip
"""What reads statements by their tokens; those that are not here `about_setting` does. A text is parsed instead."""
_CONVERT: dict[type[exp.Expr], Callable[[Syntax, SqlText, str], Statement]] = {
    exp.Create: _create,
    exp.Drop: _drop,
    exp.Insert: parse_changes.insert,
    exp.Delete: parse_changes.delete,
    exp.Update: parse_changes.update,
    exp.Merge: merge,
    exp.TruncateTable: parse_changes.truncate,
    exp.Copy: copy,
    exp.Describe: _describe,
    exp.Summarize: _describe,
    exp.Query: _query,
    exp.Values: _query,
}
