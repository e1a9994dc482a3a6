"""Exact evaluation of a call over literals in plain Python: what `fold_constants` may compute ahead of the runtime.

Only the functions and types whose results are the same wherever they are computed. Anything else, and anything that
would raise, is left to the runtime, which knows whether a row ever asks for it.
"""

from __future__ import annotations

import math
import operator
from calendar import monthrange
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from typing import Any

from catalog.types import Kind, SqlType
from ivm.analysis.ranges import is_exact, limits, rescale
from sql.ir.scalar import Call, Literal, Value
from sql.types.calendar import days_of, is_plain, micros_of
from sql.types.single import single

_EPOCH = date(1970, 1, 1)
_DAY = 86_400_000_000


class NotFoldableError(Exception):
    """The call has no value, or none that is safe to compute here."""


def evaluated(call: Call) -> Literal | None:
    """The value of a call whose arguments are literals; None if it cannot or must not be computed ahead of time."""
    values = [arg.value for arg in call.args if isinstance(arg, Literal)]
    rule = _RULES.get(call.function)
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


def _arithmetic(function: Callable[[Any, Any], Any]) -> Callable[[Call, Sequence[Any]], Value]:
    return lambda call, values: function(*values)


def _comparison(function: Callable[[Any, Any], bool]) -> Callable[[Call, Sequence[Any]], Value]:
    return lambda call, values: function(*map(_ordered, values))


def _ordered(value: Value) -> Any:
    """Text compares by its bytes; NaN has an order that Python's floats do not know."""
    if isinstance(value, float) and math.isnan(value):
        raise NotFoldableError
    return value.encode() if isinstance(value, str) else value


def _divided(call: Call, values: Sequence[Any]) -> Value:
    if values[1] == 0:
        raise NotFoldableError
    return float(values[0] / values[1])


def _truncated(left: int, right: int) -> int:
    if right == 0:
        raise NotFoldableError
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _remainder(left: Any, right: Any) -> Any:
    if isinstance(left, float):
        if right == 0 or not math.isfinite(left):
            raise NotFoldableError
        return math.fmod(left, right)
    return left - _truncated(left, right) * right


def _in(call: Call, values: Sequence[Any]) -> Value:
    return _ordered(values[0]) in [_ordered(v) for v in values[1:]]


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
            return int(value * _DAY)
        case Kind.TIMESTAMP | Kind.TIMESTAMPTZ, Kind.DATE:
            return int(value // _DAY)
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


def _day_of(value: int, type_: SqlType) -> tuple[date, int]:
    """The date, and the microseconds after its midnight."""
    days, micros = divmod(value, _DAY) if type_.kind is Kind.TIMESTAMP else (value, 0)
    return _EPOCH + timedelta(days=days), micros


def _add_months(call: Call, values: Sequence[Any]) -> Value:
    type_ = call.args[0].type
    day, micros = _day_of(values[0], type_)
    year, month = divmod(day.year * 12 + day.month - 1 + values[1], 12)
    moved = date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))
    days = (moved - _EPOCH).days
    return days * _DAY + micros if type_.kind is Kind.TIMESTAMP else days


def _extract(call: Call, values: Sequence[Any]) -> Value:
    day, _ = _day_of(values[1], call.args[1].type)
    parts = {"year": day.year, "month": day.month, "day": day.day, "quarter": (day.month + 2) // 3}
    if values[0] not in parts:
        raise NotFoldableError
    return parts[values[0]]


_RULES: dict[str, Callable[[Call, Sequence[Any]], Value]] = {
    "add": _arithmetic(operator.add),
    "sub": _arithmetic(operator.sub),
    "mul": _arithmetic(operator.mul),
    "neg": lambda call, values: -values[0],
    "abs": lambda call, values: abs(values[0]),
    "div": _divided,
    "idiv": _arithmetic(_truncated),
    "mod": _arithmetic(_remainder),
    "eq": _comparison(operator.eq),
    "ne": _comparison(operator.ne),
    "lt": _comparison(operator.lt),
    "le": _comparison(operator.le),
    "gt": _comparison(operator.gt),
    "ge": _comparison(operator.ge),
    "is_distinct": _comparison(operator.ne),
    "not": lambda call, values: not values[0],
    "in": _in,
    "cast": _cast,
    "add_days": _arithmetic(operator.add),
    "add_micros": _arithmetic(operator.add),
    "days_between": lambda call, values: values[0] - values[1],
    "add_months": _add_months,
    "extract": _extract,
}
