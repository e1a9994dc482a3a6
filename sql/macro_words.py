"""What statements about macros, and calls of them, are made of, by tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot.tokenizer_core import Token, TokenType

from ivm.sql.words import is_about

_KINDS = frozenset(["MACRO", "FUNCTION"])
OPENING = frozenset([TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE])
CLOSING = frozenset([TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE])
NAMING = frozenset([TokenType.COLON_EQ, TokenType.FARROW])
"""What stands between the name of a parameter and its value."""


def is_about_macro(tokens: Sequence[Token]) -> bool:
    """Whether a statement that begins so creates or drops a macro."""
    return is_about(tokens, _KINDS)


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
