"""Where the text of a window function is refined, so that DuckDB breaks its ties as the engine does."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from sql.bind.context import Refinement


def window_change(tokens: Sequence[Token], window: Refinement) -> tuple[int, int, str]:
    """The stretch of the text to replace, and what with."""
    at = next(i for i, token in enumerate(tokens) if token.start == window.call) + 1
    end = _closing(tokens, at)
    if window.within:
        inside = end - 2 if tokens[end - 1].text.upper() == "NULLS" else end
        return tokens[inside].start, tokens[inside].start, f"{window.within} "
    while tokens[end].text.upper() != "OVER":
        end += 1
    first = end + 1
    last = _closing(tokens, first) if tokens[first].token_type == TokenType.L_PAREN else first
    return tokens[first].start, tokens[last].end + 1, f"{window.over} "


def _closing(tokens: Sequence[Token], at: int) -> int:
    """The position of the parenthesis that closes the one at `at`."""
    depth = 0
    while True:
        depth += (tokens[at].token_type == TokenType.L_PAREN) - (tokens[at].token_type == TokenType.R_PAREN)
        if depth == 0:
            return at
        at += 1
