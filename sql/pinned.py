"""The texts of views, and of constraints, when what they read is altered: they go on to mean what they meant."""

from __future__ import annotations

from collections.abc import Sequence, Set

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from catalog.altering import Altered
from catalog.names import key, quoted
from catalog.schema import Check
from sql.bind import BoundQuery
from sql.duckdb_text import duckdb_text
from sql.sql_text import SqlText
from sql.syntax import dialect_named, query, statement_tokens


def renamed_text(bound: BoundQuery, old: str, new: str) -> str:
    """The text of a query that reads `old`, which is called `new` now."""
    return _with(bound, old, quoted(new))


def pinned_text(bound: BoundQuery, change: Altered, gone: Set[str] = frozenset()) -> str:
    """The text of a query over an altered table in which that has the columns that it had, and no others.

    So each name in it means what it meant. Columns that the table has not any more, and those that are taken to be
    `gone`, are NULL. It is the query's own text where no name, and no star, can mean anything else.
    """
    old = change.old
    now = {each.name: None if each.name in gone else change.now(each.name) for each in old.fields}
    new = {field.name for place, field in enumerate(change.table.fields) if change.taken[place] is None}
    moved = {key(name) for name, called in now.items() if called != name}
    moved |= {key(called) for name, called in now.items() if called is not None and called != name}
    if not _minds(bound.text, moved | set(map(key, new))):
        return bound.text
    columns = (
        f"CAST(NULL AS {field.type}) AS {quoted(field.name)}"
        if (called := now[field.name]) is None
        else quoted(called) + (f" AS {quoted(field.name)}" if called != field.name else "")
        for field in old.fields
    )
    return _with(bound, old.name, f"(SELECT {', '.join(columns)} FROM {quoted(change.table.name)})")


def renamed_check(check: Check, change: Altered) -> Check:
    """The same condition, over columns of other names."""
    (item,) = query(SqlText(f"SELECT {check.condition}"), "duckdb").tree.expressions
    for column in list(item.find_all(exp.Column)):
        called = change.now(column.name)
        if called is not None and called != column.name:
            column.set("this", exp.to_identifier(called, quoted=True))
    return Check(duckdb_text(item), check.name)


def columns_of_check(check: Check) -> frozenset[str]:
    """The keys of the columns that a condition names."""
    (item,) = query(SqlText(f"SELECT {check.condition}"), "duckdb").tree.expressions
    return frozenset(key(column.name) for column in item.find_all(exp.Column))


def _with(bound: BoundQuery, name: str, relation: str) -> str:
    """The text with a relation in the place of each naming of a table or view, under the alias that it has there."""
    text = bound.text
    for place in reversed(bound.reads):
        if key(place.name) == key(name):
            alias = "" if place.has_alias else f" AS {quoted(place.name)}"
            text = text[: place.start] + relation + alias + text[place.stop :]
    return text


_STARS = frozenset([TokenType.FROM, TokenType.COMMA, TokenType.R_PAREN])
_NATURAL = frozenset(["NATURAL", "COLUMNS", "TABLE"])


def _minds(text: str, names: Set[str]) -> bool:
    """Whether a text may mean something else where columns of these names come or go: it names one, or all there are.

    Certain is a False.
    """
    tokens = statement_tokens(dialect_named("duckdb"), SqlText(text))
    if any(key(token.text) in names or token.text.upper() in _NATURAL for token in tokens):
        return True
    starts = sum(token.token_type == TokenType.FROM for token in tokens)
    if starts > sum(token.token_type == TokenType.SELECT for token in tokens):  # FROM t alone is SELECT * FROM t
        return True
    return any(_is_all(tokens, place) for place, token in enumerate(tokens) if token.token_type == TokenType.STAR)


def _is_all(tokens: Sequence[Token], place: int) -> bool:
    """Whether a star may stand for columns, and does not count rows, nor multiply."""
    around = [token.token_type for token in tokens[place - 1 : place + 2]]
    if around == [TokenType.L_PAREN, TokenType.STAR, TokenType.R_PAREN]:
        return False
    before, after = tokens[place - 1], (tokens[place + 1 : place + 2] or [tokens[place]])[0]
    is_value = {TokenType.VAR, TokenType.IDENTIFIER, TokenType.NUMBER}
    return before.token_type not in is_value or after.token_type in _STARS
