"""Tokens of forms of DuckDB's that sqlglot does not know, as tokens of ones that it knows."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.tokenizer_core import Token, TokenType


def as_known(chunk: list[Token], dialect: Dialect) -> list[Token]:
    """The tokens of a statement without VIRTUAL behind a generated column and without OVERRIDING .. VALUE, which say
    nothing, and with bytes (x'41') and texts in dollars ($$a$$) as literals; in DuckDB's dialect `?::` is a placeholder
    with a cast.
    """
    words = [token.text.upper() for token in chunk]
    if words[0] == "CREATE" and "VIRTUAL" in words:
        chunk = [token for place, token in enumerate(chunk) if not _is_virtual(words, place)]
    elif words[0] in ("INSERT", "WITH") and "OVERRIDING" in words:
        gone = {place + i for place in range(len(words)) if _overrides(words, place) for i in range(3)}
        chunk = [token for place, token in enumerate(chunk) if place not in gone]
    if isinstance(dialect, DuckDB) and any(token.token_type == TokenType.QDCOLON for token in chunk):
        chunk = [part for token in chunk for part in _apart(token)]
    return _with_literals(chunk)


def _apart(token: Token) -> list[Token]:
    if token.token_type != TokenType.QDCOLON:
        return [token]
    ends = (TokenType.PLACEHOLDER, "?", token.start, token.start), (TokenType.DCOLON, "::", token.start + 1, token.end)
    return [Token(kind, text, token.line, token.col, start, end, []) for kind, text, start, end in ends]


def _is_virtual(words: Sequence[str], place: int) -> bool:
    return words[place] == "VIRTUAL" and words[place - 1] == ")" and words[place + 1 : place + 2] in ([","], [")"])


def _overrides(words: Sequence[str], place: int) -> bool:
    given = words[place : place + 3]
    return given in (["OVERRIDING", "SYSTEM", "VALUE"], ["OVERRIDING", "USER", "VALUE"])


def _with_literals(chunk: list[Token]) -> list[Token]:
    if not any(_is_odd(chunk, place) for place in range(len(chunk))):
        return chunk
    found = list[Token]()
    for place, token in enumerate(chunk):
        if place and _begins_bytes(chunk, place - 1):
            found[-1] = _other(token, TokenType.HEX_STRING, chunk[place - 1].start)
        else:
            found.append(_other(token, TokenType.STRING, token.start) if _is_odd(chunk, place) else token)
    return found


def _is_odd(chunk: Sequence[Token], place: int) -> bool:
    return chunk[place].token_type == TokenType.HEREDOC_STRING or _begins_bytes(chunk, place)


def _begins_bytes(chunk: Sequence[Token], place: int) -> bool:
    token, behind = chunk[place], chunk[place + 1 : place + 2]
    is_x = token.token_type == TokenType.VAR and token.text in ("x", "X")
    return is_x and behind != [] and behind[0].token_type == TokenType.STRING and behind[0].start == token.end + 1


def _other(token: Token, kind: TokenType, start: int) -> Token:
    return Token(kind, token.text, token.line, token.col, start, token.end, token.comments)
