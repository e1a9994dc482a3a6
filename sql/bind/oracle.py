"""The text that DuckDB answers as the engine does: every LIMIT decides its ties."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token

from sql.bind.context import Limited

_BEFORE = frozenset(["LIMIT", "OFFSET", "FETCH"])


def refined(text: str, tokens: Sequence[Token], limited: Sequence[Limited]) -> str:
    """`text` with ORDER BY of each limited block extended by all its output columns, ascending, NULLs last.

    The positions of the columns are written, so that aliases and duplicates do no harm.
    """
    insertions = sorted((_offset(tokens, block), _terms(block)) for block in limited)
    for offset, terms in reversed(insertions):
        # On a line of its own, since what stands before may end in a comment.
        text = f"{text[:offset].rstrip()}\n{terms} {text[offset:]}"
    return text


def _terms(block: Limited) -> str:
    terms = ", ".join(f"{i + 1} ASC NULLS LAST" for i in range(block.columns))
    return f", {terms}" if block.ordered else f"ORDER BY {terms}"


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
