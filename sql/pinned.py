"""The texts of views, and of constraints, when what they read is altered: they go on to mean what they meant."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from ivm.catalog.altering import Altered
from ivm.catalog.names import key, quoted
from ivm.sql.bind import BoundQuery
from ivm.sql.bind.context import Reads
from ivm.sql.duckdb_text import duckdb_text
from ivm.sql.sql_text import SqlText
from ivm.sql.syntax import dialect_named, query, statement_tokens


def renamed_text(bound: BoundQuery, old: str, new: str) -> str:
    """The text of a query that reads `old`, which is called `new` now."""
    text = bound.text
    for place in reversed(bound.reads):
        if key(place.name) == key(old):
            text = _with(text, place, quoted(new))
    return text


def pinned_text(bound: BoundQuery, change: Altered, gone: Set[str] = frozenset()) -> str:
    """The text of a query over an altered table in which that has the columns that it had, and no others.

    So each name in it means what it meant. Columns that the table has not any more, and those that are taken to be
    `gone`, are NULL. It is the query's own text where no name, and no star, can mean anything else.
    """
    old, text = change.old, bound.text
    now = {each.name: None if each.name in gone else change.now(each.name) for each in old.fields}
    news = {field.name for place, field in enumerate(change.table.fields) if change.taken[place] is None}
    moved = {name for name, called in now.items() if called != name}
    affected = moved | news | {called for name, called in now.items() if called is not None and called != name}
    minds = bool(affected) and _minds(text, set(map(key, affected)))
    for place in reversed(bound.reads):
        if key(place.name) != key(old.name):
            continue
        pin = _Pin.around(text, place)
        if pin is not None and all(of is None or of in now for _, of, _ in pin.columns):
            types = {field.name: str(field.type) for field in old.fields}
            columns = (_column(name, of and now[of], type_ or types[of or name]) for name, of, type_ in pin.columns)
            text = text[: pin.start] + ", ".join(columns) + text[pin.stop :]
        elif minds:
            columns = (_column(field.name, now[field.name], str(field.type)) for field in old.fields)
            relation = f"(SELECT {', '.join(columns)} FROM {quoted(old.name)})"
            text = _with(text, place, relation)
    return text


def renamed_expression(text: str, change: Altered) -> str:
    """The same expression, over columns of other names."""
    (item,) = query(SqlText(f"SELECT {text}"), "duckdb").tree.expressions
    for column in list(item.find_all(exp.Column)):
        called = change.now(column.name)
        if called is not None and called != column.name:
            column.set("this", exp.to_identifier(called, quoted=True))
    return duckdb_text(item)


def columns_of(text: str) -> frozenset[str]:
    """The keys of the columns that an expression names."""
    (item,) = query(SqlText(f"SELECT {text}"), "duckdb").tree.expressions
    return frozenset(key(column.name) for column in item.find_all(exp.Column))


def _with(text: str, place: Reads, relation: str) -> str:
    """The text with a relation in the place where it names a table or view, under the alias that it has there."""
    alias = "" if place.has_alias else f" AS {quoted(place.name)}"
    return text[: place.start] + relation + alias + text[place.stop :]


def _column(name: str, called: str | None, type_: str) -> str:
    """A column of a name, which is `called` something else now; None: it is gone."""
    if called is None:
        return f"CAST(NULL AS {type_}) AS {quoted(name)}"
    return quoted(called) + (f" AS {quoted(name)}" if called != name else "")


_NAME = r'"(?:[^"]|"")*"'
_ITEM = re.compile(rf'({_NAME}|CAST\(NULL AS ([^"]*)\))(?: AS ({_NAME}))?(, )?')
_END = re.compile(rf"(?: AS {_NAME})?\)")
_SELECT = "(SELECT "
_FROM = " FROM "


@dataclass(frozen=True, slots=True)
class _Pin:
    """The columns of a SELECT that stands in the place of a table or view already, from `start` up to `stop` of a text:
    each by its name there, what it is of the table, and its type if it is NULL.
    """

    start: int
    stop: int
    columns: tuple[tuple[str, str | None, str], ...]

    @classmethod
    def around(cls, text: str, place: Reads) -> _Pin | None:
        """The one that reads a table at a place; None if there is no such thing."""
        start = text.rfind(_SELECT, 0, place.start) + len(_SELECT)
        stop = place.start - len(_FROM)
        if start < len(_SELECT) or text[stop : place.start] != _FROM or _END.match(text, place.stop) is None:
            return None
        columns, at = list[tuple[str, str | None, str]](), start
        while at < stop:
            item = _ITEM.match(text, at, stop)
            if item is None:
                return None
            value, type_, alias, _ = item.groups()
            name = value if alias is None else alias
            columns.append((_plain(name), None if type_ else _plain(value), type_ or ""))
            at = item.end()
        return cls(start, stop, tuple(columns))


def _plain(name: str) -> str:
    return name[1:-1].replace('""', '"')


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
