"""Exact evaluation of a call over literals in plain Python: what `fold_constants` may compute ahead of the runtime.

Only the functions and types whose results are the same wherever they are computed. Anything else, and anything that
would raise, is left to the runtime, which knows whether a row ever asks for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from catalog.calendar import DAY
from catalog.types import Kind, SqlType
from sql.ir.functions import NotFoldableError, function_of
from sql.ir.limits import is_exact, limits, rescale
from sql.ir.scalar import Call, Literal, Value
from sql.types.calendar import days_of, is_plain, micros_of
from sql.types.single import single


def evaluated(call: Call) -> Literal | None:
    """The value of a call whose arguments are literals; None if it cannot or must not be computed ahead of time."""
    values = [arg.value for arg in call.args if isinstance(arg, Literal)]
    rule = _cast if call.function == "cast" else function_of(call.function).value
    if rule is None or len(values) < len(call.args) or None in values:
        return None
    try:
        return Literal(_checked(rule(call, values), call.type), call.type)
    except (NotFoldableError, OverflowError, ValueError):
        return None


def _checked(value: Value, type_: SqlType) -> Value:
    if is_exact(type_):
        least, greatest = limits(type_)
        if not least <= int(value) <= greatest:  # type: ignore[arg-type]
            raise NotFoldableError
    if type_.is_float:
        value = float(value) if type_.kind is Kind.DOUBLE else single(float(value))  # type: ignore[arg-type]
        if not math.isfinite(value):
            raise NotFoldableError
    return value


def _cast(call: Call, values: Sequence[Any]) -> Value:
    source, target, value = call.args[0].type, call.type, values[0]
    if source == target:
        return value
    match source.kind, target.kind:
        case Kind.VARCHAR, Kind.DATE:
            return days_of(_plain(value))
        case Kind.VARCHAR, Kind.TIMESTAMP:
            return micros_of(_plain(value))
        case Kind.DATE, Kind.TIMESTAMP | Kind.TIMESTAMPTZ:
            return int(value * DAY)
        case Kind.TIMESTAMP | Kind.TIMESTAMPTZ, Kind.DATE:
            return int(value // DAY)
        case (Kind.TIMESTAMP, Kind.TIMESTAMPTZ) | (Kind.TIMESTAMPTZ, Kind.TIMESTAMP):
            return value
    if not (_is_exact_number(source) and (_is_exact_number(target) or target.kind is Kind.DOUBLE)):
        raise NotFoldableError
    if target.is_float:
        if abs(value) >= 2**53:  # the runtime may round such a value in two steps
            raise NotFoldableError
        return float(value / 10**source.scale)
    return rescale(value, target.scale - source.scale)


def _plain(text: str) -> str:
    """The text of a date or timestamp that everyone reads alike."""
    if not is_plain(text):
        raise NotFoldableError
    return text


def _is_exact_number(type_: SqlType) -> bool:
    return type_.is_integer or type_.kind is Kind.DECIMAL
