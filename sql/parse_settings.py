"""USE, SET and RESET: what a connection has set, by the tokens of the statement."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from sql.sql_text import SqlText
from sql.statements import Set

_SCOPES = frozenset(["GLOBAL", "SESSION", "LOCAL"])
SEARCH_PATH = "search_path"
"""The setting that USE sets, and SET schema too."""


def about_setting(tokens: Sequence[Token], source: SqlText) -> Set:
    """The statement of these tokens; ParseError for what is none."""
    word, rest = tokens[0].text.upper(), tokens[1:]
    if rest and rest[0].text.upper() in _SCOPES and word != "USE":
        rest = rest[1:]
    if not rest:
        source.misread(tokens[0].end, f"expected a name behind {word}")
    if word == "USE":
        return Set(SEARCH_PATH, source.text[rest[0].start : rest[-1].end + 1].strip("'"))
    name = _called(rest[0])
    if word == "RESET":
        if len(rest) > 1:
            source.misread(rest[1].start, f"RESET takes one name; {rest[1].text!r} follows")
        return Set(name, None)
    return Set(name, _value(rest, source))


def _called(token: Token) -> str:
    name = token.text.lower()
    return SEARCH_PATH if name == "schema" else name


def _value(tokens: Sequence[Token], source: SqlText) -> str:
    """What stands behind = or TO: a text without its quotes, else as it was written."""
    name, *rest = tokens
    if not rest or (rest[0].token_type != TokenType.EQ and rest[0].text.upper() != "TO"):
        source.misread(name.end, f"expected = and a value behind SET {name.text}")
    if not rest[1:]:
        source.misread(rest[0].end, f"expected a value behind SET {name.text} {rest[0].text}")
    if any(token.token_type == TokenType.COMMA for token in rest[1:]):
        source.misread(rest[2].start, "SET takes one value; write 'a, b' for several schemas")
    if len(rest) == 2 and rest[1].token_type == TokenType.STRING:
        return rest[1].text
    return source.text[rest[1].start : rest[-1].end + 1]
