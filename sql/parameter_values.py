"""Values of Python as literals of SQL, of the types that DuckDB gives them."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from itertools import count
from typing import Any
from uuid import UUID

from sqlglot import exp

from ivm.catalog.intervals import interval_text, packed
from ivm.catalog.types import MAX_DIGITS

MOST_VALUES = 100_000
"""So many values a list or dict may hold, with those within it: more are rows for a table."""
_MOST_LEVELS = 100


class NoLiteralError(Exception):
    """A value has no literal; the message says what it is, and what to give."""


def literal_of(value: Any) -> exp.Expr:
    """The literal of a value; NoLiteralError if it has none.

    It is None, a bool, int, float, Decimal, str, bytes, UUID, date, datetime (with a time zone a TIMESTAMPTZ),
    timedelta or time, or one of numpy's; a list or tuple of such, which is a list; or a dict, which is a STRUCT, but
    {} and {'key': [..], 'value': [..]} are MAPs, as in DuckDB. Cost: some microseconds for each value.
    """
    return _literal(value, 0, count())


def _literal(value: Any, level: int, values: count[int]) -> exp.Expr:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple | dict):
        return _nested(value, level, values)
    make = next((make for kind, make in _MAKE if isinstance(value, kind)), None)
    literal = make(value) if make is not None else None
    if literal is not None:
        return literal
    shown = f"is a {type(value).__name__}" if make is None else f"is {value!s}"
    kinds = "None, bool, int, float, Decimal, str, bytes, UUID, date, datetime, timedelta, or time without a time zone"
    where = " within a list or dict" if level else ""
    raise NoLiteralError(f"{shown}{where}, which has no literal; give {kinds}, or lists and dicts of them")


def _nested(value: list[Any] | tuple[Any, ...] | dict[Any, Any], level: int, values: count[int]) -> exp.Expr:
    if level == _MOST_LEVELS:
        raise NoLiteralError(f"has more than {_MOST_LEVELS} levels of lists and dicts, or holds itself; give fewer")

    def made(each: Any) -> exp.Expr:
        if next(values) >= MOST_VALUES:
            raise NoLiteralError(
                f"holds more than {MOST_VALUES:,} values; insert them as rows, and join with the table"
            )
        return _literal(each, level + 1, values)

    if not isinstance(value, dict):
        return exp.Array(expressions=list(map(made, value)))
    if not value or _is_map(value):
        pairs = zip(value.get("key", ()), value.get("value", ()), strict=True)
        entries = [exp.PropertyEQ(this=made(key), expression=made(item)) for key, item in pairs]
        return exp.ToMap(this=exp.Struct(expressions=entries))
    fields = ((exp.to_identifier(str(name), quoted=True), made(each)) for name, each in value.items())
    return exp.Struct(expressions=[exp.PropertyEQ(this=name, expression=each) for name, each in fields])


def _is_map(value: dict[Any, Any]) -> bool:
    keys, items = value.get("key"), value.get("value")
    return len(value) == 2 and isinstance(keys, list) and isinstance(items, list) and len(keys) == len(items)


def _text_as(text: str, type_: exp.DataType | exp.DType) -> exp.Expr:
    return exp.cast(exp.Literal.string(text), type_)


def _of_int(value: int) -> exp.Expr:
    literal = exp.Literal.number(abs(value))
    return exp.Paren(this=exp.Neg(this=literal)) if value < 0 else literal


def _of_float(value: float) -> exp.Expr:
    if not math.isfinite(value):
        return _text_as(repr(value), exp.DType.DOUBLE)
    digits = repr(abs(value))
    literal = exp.Literal.number(digits if "e" in digits else f"{digits}e0")
    return exp.Paren(this=exp.Neg(this=literal)) if math.copysign(1, value) < 0 else literal


def _of_decimal(value: Decimal) -> exp.Expr | None:
    if not value.is_finite():
        return None
    digits = f"{abs(value):f}"
    whole, _, fraction = digits.partition(".")
    scale = len(fraction)
    # A digit before the point, as literals have: without one DuckDB writes 0.5 as the text '.5'.
    precision = max(len(whole.lstrip("0")) + scale, min(scale + 1, MAX_DIGITS))
    if precision > MAX_DIGITS:
        return None
    sign = "-" if value < 0 else ""
    type_ = exp.DataType.build(f"DECIMAL({precision}, {scale})")
    return _text_as(sign + digits, type_)


def _of_datetime(value: datetime) -> exp.Expr | None:
    if value.tzinfo is not None:
        try:
            utc = value.astimezone(UTC).replace(tzinfo=None)
        except OverflowError:  # it is in another year there, which Python has not
            return None
        return _text_as(f"{utc.isoformat(sep=' ')}+00", exp.DType.TIMESTAMPTZ)
    has_nanos = getattr(value, "nanosecond", 0)  # pandas'
    return _text_as(value.isoformat(sep=" "), exp.DType.TIMESTAMP_NS if has_nanos else exp.DType.TIMESTAMP)


def _span(value: timedelta) -> str:
    return interval_text(packed(0, value.days, value.seconds * 1_000_000 + value.microseconds))


_MAKE: tuple[tuple[type[Any], Callable[[Any], exp.Expr | None]], ...] = (
    (type(None), lambda value: exp.Null()),
    (bool, lambda value: exp.Boolean(this=value)),
    (int, _of_int),
    (float, _of_float),
    (Decimal, _of_decimal),
    (str, exp.Literal.string),
    (bytes, lambda value: _text_as("".join(f"\\x{byte:02X}" for byte in value), exp.DType.VARBINARY)),
    (UUID, lambda value: _text_as(str(value), exp.DType.UUID)),
    (datetime, _of_datetime),
    (timedelta, lambda value: _text_as(_span(value), exp.DType.INTERVAL)),
    (time, lambda value: None if value.tzinfo is not None else _text_as(value.isoformat(), exp.DType.TIME)),
    (date, lambda value: _text_as(value.isoformat(), exp.DType.DATE)),
)
"""How a value of each type is written; None where it has no literal."""
