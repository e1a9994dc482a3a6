"""COMMENT ON, by its tokens."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from ivm.sql.schema_statements import CommentOn
from ivm.sql.sql_text import SqlText

_WRITE = "COMMENT ON TABLE | VIEW | COLUMN name IS 'text' | NULL"
_TEXTS = frozenset([TokenType.STRING, TokenType.RAW_STRING, TokenType.HEREDOC_STRING, TokenType.NULL])


def place_of_name(tokens: Sequence[Token]) -> tuple[int, int]:
    """Between which tokens of COMMENT ON the name of a table or view stands; none if it is not read."""
    words = [token.text.upper() for token in tokens]
    begin = 4 if words[2:4] == ["MATERIALIZED", "VIEW"] else 3
    if words[1:2] != ["ON"] or "IS" not in words[begin:]:
        return 0, 0
    end = words.index("IS", begin)
    return begin, end - 2 if words[2] == "COLUMN" else end


def comment_on(tokens: Sequence[Token], source: SqlText) -> CommentOn:
    """The statement of these tokens. ParseError for what is none; UnsupportedError for what has no comments here."""
    begin, end = place_of_name(tokens)
    kind = tokens[begin - 1].text.upper() if begin else ""
    if begin and kind not in ("TABLE", "VIEW", "COLUMN"):
        source.refuse(tokens[2].start, f"COMMENT ON {kind} is not supported; tables, views and columns have comments")
    is_column = kind == "COLUMN"
    rest = tokens[end + 2 * is_column + 1 :]
    if end != begin + 1 or len(rest) != 1 or rest[0].token_type not in _TEXTS:
        source.misread(tokens[0].start, f"cannot read this COMMENT; write {_WRITE}")
    text = None if rest[0].token_type == TokenType.NULL else rest[0].text
    return CommentOn(tokens[begin].text, tokens[end + 1].text if is_column else "", text)
