"""PREPARE, EXECUTE and DEALLOCATE, by the tokens of the statement."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from ivm.sql.connection_statements import Deallocate, Execute, Prepare
from ivm.sql.macro_words import NAMING, closing, parts
from ivm.sql.sql_text import SqlText


def prepare(tokens: Sequence[Token], source: SqlText) -> Prepare:
    """PREPARE name AS statement."""
    if len(tokens) < 4 or tokens[2].token_type != TokenType.ALIAS:
        source.misread(tokens[0].start, "cannot read this PREPARE; write PREPARE name AS SELECT ...")
    if tokens[3].text.upper() in ("PREPARE", "EXECUTE", "DEALLOCATE"):
        source.misread(tokens[3].start, f"{tokens[3].text.upper()} cannot be prepared; queries and changes can")
    return Prepare(tokens[1].text, source.text[tokens[3].start : tokens[-1].end + 1])


def execute(tokens: Sequence[Token], source: SqlText) -> Execute:
    """EXECUTE name, with arguments by position or by name in parentheses."""
    given = len(tokens) > 2 and tokens[2].token_type == TokenType.L_PAREN and closing(tokens, 2) == len(tokens) - 1
    if len(tokens) < 2 or (len(tokens) > 2 and not given):
        source.misread(tokens[0].start, "cannot read this EXECUTE; write EXECUTE name, or EXECUTE name(1, 'a')")
    positional, named = list[str](), dict[str, str]()
    for part in parts(tokens[3:-1]) if given else ():
        is_named = len(part) > 2 and part[1].token_type in NAMING
        rest = part[2:] if is_named else part
        if not rest:
            source.misread(tokens[2].start, "a value is missing in EXECUTE")
        if any(token.token_type == TokenType.SELECT for token in rest):
            source.refuse(rest[0].start, "EXECUTE takes values, no subqueries; put it into the prepared statement")
        text = source.text[rest[0].start : rest[-1].end + 1]
        value = text if len(rest) == 1 else f"({text})"
        if is_named:
            named[part[0].text] = value
        else:
            positional.append(value)
    if positional and named:
        source.fail(tokens[3].start, "EXECUTE takes all values by position, or all by name")
    return Execute(tokens[1].text, tuple(positional), tuple(named.items()))


def deallocate(tokens: Sequence[Token], source: SqlText) -> Deallocate:
    """DEALLOCATE [PREPARE] name."""
    rest = tokens[2:] if len(tokens) > 2 and tokens[1].text.upper() == "PREPARE" else tokens[1:]
    if len(rest) != 1:
        source.misread(tokens[0].start, "cannot read this DEALLOCATE; write DEALLOCATE name")
    return Deallocate(rest[0].text)
