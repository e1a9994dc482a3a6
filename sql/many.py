"""One statement for many sets of parameters."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from sqlglot.tokenizer_core import TokenType

from catalog.names import as_literal
from sql.parameters import Parameters, filled
from sql.sql_text import SqlText
from sql.syntax import dialect_named, statement_tokens

_ONLY_PLACES = re.compile(r"\(\s*\?\s*(?:,\s*\?\s*)*\)")


def filled_for_all(text: str, params: Iterable[Parameters]) -> Iterator[str]:
    """The text with each of the parameters' values; one INSERT of many rows where it is an INSERT of one.

    Raises as `filled` does. Cost: a microsecond a value where the row is (?, ?, ..), else some 50 for each set.
    """
    row = _row_to_insert(text)
    if row is None:
        for values in params:
            yield filled(text, values)
        return
    written = text[row]
    places = written.count("?") if _ONLY_PLACES.fullmatch(written) else 0
    rows = [_plain_row(values, places) or filled(written, values) for values in params]
    if rows:
        yield text[: row.start] + ", ".join(rows) + text[row.stop :]


def _row_to_insert(text: str) -> slice | None:
    """Where the one row of INSERT .. VALUES stands, with its parentheses, if no parameter stands anywhere else."""
    tokens = statement_tokens(dialect_named("duckdb"), SqlText(text))
    while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        tokens = tokens[:-1]
    kinds = [token.token_type for token in tokens]
    if not kinds or kinds[0] != TokenType.INSERT or TokenType.VALUES not in kinds or TokenType.SEMICOLON in kinds:
        return None
    first = kinds.index(TokenType.VALUES) + 1
    depth = 0
    for token in tokens[first:]:
        depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
        if depth == 0:
            row = slice(tokens[first].start, token.end + 1)
            around = text[: row.start] + text[row.stop :]
            following = text[row.stop :].lstrip().startswith(",")
            return None if following or "?" in around or "$" in around else row
    return None


def _plain_row(values: Parameters, places: int) -> str | None:
    """The values as a row of plain literals, which no reader has to take apart; None if not all of them have one."""
    if not isinstance(values, Sequence) or isinstance(values, str | bytes) or len(values) != places:
        return None
    literals = [make(value) if (make := _PLAIN.get(type(value))) else None for value in values]
    return None if None in literals else f"({', '.join(literals)})"  # type: ignore[arg-type]


def _float(value: float) -> str | None:
    if not math.isfinite(value):
        return None
    digits = repr(value)
    return digits if "e" in digits else f"{digits}e0"


def _decimal(value: Decimal) -> str | None:
    digits = f"{value:f}" if value.is_finite() else ""
    return digits if 0 < len(digits) <= _FEW_DIGITS else None


def _datetime(value: datetime) -> str | None:
    return f"TIMESTAMP '{value.isoformat(sep=' ')}'" if value.tzinfo is None else None


_FEW_DIGITS = 30
"""Numbers of more digits than DECIMAL has would be read as DOUBLE."""

_PLAIN: dict[type, Callable[[Any], str | None]] = {
    type(None): lambda value: "NULL",
    bool: lambda value: "TRUE" if value else "FALSE",
    int: str,
    float: _float,
    Decimal: _decimal,
    str: as_literal,
    date: lambda value: f"DATE '{value.isoformat()}'",
    datetime: _datetime,
}
"""How a value is written that stands alone in a row. What it is cast to says the column, here as in `filled`."""
