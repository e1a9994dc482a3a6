"""The names of collations in a text: DuckDB takes `NOCASE` and `nocase` for two, which do not meet."""

from __future__ import annotations

import re

from ivm.catalog.names import key
from ivm.sql.edits import edited
from ivm.sql.sql_text import SqlText
from ivm.sql.syntax import dialect_named, statement_tokens

_NAMED = re.compile(r'\s*"?[\w.]+"?')


def with_plain_collations(text: str, dialect: str = "duckdb") -> str:
    """The text with each collation behind COLLATE in lower case, as columns have theirs; all else stays at its place.

    Cost: a search; that of tokens where the text has the word.
    """
    if "collate" not in key(text):
        return text
    tokens = statement_tokens(dialect_named(dialect), SqlText(text))
    found = [_NAMED.match(text, token.end + 1) for token in tokens if token.text.upper() == "COLLATE"]
    return edited(text, [(name.start(), name.end(), name[0].lower()) for name in found if name is not None])
