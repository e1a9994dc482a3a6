"""Parameters: ?, $1 and $name in a text, replaced by the values given for them, as literals."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from ivm.catalog.errors import BindError, TypeMismatchError
from ivm.catalog.names import as_literal, suggestion
from ivm.sql.edits import edited
from ivm.sql.parameter_values import NoLiteralError, literal_of
from ivm.sql.sql_text import SqlText
from ivm.sql.syntax import dialect_named, statement_tokens

Parameters = Sequence[object] | Mapping[str, object]
"""Values by position (for ? and $1) or by name (for $name)."""

Place = tuple[int, int, str]
"""Where a parameter begins and ends in the text, and what it is called; '' for a ?."""


def filled(text: str, values: Parameters | None, dialect: str = "duckdb") -> str:
    """The text with a literal in the place of each parameter; the text itself if it has none.

    A value is one that `literal_of` takes. ? are counted over the whole text, which may hold several statements.
    BindError for a parameter without a value, a value without a parameter, or different kinds of parameters;
    TypeMismatchError for a value of another type.
    """
    if values is None and "?" not in text and "$" not in text:
        return text
    source = SqlText(text)
    reader = dialect_named(dialect)
    places = _places_in(text, dialect) if len(text) <= _MOST_CHARACTERS else _places(text, dialect)
    if values is None:
        if places:
            source.fail(places[0][0], "this parameter has no value; give one in params, as in db.sql(text, [1, 'a'])")
        return text
    chosen = _chosen(source, places, values)
    for (start, end, name), value in reversed(list(zip(places, chosen, strict=True))):
        whole = type(value) is int and value >= 0
        literal = str(value) if whole else _literal(source, start, name, value).sql(reader)
        text = text[:start] + literal + text[end:]
    return text


_MOST_CHARACTERS = 4000


def _places(text: str, dialect: str) -> tuple[Place, ...]:
    """The parameters of a text, in order."""
    found: list[Place] = []
    tokens: Sequence[Token] = statement_tokens(dialect_named(dialect), SqlText(text))
    before, is_prepared = TokenType.SEMICOLON, False
    for token, following in pairwise([*tokens, None]):
        assert token is not None, "None stands last"
        kind = token.token_type
        if before == TokenType.SEMICOLON:
            is_prepared = token.text.upper() == _PREPARE
        if is_prepared:  # its values come with EXECUTE
            before = kind
            continue
        if (kind == TokenType.PLACEHOLDER and token.text == "?") or (kind in _BEGIN_SO and before not in _END_VALUES):
            found.append((token.start, token.start + 1, ""))
            kind = TokenType.PLACEHOLDER
        elif kind == TokenType.PARAMETER and text[token.start] == "$":
            if following is not None and following.start == token.end + 1:
                found.append((token.start, following.end + 1, following.text))
        elif kind == TokenType.VAR and token.text.startswith("$"):
            found.append((token.start, token.end + 1, token.text[1:]))
        before = kind
    return tuple(found)


_PREPARE = "PREPARE"
_BEGIN_SO = frozenset((TokenType.QDCOLON, TokenType.QMARK_AMP, TokenType.QMARK_PIPE))
"""Operators such as ?:: and ?|, which some dialects have between values; elsewhere a ? stands there before :: or ||."""
_END_VALUES = frozenset((
    TokenType.VAR, TokenType.IDENTIFIER, TokenType.NUMBER, TokenType.STRING, TokenType.PLACEHOLDER, TokenType.R_PAREN,
    TokenType.R_BRACKET,
))  # fmt: skip

_places_in = lru_cache(512)(_places)


def _chosen(source: SqlText, places: Sequence[Place], values: Parameters) -> list[Any]:
    """The value of each place."""
    if type(values) in (list, tuple) and len(values) == len(places) and not any(name for _, _, name in places):
        return list(values)  # the rule
    kinds = {"?" if not name else "$1" if name.isdecimal() else "$name" for _, _, name in places}
    if len(kinds) > 1:
        what = f"{' and '.join(sorted(kinds))} cannot be mixed in one text; write all parameters in one way"
        source.fail(places[0][0], what)
    if isinstance(values, str | bytes) or not isinstance(values, Sequence | Mapping):
        raise BindError(f"params must be a list or a dict of values, not a {type(values).__name__}")
    if "$name" in kinds or (isinstance(values, Mapping) and not kinds):
        return _by_name(source, places, values)
    if isinstance(values, Mapping):
        source.fail(places[0][0], f"{kinds.pop()} takes its values by position; give params as a list, or write $name")
    numbers = [int(name) if name else i + 1 for i, (_, _, name) in enumerate(places)]
    wanted = max(numbers, default=0)
    if wanted != len(values) or 0 in numbers:
        counted = f"the text has {wanted} parameter{'s' * (wanted != 1)}, but {len(values)} values are given"
        source.fail(places[0][0] if places else None, f"{counted}; give one for each")
    return [values[number - 1] for number in numbers]


def _by_name(source: SqlText, places: Sequence[Place], values: Parameters) -> list[Any]:
    if not isinstance(values, Mapping):
        what = f"${places[0][2]} takes its value by name; give params as a dict, as in {{'{places[0][2]}': 1}}"
        source.fail(places[0][0], what)
    names = {name for _, _, name in places}
    for start, _, name in places:
        if name not in values:
            hint = suggestion(name, list(values)) or "; add it to params"
            source.fail(start, f"parameter ${name} has no value{hint}")
    for name in values:
        if name not in names:
            hint = suggestion(str(name), names)
            raise BindError(f"params hold a value for {str(name)!r}, but the text has no ${name}{hint}")
    return [values[name] for _, _, name in places]


def _literal(source: SqlText, start: int, name: str, value: Any) -> exp.Expr:
    try:
        return literal_of(value)
    except NoLiteralError as error:
        source.mismatch(start, f"{f'parameter ${name}' if name else 'this parameter'} {error}")


def filled_with_texts(text: str, values: Sequence[str] | Mapping[str, str]) -> str:
    """The text with the SQL of a value in the place of each parameter; BindError as for `filled`."""
    places = _places_in(text, "duckdb")
    chosen = _chosen(SqlText(text), places, values)
    return edited(text, [(start, end, value) for (start, end, _), value in zip(places, chosen, strict=True)])


def sql_of(value: object) -> str:
    """The SQL of a value, as `filled_with_texts` takes it; TypeMismatchError for one that has none."""
    plain = _PLAIN.get(type(value))
    found = None if plain is None else plain(value)
    try:
        return literal_of(value).sql("duckdb") if found is None else found
    except NoLiteralError as error:
        raise TypeMismatchError(f"this parameter {error}") from error


def parameters_in(text: str) -> int:
    """How many parameters a text has that count them: the highest of its $1, $2, .., or its ?s."""
    places = _places_in(text, "duckdb") if "$" in text or "?" in text else ()
    return max((int(name) for _, _, name in places if name.isdecimal()), default=len(places))


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
    datetime: lambda value: f"TIMESTAMP '{value.isoformat(sep=' ')}'" if value.tzinfo is None else None,
}
"""How a value is written that stands alone in a row. What it is cast to says the column, here as in `filled`."""
