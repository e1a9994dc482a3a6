"""Statements whose WITH changes tables: from one tree to those of their steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from ivm.catalog.names import key
from ivm.sql.asked_loops import DEEPER, read_instead
from ivm.sql.duckdb_text import duckdb_text
from ivm.sql.reader import MUTUALLY
from ivm.sql.sql_text import SqlText, offset_of
from ivm.sql.statements import Delete, Insert, Merge, Query, Statement, Update, WithChanges
from ivm.sql.syntax import Syntax
from ivm.sql.tree import names_read, nodes_of

Convert = Callable[[Syntax, SqlText, str], Statement | None]
_CHANGES = (exp.DML, exp.DDL, exp.Drop)
_CARRIED_OUT = (Query, Insert, Delete, Update, Merge)


def with_changes(syntax: Syntax, source: SqlText, dialect: str, convert: Convert) -> WithChanges | None:
    """A statement with the changes that stand in its WITH; None if there are none.

    The tree is used up: what is a step is read by its name in what follows it. So is a SELECT that stands before a
    change if it is named more than once, or MATERIALIZED, as DuckDB has it; any other is part of what names it.
    UnsupportedError for changes in a WITH that is not that of the whole statement.
    """
    tree = syntax.tree
    clause = tree.args.get("with_") or exp.With(expressions=[])
    listed: list[exp.CTE] = clause.expressions if isinstance(tree, exp.Query | exp.DML) else []
    changes = [place for place, each in enumerate(listed) if _is_change(each)]
    _refuse_elsewhere(tree, {id(listed[place]) for place in changes}, source)
    if not changes:
        return None
    recursive = bool(clause.args.get("recursive"))
    _refuse_loops(tree, source)
    spans = [_span(each, syntax.tokens) for each in listed]
    steps, replaced, before = list[tuple[str, _Step]](), list[tuple[int, int, str]](), list[exp.CTE]()
    for place, each in enumerate(listed):
        if _is_change(each) or (place < changes[-1] and _is_computed_once(each, tree)):
            name = f"WITH {len(steps) + 1}"
            body = _with(each.this, before, recursive) if _is_change(each) else _read_of(each, before, recursive)
            steps.append((name, _step(replace(syntax, tree=body), source, dialect, convert)))
            replaced.append((*spans[place], name))
            each.set("this", _reading(name))
        before.append(each)
    last = _last(convert(syntax, source, dialect), replaced, syntax, dialect)
    return WithChanges(tuple(steps), last)


_Step = Query | Insert | Delete | Update | Merge


def _is_change(expression: exp.CTE) -> bool:
    return isinstance(expression.this, _CHANGES)


def _refuse_elsewhere(tree: exp.Expr, known: set[int], source: SqlText) -> None:
    for node in nodes_of(tree):
        if isinstance(node, exp.CTE) and _is_change(node) and id(node) not in known:
            what = (
                f"{node.this.key.upper()} stands only in a WITH that a SELECT, INSERT, UPDATE, DELETE or MERGE begins"
            )
            source.refuse(node, f"{what} with; write it there, or as a statement of its own between BEGIN and COMMIT")


def _refuse_loops(tree: exp.Expr, source: SqlText) -> None:
    for node in nodes_of(tree):
        if isinstance(node, exp.With) and MUTUALLY in node.meta:
            what = "WITH MUTUALLY RECURSIVE is not supported beside INSERT, UPDATE and DELETE in WITH"
            source.refuse(node, f"{what}; write CREATE MATERIALIZED VIEW v AS .., and read v")


def _is_computed_once(expression: exp.CTE, tree: exp.Expr) -> bool:
    materialized = expression.args.get("materialized")
    if materialized is not None:
        return bool(materialized)
    named = (node for node in nodes_of(tree) if isinstance(node, exp.Table) and not node.db)
    return sum(key(node.name) == key(expression.alias) for node in named) > 1


def _with(body: exp.Expr, before: Sequence[exp.CTE], recursive: bool) -> exp.Expr:
    """What stands in WITH, with what stands there before it as its own."""
    own = body.args.get("with_")
    inner: list[exp.CTE] = own.expressions if own else []
    names = {key(each.alias) for each in inner}
    outer = [each.copy() for each in before if key(each.alias) not in names]
    body = body.copy()
    if outer or inner:
        given = [*outer, *(each.copy() for each in inner)]
        body.set("with_", exp.With(expressions=given, recursive=recursive or bool(own and own.args.get("recursive"))))
    return body


def _read_of(expression: exp.CTE, before: Sequence[exp.CTE], recursive: bool) -> exp.Expr:
    """The SELECT of all that an expression of WITH gives."""
    read = exp.select("*").from_(exp.Table(this=exp.to_identifier(expression.alias, quoted=True)))
    return _with(read, (*before, expression), recursive)


def _reading(name: str) -> exp.Select:
    return exp.select("*").from_(exp.Table(this=exp.to_identifier(name, quoted=True)))


def _step(syntax: Syntax, source: SqlText, dialect: str, convert: Convert) -> _Step:
    if isinstance(syntax.tree, exp.Query):
        text = duckdb_text(syntax.tree)
        return Query(text, names_read(syntax.tree), text)
    found = convert(syntax, source, dialect)
    if not isinstance(found, _CARRIED_OUT):
        source.refuse(syntax.tree, "WITH takes SELECT, INSERT, UPDATE, DELETE and MERGE")
    return found


def _last(found: Statement | None, replaced: Sequence[tuple[int, int, str]], syntax: Syntax, dialect: str) -> _Step:
    """The statement behind WITH. A query keeps its text, so that its columns are called as in it."""
    assert isinstance(found, _CARRIED_OUT), "it has a WITH"
    if not isinstance(found, Query):
        return found
    written, begins_at = found.written, syntax.tokens[0].start
    for start, end, name in reversed(replaced):  # what is behind stays where it is
        written = read_instead(written, start - begins_at, end - begins_at, name)
    return replace(found, text=written if dialect == "duckdb" else found.text, written=written)


def _span(expression: exp.CTE, tokens: Sequence[Token]) -> tuple[int, int]:
    """From where to where in the text the body of an expression of WITH stands, without its parentheses."""
    name = offset_of(expression.args["alias"])
    behind = iter([token for token in tokens if name is not None and token.start >= name])
    next(token for token in behind if token.token_type is TokenType.ALIAS)
    begin = next(token for token in behind if token.token_type is TokenType.L_PAREN).end + 1
    depth = 1
    for token in behind:
        depth += DEEPER.get(token.token_type, 0)
        if depth == 0:
            return begin, token.start
    raise AssertionError("its body stands in parentheses")
