"""Where a text tells of sequences: statements that create and drop them, and calls for their numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from collections.abc import Sequence as Tokens

from sqlglot.tokenizer_core import Token

from ivm.catalog.names import as_literal, key
from ivm.sql.words import is_about


def is_about_sequence(tokens: Tokens[Token]) -> bool:
    """Whether a statement that begins so creates or drops a sequence."""
    return is_about(tokens, ("SEQUENCE",))


NEXT = "nextval"
CALLS = (NEXT, "currval")
_CALL = re.compile(r"\b(nextval|currval)(\s*\(\s*)'((?:[^']|'')+)'(\s*\))", re.IGNORECASE)


def place_of_name(tokens: Tokens[Token]) -> tuple[int, int]:
    """Where the name stands in the tokens of a statement that creates or drops a sequence."""
    words = [token.text.upper() for token in tokens]
    begin = words.index("SEQUENCE") + 1
    for more in (["IF", "NOT", "EXISTS"], ["IF", "EXISTS"]):
        begin += len(more) if words[begin : begin + len(more)] == more else 0
    end = begin + 1
    while words[end : end + 1] == ["."]:
        end += 2
    return begin, end


def numbers_called(text: str) -> list[tuple[str, str]]:
    """What a text calls of sequences: "nextval" or "currval", and the name as it is written. Cost: a search."""
    if "val" not in key(text):
        return []
    return [(key(found[1]), found[3].replace("''", "'")) for found in _CALL.finditer(text)]


def renamed_calls(text: str, meant: Callable[[str], str | None]) -> str:
    """The text with the sequences `meant` in the place of names as they are written; None: it stays."""

    def renamed(found: re.Match[str]) -> str:
        name = meant(found[3].replace("''", "'"))
        return found[0] if name is None else f"{found[1]}{found[2]}{as_literal(name)}{found[4]}"

    return _CALL.sub(renamed, text)


def only_next(text: str) -> str | None:
    """The name of a sequence, as it is written, where a text is nextval of it and nothing else."""
    found = _CALL.fullmatch(text.strip())
    return found[3].replace("''", "'") if found is not None and key(found[1]) == NEXT else None
