"""What statements about macros, and calls of them, are made of, by tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot.tokenizer_core import Token, TokenType

_KINDS = frozenset(["MACRO", "FUNCTION"])
OPENING = frozenset([TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE])
CLOSING = frozenset([TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE])
NAMING = frozenset([TokenType.COLON_EQ, TokenType.FARROW])
"""What stands between the name of a parameter and its value."""


def is_about_macro(tokens: Sequence[Token]) -> bool:
    """Whether a statement that begins so creates or drops a macro."""
    words = [token.text.upper() for token in tokens[:5]]
    if words[:1] == ["DROP"]:
        return words[1:2] != [] and words[1] in _KINDS
    rest = words[3:] if words[1:3] == ["OR", "REPLACE"] else words[1:]
    rest = rest[1:] if rest[:1] and rest[0] in ("TEMP", "TEMPORARY") else rest
    return words[:1] == ["CREATE"] and rest[:1] != [] and rest[0] in _KINDS


def closing(tokens: Sequence[Token], begin: int) -> int:
    """The place of the token that closes what the token at `begin` opens; that of the last one, if there is none."""
    depth = 0
    for place in range(begin, len(tokens)):
        depth += (tokens[place].token_type in OPENING) - (tokens[place].token_type in CLOSING)
        if depth <= 0:
            return place
    return max(len(tokens) - 1, 0)


def parts(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """What stands between commas; nothing of no tokens."""
    depth, begin = 0, 0
    for place, token in enumerate(tokens):
        depth += (token.token_type in OPENING) - (token.token_type in CLOSING)
        if depth == 0 and token.token_type == TokenType.COMMA:
            yield tokens[begin:place]
            begin = place + 1
    if tokens:
        yield tokens[begin:]
