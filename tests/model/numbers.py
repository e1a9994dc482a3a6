"""Arithmetic of the model: exact integers (DECIMAL scaled), IEEE doubles. Ranges are checked by the caller."""

from __future__ import annotations

import math
from collections.abc import Callable

from ivm.catalog.errors import NumericError
from ivm.sql.ir.scalar import Call, Value


def divide_away(value: int, divisor: int) -> int:
    """The quotient by a positive divisor, halves rounded away from zero."""
    quotient = (2 * abs(value) + divisor) // (2 * divisor)
    return quotient if value >= 0 else -quotient


def round_away(value: float) -> float:
    """The nearest whole number, halves away from zero; NaN and infinities as they are."""
    if not math.isfinite(value) or abs(value) >= 2**52:
        return value
    whole = math.floor(abs(value))
    whole += abs(value) - whole >= 0.5
    return math.copysign(whole, value)


def truncated(left: int, right: int) -> int:
    """Integer division towards zero."""
    if right == 0:
        raise NumericError("division by zero")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _divide(call: Call, args: list[float]) -> float:
    left, right = args
    if right == 0:
        return math.nan if left == 0 or math.isnan(left) else math.copysign(math.inf, left) * math.copysign(1, right)
    return left / right


def _modulo(call: Call, args: list[int]) -> Value:
    if call.type.is_float:
        return math.nan if args[1] == 0 or math.isinf(args[0]) else math.fmod(*args)
    return args[0] - truncated(*args) * args[1]


def _multiply(call: Call, args: list[int]) -> int:
    return args[0] * args[1]


def _round(call: Call, args: list[int]) -> Value:
    digits = args[1] if len(args) > 1 else 0
    source = call.args[0].type
    if source.is_float:
        power = 10.0**digits
        return round_away(args[0] * power) / power
    drop = source.scale - digits
    kept = divide_away(args[0], 10**drop) if drop > 0 else args[0]
    places = digits if drop > 0 else source.scale
    return int(kept * 10 ** (call.type.scale - places))


def _whole(call: Call, value: float, towards: Callable[[float], float], up: bool) -> Value:
    source = call.args[0].type
    if source.is_float:
        return float(towards(value)) if math.isfinite(value) else value
    unit = int(10**source.scale)
    return -(-int(value) // unit) if up else int(value) // unit


def _float(function: Callable[..., float], at_fault: float) -> Callable[[Call, list[float]], float]:
    """IEEE behaviour around a function of Python's that raises instead."""

    def apply(call: Call, args: list[float]) -> float:
        try:
            return function(*args)
        except OverflowError:
            return math.inf
        except (ValueError, ZeroDivisionError):
            return at_fault

    return apply


def _log(value: float) -> float:
    return -math.inf if value == 0 else math.log(value)


def _power(base: float, exponent: float) -> float:
    return math.inf if base == 0 and exponent < 0 else math.pow(base, exponent)


FUNCTIONS: dict[str, Callable[[Call, list], Value]] = {  # type: ignore[type-arg]
    "add": lambda call, args: args[0] + args[1],
    "sub": lambda call, args: args[0] - args[1],
    "mul": _multiply,
    "neg": lambda call, args: -args[0],
    "abs": lambda call, args: abs(args[0]),
    "div": _divide,
    "idiv": lambda call, args: truncated(*args),
    "mod": _modulo,
    "round": _round,
    "floor": lambda call, args: _whole(call, args[0], math.floor, up=False),
    "ceil": lambda call, args: _whole(call, args[0], math.ceil, up=True),
    "sqrt": _float(math.sqrt, math.nan),
    "ln": _float(_log, math.nan),
    "exp": _float(math.exp, math.nan),
    "power": _float(_power, math.nan),
}
