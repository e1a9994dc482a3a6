"""Types by the names that CREATE TYPE gave them, replaced in a text by what they stand for.

What is kept of a text, such as the definition of a view, holds no names of types.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sqlglot.tokenizer_core import Token, TokenType

from catalog.names import key
from sql.sql_text import SqlText
from sql.syntax import chunks, dialect_named, statement_tokens

_CREATES = re.compile(r"create\s+type\s")
_CASTS = frozenset(["CAST", "TRY_CAST"])
_CONSTRAINTS = frozenset(["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"])
_NOT_NAMES = frozenset([TokenType.STRING, TokenType.NUMBER])


def with_types(text: str, types: Mapping[str, str], dialect: str = "duckdb") -> str:
    """The text with the SQL of each type in the place of its name; `types` has it by the keys of their names.

    Looked at are casts and the columns of CREATE TABLE. Types that the text creates are known behind that. Cost: that
    of tokens, where the text holds a name or CREATE TYPE; else a search.
    """
    folded = key(text)
    if not any(name in folded for name in types) and _CREATES.search(folded) is None:
        return text
    known, places = dict(types), list[tuple[int, int, str]]()
    for tokens in chunks(statement_tokens(dialect_named(dialect), SqlText(text))):
        created = _created(tokens, text)
        if created is not None:
            known.update([created])
        else:
            places += [(t.start, t.end + 1, known[key(t.text)]) for t in _types(tokens) if key(t.text) in known]
    for start, end, written in sorted(places, reverse=True):
        text = text[:start] + written + text[end:]
    return text


def _created(tokens: list[Token], text: str) -> tuple[str, str] | None:
    """The key and the text of the type that CREATE TYPE [IF NOT EXISTS] name AS ... makes."""
    words = [token.text.upper() for token in tokens[:5]]
    if words[:2] != ["CREATE", "TYPE"]:
        return None
    rest = tokens[5:] if words[2:] == ["IF", "NOT", "EXISTS"] else tokens[2:]
    if len(rest) < 3 or rest[1].text.upper() != "AS":
        return None
    return key(rest[0].text), text[rest[2].start : rest[-1].end + 1]


def _types(tokens: list[Token]) -> Iterator[Token]:
    """The tokens that stand where a type does."""
    yield from _of_columns(tokens)
    casts: list[bool] = []
    for place, token in enumerate(tokens):
        before = tokens[place - 1] if place else token
        if token.token_type == TokenType.L_PAREN:
            casts.append(before.text.upper() in _CASTS)
        elif token.token_type == TokenType.R_PAREN and casts:
            if casts.pop() and tokens[place - 2].token_type == TokenType.ALIAS:
                yield before
        elif before.token_type == TokenType.DCOLON and token.token_type not in _NOT_NAMES:
            yield token


def _of_columns(tokens: list[Token]) -> Iterator[Token]:
    """What follows the name of each column that CREATE TABLE declares."""
    words = [token.text.upper() for token in tokens]
    opened = words.index("(") if "(" in words else len(words)
    if words[:1] != ["CREATE"] or "TABLE" not in words[:4] or "AS" in words[:opened]:
        return
    depth = 0
    for place in range(opened, len(tokens) - 2):
        kind = tokens[place].token_type
        depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
        if depth == 0:
            return
        starts = depth == 1 and kind in (TokenType.L_PAREN, TokenType.COMMA)
        if starts and words[place + 1] not in _CONSTRAINTS and tokens[place + 2].token_type not in _NOT_NAMES:
            yield tokens[place + 2]
