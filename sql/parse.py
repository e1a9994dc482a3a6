"""From SQL text to statements."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NoReturn

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from catalog.errors import BindError, ParseError, UnsupportedError
from catalog.names import written
from sql.arguments import declared, refuse_unread
from sql.create_table import create_table
from sql.duckdb_text import duckdb_text
from sql.names import names_read, table_name
from sql.refused import STARTS
from sql.source import Source, offset_of, text_of
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
from sql.syntax import Syntax, part, statements
from sql.tree import nodes_of


def parse(text: str, dialect: str = "duckdb") -> tuple[Statement, ...]:
    """The statements of `text`, in any dialect that sqlglot reads; linear in the length of the text.

    ParseError with line and column if the text is not SQL; UnsupportedError for a statement that the engine does
    not run; BindError for a table declaration that contradicts itself. Names are not looked up here.
    """
    source = Source(text)
    return tuple(_statement(syntax, source, dialect) for syntax in statements(source, dialect))


def _statement(syntax: Syntax, source: Source, dialect: str) -> Statement:
    tree = syntax.tree
    for kind, convert in _CONVERT.items():
        if isinstance(tree, kind):
            statement = convert(syntax, source, dialect)
            if not isinstance(statement, Query):
                refuse_unread(declared(tree), source)
            return _explained(statement, syntax, source) if syntax.explain else statement
    if isinstance(tree, exp.Command):
        _explain_unreadable(syntax, source, dialect)
    what = f"expected {STARTS}, not {syntax.tokens[0].text!r}"
    raise ParseError(source.locate(what, syntax.tokens[0].start))


_QUERY_STARTS = frozenset(["SELECT", "WITH", "FROM", "VALUES", "TABLE", "("])
_CREATED = frozenset(["TABLE", "VIEW"])


def _explain_unreadable(syntax: Syntax, source: Source, dialect: str) -> NoReturn:
    """Raise the error for a statement that sqlglot gave up on: at the query inside it, if that is where it fails."""
    first = syntax.tokens[0]
    words = [token.text.upper() for token in syntax.tokens[:6]]
    if first.text.upper() != "CREATE" or not _CREATED & set(words):
        what = f"cannot read this {first.text.upper()} statement; a statement begins with {STARTS}"
        raise UnsupportedError(source.locate(what, first.start))
    body = _after_as(syntax.tokens, first.end)
    if body is not None:
        if body.text.upper() not in _QUERY_STARTS:
            raise ParseError(source.locate(f"expected SELECT after AS, not {body.text!r}", body.start))
        blank = "".join(c if c == "\n" else " " for c in source.text[: body.start])
        statements(Source(blank + source.text[body.start : syntax.tokens[-1].end + 1]), dialect)
    raise ParseError(source.locate("syntax error in this CREATE statement; check its name and commas", first.start))


def _explained(statement: Statement, syntax: Syntax, source: Source) -> Explain:
    if isinstance(statement, Query | CreateView):
        return Explain(statement)
    what = "EXPLAIN is for queries and views; write EXPLAIN SELECT ... or EXPLAIN CREATE MATERIALIZED VIEW ..."
    raise UnsupportedError(source.locate(what, syntax.tokens[0].start))


def _query(syntax: Syntax, source: Source, dialect: str) -> Query:
    first, last = syntax.tokens[0], syntax.tokens[-1]
    written = source.text[first.start : last.end + 1]
    _refuse_changes_within(syntax.tree, source)
    text = written if dialect == "duckdb" else duckdb_text(syntax.tree)
    names = names_read(syntax.tree)
    read = part(syntax.tree, first.start) if dialect == "duckdb" and syntax.explain else None
    return Query(text, names, written, source.position(first.start), read)


def _refuse_changes_within(tree: exp.Expr, source: Source) -> None:
    """A query changes nothing: not by what stands in its WITH either."""
    for cte in nodes_of(tree):
        if isinstance(cte, exp.CTE) and isinstance(cte.this, exp.DML | exp.DDL | exp.Drop):
            what = f"{cte.this.key.upper()} cannot stand in WITH, a query changes nothing; write it as a statement"
            raise UnsupportedError(source.locate(what, cte))


def _create(syntax: Syntax, source: Source, dialect: str) -> CreateTable | CreateView:
    tree = syntax.tree
    assert isinstance(tree, exp.Create), "dispatched by class"
    if tree.kind == "TABLE":
        return create_table(tree, source, dialect)
    if tree.kind == "VIEW":
        return _create_view(tree, syntax, source, dialect)
    raise UnsupportedError(
        source.locate(f"CREATE {tree.kind} is not supported; tables and views are", syntax.tokens[0].start)
    )


def _create_view(tree: exp.Create, syntax: Syntax, source: Source, dialect: str) -> CreateView:
    target, columns = tree.this, ()
    if isinstance(target, exp.Schema):
        target, columns = target.this, tuple(item.name for item in target.expressions)
    if tree.args.get("replace"):
        what = "CREATE OR REPLACE VIEW is not supported; write DROP VIEW, then CREATE"
        raise UnsupportedError(source.locate(what, syntax.tokens[0].start))
    properties = tree.args.get("properties")
    maintained = False
    for item in properties.expressions if properties else ():
        if not isinstance(item, exp.MaterializedProperty):
            what = f"CREATE VIEW with {text_of(item)} is not supported; leave that out"
            raise UnsupportedError(source.locate(what, syntax.tokens[0].start))
        maintained = True
    name = table_name(target, source, "CREATE VIEW")
    body = _after_as(syntax.tokens, offset_of(target) or 0)
    if tree.expression is None or body is None:
        raise ParseError(source.locate(f"CREATE VIEW {name} needs AS SELECT ... after the name", syntax.tokens[-1].end))
    text = source.text[body.start : syntax.tokens[-1].end + 1]
    place, exists = source.position(body.start), bool(tree.args.get("exists"))
    read = _read_already(tree, tree.expression, body) if dialect == "duckdb" else None
    return CreateView(name, text, maintained, exists, place, columns, read)


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


def _drop(syntax: Syntax, source: Source, dialect: str) -> DropTable | DropView:
    tree, start = syntax.tree, syntax.tokens[0].start
    if tree.args.get("cascade"):
        what = "DROP ... CASCADE is not supported; drop what uses it first, one statement each"
        raise UnsupportedError(source.locate(what, start))
    kind = tree.args.get("kind")
    if kind not in ("TABLE", "VIEW"):
        raise UnsupportedError(source.locate(f"DROP {kind} is not supported; tables and views are", start))
    targets = tree.args.get("tables") or [tree.this]
    if len(targets) != 1:
        raise UnsupportedError(source.locate("DROP takes one name; write one statement for each", targets[1]))
    name = table_name(targets[0], source, f"DROP {kind}")
    exists = bool(tree.args.get("exists"))
    return DropTable(name, exists) if kind == "TABLE" else DropView(name, exists)


def _refuse(tree: exp.Expr, source: Source, statement: str, refused: dict[str, str]) -> None:
    for arg, what in refused.items():
        if tree.args.get(arg):
            raise UnsupportedError(source.locate(f"{statement}: {what}", tree))


def _insert(syntax: Syntax, source: Source, dialect: str) -> Insert:
    tree = syntax.tree
    refused = {
        "conflict": "ON CONFLICT is not supported; use tx.upsert",
        "alternative": "INSERT OR REPLACE / IGNORE is not supported; use tx.upsert",
        "returning": "RETURNING is not supported; query the table afterwards",
        "by_name": "BY NAME is not supported; list the columns after the table's name",
        "default": "DEFAULT VALUES is not supported; write the values",
        "overwrite": "OVERWRITE is not supported; write DELETE FROM first",
    }
    _refuse(tree, source, "INSERT", refused)
    target, columns = tree.this, ()
    if isinstance(target, exp.Schema):
        columns = tuple(column.name for column in target.expressions)
        target = target.this
    if tree.expression is None:  # sqlglot takes VALUES in parentheses for names of columns
        what = "INSERT needs VALUES or a SELECT, without parentheses around VALUES"
        raise UnsupportedError(source.locate(what, tree))
    rows = tree.expression.copy()
    if not isinstance(rows, exp.Query | exp.Values):
        raise UnsupportedError(source.locate("INSERT needs VALUES or a SELECT", tree))
    if tree.args.get("with_"):
        rows.set("with_", tree.args["with_"].copy())
    for word in rows.find_all(exp.Var):
        if isinstance(rows, exp.Values) and word.name.upper() == "DEFAULT":
            what = "INSERT: DEFAULT is not supported, columns have no defaults; write NULL or a value"
            raise UnsupportedError(source.locate(what, tree))
    values = _written_rows(rows)
    text = "VALUES " + ", ".join(f"({', '.join(row)})" for row in values) if values else duckdb_text(rows)
    name = table_name(target, source, "INSERT INTO")
    return Insert(name, columns, Query(text, names_read(rows), text), values)


def _written_rows(rows: exp.Expr) -> tuple[tuple[str, ...], ...]:
    """The values of VALUES, each as a text; none for any other query."""
    if not isinstance(rows, exp.Values) or any(value for arg, value in rows.args.items() if arg != "expressions"):
        return ()
    items = (row.expressions if isinstance(row, exp.Tuple) else [row.unnest()] for row in rows.expressions)
    return tuple(tuple(duckdb_text(item) for item in row) for row in items)


def _delete(syntax: Syntax, source: Source, dialect: str) -> Delete:
    tree = syntax.tree
    refused = {
        "using": "USING is not supported; write WHERE EXISTS (SELECT ...)",
        "returning": "RETURNING is not supported; query the table before",
        "with_": "WITH is not supported; write the subquery in WHERE",
    }
    _refuse(tree, source, "DELETE", refused)
    name = table_name(tree.this, source, "DELETE FROM")
    return Delete(name, tree.this.alias or name, _condition(tree), names_read(tree))


def _update(syntax: Syntax, source: Source, dialect: str) -> Update:
    tree = syntax.tree
    refused = {
        "from_": "FROM is not supported; write the value as a subquery",
        "returning": "RETURNING is not supported; query the table afterwards",
        "with_": "WITH is not supported; write the subquery in SET or WHERE",
    }
    _refuse(tree, source, "UPDATE", refused)
    name = table_name(tree.this, source, "UPDATE")
    assignments: dict[str, str] = {}
    for item in tree.expressions:
        column = item.this.name
        if not isinstance(item, exp.EQ) or not isinstance(item.this, exp.Column):
            raise UnsupportedError(source.locate("UPDATE needs SET column = value", item))
        if written(column, assignments):
            raise BindError(source.locate(f"UPDATE {name} sets column {column!r} twice; set it once", item))
        assignments[column] = duckdb_text(item.expression)
    alias = tree.this.alias or name
    return Update(name, alias, tuple(assignments.items()), _condition(tree), names_read(tree))


def _condition(tree: exp.Expr) -> str:
    where = tree.args.get("where")
    return duckdb_text(where.this) if where else ""


_CONVERT: dict[type[exp.Expr], Callable[[Syntax, Source, str], Statement]] = {
    exp.Create: _create,
    exp.Drop: _drop,
    exp.Insert: _insert,
    exp.Delete: _delete,
    exp.Update: _update,
    exp.Query: _query,
    exp.Values: _query,
}
