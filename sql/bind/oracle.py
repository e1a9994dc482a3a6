"""The text that DuckDB answers as the engine does: every LIMIT and DISTINCT ON decides its ties."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from sql.bind.context import Chosen, Limited

_BEFORE = frozenset(["LIMIT", "OFFSET", "FETCH"])


_ENDS = frozenset([TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT, TokenType.SEMICOLON])


def refined(text: str, tokens: Sequence[Token], limited: Sequence[Limited], chosen: Sequence[Chosen] = ()) -> str:
    """`text` with ORDER BY of each such block extended by all its output columns, ascending, NULLs last.

    The positions of the columns are written, so that aliases and duplicates do no harm.
    """
    insertions = [(_offset(tokens, block), _terms(block)) for block in limited]
    insertions += [(_end(tokens, block), _terms(block)) for block in chosen]
    for offset, terms in sorted(insertions, reverse=True):
        # On a line of its own, since what stands before may end in a comment.
        text = f"{text[:offset].rstrip()}\n{terms} {text[offset:]}"
    return text


def _terms(block: Limited | Chosen) -> str:
    terms = ", ".join(f"{i + 1} ASC NULLS LAST" for i in range(block.columns))
    return f", {terms}" if block.ordered else f"ORDER BY {terms}"


def _end(tokens: Sequence[Token], block: Chosen) -> int:
    """Where the block ends that has DISTINCT ON: after its last token."""
    at = next(i for i, token in enumerate(tokens) if token.start == block.inside)
    while tokens[at].token_type != TokenType.ON or tokens[at - 1].token_type != TokenType.DISTINCT:
        at -= 1
    depth = 0
    while at < len(tokens):
        kind = tokens[at].token_type
        depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
        if depth < 0 or (depth == 0 and kind in _ENDS):
            break
        at += 1
    return tokens[at - 1].end + 1


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
