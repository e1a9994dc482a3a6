"""The rarer functions of numbers and of dates in the model."""

from __future__ import annotations

import calendar
import math
from collections.abc import Callable
from datetime import date, datetime
from fractions import Fraction

from ivm.catalog.errors import NumericError
from ivm.catalog.types import DATE, TIMESTAMP
from ivm.sql.ir.scalar import Call, Value
from tests.model.values import DAY, from_engine, to_engine


def _double(function: Callable[..., float]) -> Callable[[Call, list], Value]:  # type: ignore[type-arg]
    """NaN where Python raises."""

    def apply(call: Call, args: list) -> Value:  # type: ignore[type-arg]
        try:
            return function(*args)
        except OverflowError:
            return math.copysign(math.inf, args[0])
        except (ValueError, ZeroDivisionError):
            return math.nan

    return apply


def _log(of: float, function: Callable[[float], float]) -> float:
    return -math.inf if of == 0 else function(of)


def _quotient(a: float, b: float) -> float:
    return a / b if b else math.nan if a == 0 else math.copysign(math.inf, a) * math.copysign(1, b)


def _atanh(x: float) -> float:
    return math.copysign(math.inf, x) if abs(x) == 1 else math.atanh(x)


def _truncated(call: Call, args: list) -> Value:  # type: ignore[type-arg]
    digits = args[1] if len(args) > 1 else 0
    source = call.args[0].type
    if source.is_float:
        if not math.isfinite(args[0]):
            return args[0]
        power = 10.0 ** abs(digits)
        scaled = args[0] / power if digits < 0 else args[0] * power
        if math.isinf(scaled):
            return args[0]
        return float(math.trunc(scaled)) * power if digits < 0 else math.trunc(scaled) / power
    exact = Fraction(args[0], 10**source.scale)
    kept = Fraction(math.trunc(exact * Fraction(10) ** digits)) / Fraction(10) ** digits
    return int(kept * 10**call.type.scale)


def _shift_left(call: Call, args: list) -> Value:  # type: ignore[type-arg]
    x, y = args
    if x < 0 or y < 0 or (y >= call.type.kind.bits and x):
        raise NumericError("no such shift")
    return int(x << y) if x else 0


def _shift_right(call: Call, args: list) -> Value:  # type: ignore[type-arg]
    return int(args[0] >> args[1]) if 0 <= args[1] < call.type.kind.bits else 0


def _factorial(call: Call, args: list) -> Value:  # type: ignore[type-arg]
    if not 0 <= args[0] <= 33:
        raise NumericError("out of range")
    return math.factorial(args[0])


def _moment(value: int, call: Call) -> datetime:
    found = from_engine(value, call.args[1].type)
    return found if isinstance(found, datetime) else datetime(found.year, found.month, found.day)


_MICROS = {"hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000, "millisecond": 1000, "microsecond": 1}
_MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200, "millennium": 12000}


def _date_diff(call: Call, args: list) -> Value:  # type: ignore[type-arg]
    part = args[0]
    a, b = (_moment(value, call) for value in args[1:])
    if part in _MICROS:
        low, high = (int(to_engine(m, TIMESTAMP)) for m in (a, b))  # type: ignore[arg-type]
        return high // _MICROS[part] - low // _MICROS[part]
    days = (b.date() - a.date()).days
    if part in ("day", "week"):
        return days if part == "day" else math.trunc(Fraction(days, 7))
    if part == "isoyear":
        return b.isocalendar().year - a.isocalendar().year
    size = _MONTHS[part]
    low, high = (m.year * 12 + m.month - 1 if size < 12 else m.year for m in (a, b))
    unit = size if size < 12 else size // 12
    return high // unit - low // unit


def _date_sub(call: Call, args: list) -> Value:  # type: ignore[type-arg]
    part, a, b = args
    if part in ("day", "week", *_MICROS):
        unit = {"day": DAY, "week": 7 * DAY, **_MICROS}[part]
        return math.trunc(Fraction(b - a, unit))
    low, high = sorted((a, b))
    months = 0
    while _months_later(low, months + 1, call) <= high:
        months += 1
    return (months if a <= b else -months) // 1 if part == "month" else math.trunc(
        Fraction(months if a <= b else -months, _MONTHS.get(part, 12))
    )  # fmt: skip


def _months_later(micros: int, months: int, call: Call) -> int:
    moment = _moment(micros, call)
    year, month = divmod(moment.year * 12 + moment.month - 1 + months, 12)
    if year > 9999:
        return 2**63
    last = calendar.monthrange(year, month + 1)[1]
    return int(to_engine(moment.replace(year=year, month=month + 1, day=min(moment.day, last)), TIMESTAMP))  # type: ignore[arg-type]


def _last_day(call: Call, args: list) -> Value:  # type: ignore[type-arg]
    day = from_engine(args[0], DATE)
    return to_engine(day.replace(day=calendar.monthrange(day.year, day.month)[1]), DATE)


def _make_date(call: Call, args: list) -> Value:  # type: ignore[type-arg]
    try:
        return to_engine(date(*args), DATE)
    except ValueError as reason:
        raise NumericError(str(reason)) from reason


FUNCTIONS: dict[str, Callable[[Call, list], Value]] = {  # type: ignore[type-arg]
    **{
        name: _double(getattr(math, name))
        for name in ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh")
    },
    **{name: _double(getattr(math, name)) for name in ("asinh", "acosh", "cbrt", "degrees", "radians", "atan2")},
    "atanh": _double(_atanh),
    "cot": _double(lambda x: _quotient(1.0, math.tan(x))),
    "log2": _double(lambda x: _log(x, math.log2)),
    "log10": _double(lambda x: _log(x, math.log10)),
    "log": _double(lambda base, x: _quotient(_log(x, math.log10), _log(base, math.log10))),
    "even": _double(lambda x: math.copysign(math.ceil(abs(x) / 2) * 2, x) if math.isfinite(x) else x),
    "is_nan": lambda call, args: math.isnan(args[0]),
    "is_inf": lambda call, args: math.isinf(args[0]),
    "is_finite": lambda call, args: math.isfinite(args[0]),
    "sign": lambda call, args: (args[0] > 0) - (args[0] < 0),
    "trunc": _truncated,
    "bit_and": lambda call, args: args[0] & args[1],
    "bit_or": lambda call, args: args[0] | args[1],
    "xor": lambda call, args: args[0] ^ args[1],
    "bit_not": lambda call, args: ~args[0],
    "bit_count": lambda call, args: (args[0] & (2 ** call.args[0].type.kind.bits - 1)).bit_count(),
    "shift_left": _shift_left,
    "shift_right": _shift_right,
    "gcd": lambda call, args: math.gcd(*args),
    "lcm": lambda call, args: math.lcm(*args),
    "factorial": _factorial,
    "date_diff": _date_diff,
    "date_sub": _date_sub,
    "last_day": _last_day,
    "make_date": _make_date,
    "micros_between": lambda call, args: args[0] - args[1],
    "to_micros": lambda call, args: args[0],
    "from_micros": lambda call, args: args[0],
}
