"""CREATE TYPE and DROP TYPE, which the parser gives as tokens only."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from sql.sql_text import SqlText
from sql.statements import CreateType, Drop
from sql.types.declared import declared_type, is_type

_CREATE = "CREATE TYPE name AS ENUM ('a', 'b')"
_DROP = "DROP TYPE name"


def is_about_type(tokens: Sequence[Token]) -> bool:
    """Whether a statement that begins so creates or drops a type."""
    words = [token.text.upper() for token in tokens[:4]]
    return words[:1] in (["CREATE"], ["DROP"]) and (words[1:2] == ["TYPE"] or words[1:] == ["OR", "REPLACE", "TYPE"])


def about_type(tokens: Sequence[Token], source: SqlText) -> CreateType | Drop:
    """The statement of these tokens. ParseError for what is none; UnsupportedError for what is not supported of it."""
    start = tokens[0].start
    if tokens[1].text.upper() != "TYPE":
        source.refuse(start, "CREATE OR REPLACE TYPE is not supported; drop the type first")
    return _create(tokens, source) if tokens[0].text.upper() == "CREATE" else _drop(tokens, source)


def _create(tokens: Sequence[Token], source: SqlText) -> CreateType:
    exists, rest = _without(("IF", "NOT", "EXISTS"), tokens[2:])
    if len(rest) < 3 or rest[1].text.upper() != "AS":
        source.misread(tokens[0].start, f"cannot read this CREATE TYPE; write {_CREATE}")
    name, what = _named(rest[0], source), f"CREATE TYPE {rest[0].text}"
    if is_type(name):
        source.fail(rest[0].start, f"cannot create type {name!r}: SQL has one of that name")
    kinds = [token.token_type for token in rest[3:]]
    labels = [token for token in rest[4:-1] if token.token_type == TokenType.STRING]
    separated = [TokenType.L_PAREN, *[TokenType.STRING, TokenType.COMMA] * len(labels)]
    if rest[2].text.upper() != "ENUM" or not labels or kinds != [*separated[:-1], TokenType.R_PAREN]:
        source.refuse(rest[2].start, f"{what} takes an ENUM with its labels; write {_CREATE}")
    node = exp.DataType(this=exp.DType.ENUM, expressions=[exp.Literal.string(label.text) for label in labels])
    return CreateType(name, declared_type(node, SqlText(""), what), exists)


def _drop(tokens: Sequence[Token], source: SqlText) -> Drop:
    exists, rest = _without(("IF", "EXISTS"), tokens[2:])
    if len(rest) == 2 and rest[1].text.upper() in ("RESTRICT", "CASCADE"):
        if rest[1].text.upper() == "CASCADE":
            said = "DROP TYPE ... CASCADE is not supported; drop the tables that have columns of it"
            source.refuse(rest[1].start, said)
        rest = rest[:1]
    if len(rest) != 1:
        source.misread(tokens[0].start, f"cannot read this DROP TYPE; write {_DROP}")
    return Drop("TYPE", _named(rest[0], source), exists)


def _without(words: tuple[str, ...], tokens: Sequence[Token]) -> tuple[bool, Sequence[Token]]:
    """Whether the tokens begin with these words, and those that follow."""
    found = tuple(token.text.upper() for token in tokens[: len(words)]) == words
    return found, tokens[len(words) :] if found else tokens


def _named(token: Token, source: SqlText) -> str:
    if token.token_type in (TokenType.STRING, TokenType.NUMBER) or not token.text:
        source.misread(token.start, f"expected the name of a type, not {token.text!r}")
    return token.text
