"""Where a text tells of sequences: statements that create and drop them, and calls for their numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence as Tokens

from sqlglot.tokenizer_core import Token

from catalog.names import key
from sql.words import is_about


def is_about_sequence(tokens: Tokens[Token]) -> bool:
    """Whether a statement that begins so creates or drops a sequence."""
    return is_about(tokens, ("SEQUENCE",))


_CALL = re.compile(r"\b(nextval|currval)\s*\(\s*'(?:\"?main\"?\.)?\"?((?:[^'\"]|'')+)\"?'\s*\)", re.IGNORECASE)
NEXT = "nextval"


def numbers_called(text: str) -> list[tuple[str, str]]:
    """What a text calls of sequences: "nextval" or "currval", and the key of the name. Cost: a search."""
    if "val" not in text and "VAL" not in text:
        return []
    return [(key(call), key(name.replace("''", "'"))) for call, name in _CALL.findall(text)]


def in_one_schema(text: str) -> str:
    """The text with the names of sequences without that of their schema."""
    return _CALL.sub(lambda found: f"{found[1]}('{found[2]}')", text)


def only_next(text: str) -> str | None:
    """The key of a sequence, where a text is nextval of it and nothing else."""
    found = _CALL.fullmatch(text.strip())
    return key(found[2]) if found is not None and key(found[1]) == NEXT else None
