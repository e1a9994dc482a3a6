"""The text that DuckDB answers as the engine does: every LIMIT, DISTINCT ON and aggregate decides its ties."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from sql.bind.context import Chosen, Limited, Refinement
from sql.bind.oracle_aggregates import aggregate_orders
from sql.bind.oracle_windows import window_change

_BEFORE = frozenset(["LIMIT", "OFFSET", "FETCH"])


_SETS = frozenset([TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT])
_ENDINGS = frozenset([TokenType.ORDER_BY, TokenType.LIMIT, TokenType.OFFSET, TokenType.FETCH])


def refined(
    text: str,
    tokens: Sequence[Token],
    limited: Sequence[Limited],
    chosen: Sequence[Chosen] = (),
    windows: Sequence[Refinement] = (),
) -> str:
    """`text` with ORDER BY of each such block extended by all its output columns, ascending, NULLs last.

    The positions of the columns are written, so that aliases and duplicates do no harm. A block with DISTINCT ON is put
    in parentheses where it stands bare in a set operation, to which its ORDER BY would else belong. Window functions
    are refined as told.
    """
    insertions = [(_offset(tokens, block), _terms(block) + " ") for block in limited]
    insertions += [insertion for block in chosen for insertion in _around(tokens, block)]
    insertions += aggregate_orders(text, tokens)
    changes = [(offset, offset, added) for offset, added in insertions]
    changes += [window_change(tokens, window) for window in windows]
    for start, end, added in sorted(changes, reverse=True):
        # On a line of its own, since what stands before may end in a comment.
        text = f"{text[:start].rstrip()}\n{added}{text[end:]}"
    return text


def _terms(block: Limited | Chosen) -> str:
    terms = ", ".join(f"{i + 1} ASC NULLS LAST" for i in range(block.columns))
    return f", {terms}" if block.ordered else f"ORDER BY {terms}"


def _around(tokens: Sequence[Token], block: Chosen) -> list[tuple[int, str]]:
    """What is added before and after a block with DISTINCT ON."""
    start = next(i for i, token in enumerate(tokens) if token.start == block.inside)
    while tokens[start].token_type != TokenType.SELECT or tokens[start + 1].token_type != TokenType.DISTINCT:
        start -= 1
    end = _end(tokens, start, block.ordered)
    terms = _terms(block)
    if not block.ordered and _is_bare(tokens, start, end):
        return [(tokens[start].start, "("), (tokens[end - 1].end + 1, f"{terms}) ")]
    return [(tokens[end - 1].end + 1, f"{terms} ")]


def _end(tokens: Sequence[Token], start: int, ordered: bool) -> int:
    """The first token behind the SELECT that begins at `start`."""
    depth = 0
    for at in range(start, len(tokens)):
        kind = tokens[at].token_type
        depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
        ends = kind in _SETS or kind == TokenType.SEMICOLON or (kind in _ENDINGS and not ordered)
        if depth < 0 or (depth == 0 and ends):
            return at
    return len(tokens)


def _is_bare(tokens: Sequence[Token], start: int, end: int) -> bool:
    """Whether the SELECT is a side of a set operation, without parentheses."""
    followed = end < len(tokens) and tokens[end].token_type in _SETS
    before = [token.token_type for token in tokens[max(start - 4, 0) : start]]  # UNION ALL BY NAME SELECT
    words = [token.text.upper() for token in tokens[max(start - 4, 0) : start]]
    while words and words[-1] in ("ALL", "DISTINCT", "BY", "NAME"):
        words.pop()
        before.pop()
    return followed or bool(before and before[-1] in _SETS)


def _offset(tokens: Sequence[Token], block: Limited) -> int:
    """Where the first of the block's LIMIT, OFFSET or FETCH begins."""
    starts = []
    for literal in block.literals:
        at = next(i for i, token in enumerate(tokens) if token.start == literal)
        while tokens[at].text.upper() not in _BEFORE:
            at -= 1
        if at >= 2 and tokens[at - 2].text.upper() == "LIMIT":  # LIMIT ALL OFFSET 3
            at -= 2
        starts.append(tokens[at].start)
    return min(starts)
