"""The text form of scalar expressions; see `sql.ir.text` for the form as a whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from catalog.calendar import date_text, time_text, timestamp_text
from catalog.names import as_literal
from catalog.types import Kind, SqlType
from sql.ir.blobs import ANY_BYTES, blob_text
from sql.ir.functions import function_of
from sql.ir.scalar import Call, Column, Literal, Outer, Scalar, Value

_BINDING = {
    "OR": 1, "AND": 2, "=": 4, "<>": 4, "<": 4, "<=": 4, ">": 4, ">=": 4, "IS DISTINCT FROM": 4, "+": 5, "-": 5, "*": 6,
    "/": 6, "//": 6, "%": 6,
}  # fmt: skip
"""How tightly an operator binds."""
_NOT = 3
_TEST = 4
_SIGN = 7
_ATOM = 8
AND = _BINDING["AND"]
"""How tightly AND binds."""


def scalar_text(scalar: Scalar, names: Sequence[str] = ()) -> str:
    """The expression in one line; `names[i]` is shown beside column i, if it has an entry there."""
    return _text(scalar, names)[0]


def literal_text(value: Value, type_: SqlType) -> str:
    """The constant as SQL writes it; DOUBLE always with an exponent, so that it cannot be taken for DECIMAL."""
    if value is None:
        return "NULL"
    match type_.kind:
        case Kind.BOOLEAN:
            return "TRUE" if value else "FALSE"
        case Kind.VARCHAR:
            return as_literal(str(value))
        case Kind.UUID:
            return f"UUID {as_literal(str(value))}"
        case Kind.ENUM:
            return f"{as_literal(type_.labels[int(value)])}::{type_}"
        case Kind.BLOB:
            return f"{as_literal(blob_text(str(value).encode(errors=ANY_BYTES)))}::BLOB"
        case Kind.DECIMAL:
            return _decimal(int(value), type_.scale)
        case Kind.DATE:
            return f"DATE '{date_text(int(value))}'"
        case Kind.TIMESTAMP | Kind.TIMESTAMPTZ:
            return f"{type_.kind.name} '{timestamp_text(int(value))}'"
        case Kind.TIME:
            return f"TIME '{time_text(int(value))}'"
        case Kind.FLOAT | Kind.DOUBLE:
            text = repr(float(value))
            return text if text[-1] in "fn" or "e" in text else text + "e0"
    return str(value)


def column_text(index: int, names: Sequence[str]) -> str:
    """The column by its position, and by its name if it has one in `names`."""
    return f"#{index}:{names[index]}" if index < len(names) else f"#{index}"


def _text(scalar: Scalar, names: Sequence[str]) -> tuple[str, int]:
    """The text and how tightly its outermost operator binds."""
    match scalar:
        case Column():
            return column_text(scalar.index, names), _ATOM
        case Literal():
            text = literal_text(scalar.value, scalar.type)
            return text, _SIGN if text.startswith("-") else _ATOM
        case Outer():
            return f"outer {scalar.binding}.#{scalar.index}", _ATOM
    symbol = function_of(scalar.function).symbol
    if symbol is not None and len(scalar.args) > 1:
        return _infix(scalar, symbol, names)
    form = _FORMS.get(scalar.function)
    if form is not None:
        return form(scalar, names)
    return f"{scalar.function}({', '.join(scalar_text(a, names) for a in scalar.args)})", _ATOM


def operand_text(scalar: Scalar, names: Sequence[str], binding: int) -> str:
    """The text, in parentheses unless it binds tighter than its surroundings."""
    text, own = _text(scalar, names)
    return text if own > binding else f"({text})"


def _infix(call: Call, symbol: str, names: Sequence[str]) -> tuple[str, int]:
    binding = _BINDING[symbol]
    groups_left = binding > _TEST
    parts = [operand_text(a, names, binding - (groups_left and i == 0)) for i, a in enumerate(call.args)]
    return f" {symbol} ".join(parts), binding


def _not(call: Call, names: Sequence[str]) -> tuple[str, int]:
    return f"NOT {operand_text(call.args[0], names, _NOT - 1)}", _NOT


def _negative(call: Call, names: Sequence[str]) -> tuple[str, int]:
    return f"-{operand_text(call.args[0], names, _SIGN)}", _SIGN


def _is_null(call: Call, names: Sequence[str]) -> tuple[str, int]:
    return f"{operand_text(call.args[0], names, _TEST)} IS NULL", _TEST


def _in(call: Call, names: Sequence[str]) -> tuple[str, int]:
    values = ", ".join(scalar_text(a, names) for a in call.args[1:])
    return f"{operand_text(call.args[0], names, _TEST)} IN ({values})", _TEST


def _like(call: Call, names: Sequence[str]) -> tuple[str, int]:
    subject, pattern, *escape = (operand_text(a, names, _TEST) for a in call.args)
    suffix = f" ESCAPE {escape[0]}" if escape else ""
    return f"{subject} {call.function.upper()} {pattern}{suffix}", _TEST


def _cast(call: Call, names: Sequence[str]) -> tuple[str, int]:
    return f"CAST({scalar_text(call.args[0], names)} AS {call.type})", _ATOM


def _extract(call: Call, names: Sequence[str]) -> tuple[str, int]:
    part = call.args[0]
    word = part.value if isinstance(part, Literal) else scalar_text(part, names)
    return f"EXTRACT({word} FROM {scalar_text(call.args[1], names)})", _ATOM


def _case(call: Call, names: Sequence[str]) -> tuple[str, int]:
    texts = [scalar_text(a, names) for a in call.args]
    arms = "".join(f" WHEN {c} THEN {v}" for c, v in zip(texts[:-1:2], texts[1::2], strict=True))
    return f"CASE{arms} ELSE {texts[-1]} END", _ATOM


_FORMS: dict[str, Callable[[Call, Sequence[str]], tuple[str, int]]] = {
    "not": _not,
    "neg": _negative,
    "is_null": _is_null,
    "in": _in,
    "like": _like,
    "ilike": _like,
    "cast": _cast,
    "extract": _extract,
    "case": _case,
}


def _decimal(scaled: int, scale: int) -> str:
    digits = str(abs(scaled)).rjust(scale + 1, "0")
    sign = "-" if scaled < 0 else ""
    return f"{sign}{digits[:-scale]}.{digits[-scale:]}" if scale else f"{sign}{digits}"
