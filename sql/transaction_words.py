"""What statements about transactions begin with, by tokens."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token

STARTS = frozenset(["BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT"])


def is_about_transaction(tokens: Sequence[Token]) -> bool:
    """Whether a statement that begins so begins or ends a transaction."""
    return tokens[0].text.upper() in STARTS
