"""Numbers: arithmetic, rounding, bits, and the functions of DOUBLE."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

from ivm.catalog.types import BOOLEAN, DOUBLE, HUGEINT, INTEGER, TINYINT
from ivm.sql.ir.functions.function import Function, NotFoldableError, Raises, of_values
from ivm.sql.ir.limits import Range
from ivm.sql.ir.scalar import Call, Literal, Value

_NEVER, _SOMETIMES, _OUT_OF_RANGE = Raises.NEVER, Raises.SOMETIMES, Raises.OUT_OF_RANGE


def sum_range(call: Call, args: list[Range]) -> Range:
    """Of a + b."""
    return args[0][0] + args[1][0], args[0][1] + args[1][1]


def difference_range(call: Call, args: list[Range]) -> Range:
    """Of a - b."""
    return args[0][0] - args[1][1], args[0][1] - args[1][0]


def _product(call: Call, args: list[Range]) -> Range:
    corners = [a * b for a in args[0] for b in args[1]]
    return min(corners), max(corners)


def _absolute(call: Call, args: list[Range]) -> Range:
    low, high = args[0]
    return (0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))


def _rounded(call: Call, args: list[Range]) -> Range:
    """Both neighbours at the digit that is kept, whichever of them round, trunc, floor or ceil takes."""
    source, target = call.args[0].type, call.type
    kept = args[1][0] if len(args) > 1 else 0
    cut = max(source.scale - kept, 0)
    back = target.scale - (source.scale - cut)
    (low, high), power = args[0], 10**cut
    return _shifted(low // power, back), _shifted(-(-high // power), back)


def _shifted(value: int, digits: int) -> int:
    return int(value * 10**digits if digits >= 0 else value // 10**-digits)


def _dividing(call: Call) -> Raises:
    divisor = call.args[1]
    safe = call.type.is_float or (isinstance(divisor, Literal) and divisor.value not in (0, -1, None))
    return _NEVER if safe else _SOMETIMES


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


_OF_DOUBLE = (
    *("sqrt", "cbrt", "ln", "log2", "log10", "exp", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh"),
    *("tanh", "asinh", "acosh", "atanh", "cot", "degrees", "radians", "even"),
)

FUNCTIONS = (
    # Of integers, DECIMAL of one scale, DOUBLE and FLOAT; the scale of a product is the sum of scales.
    Function("add", ("T", "T"), "T", raises=_OUT_OF_RANGE, range=sum_range, value=of_values(operator.add), symbol="+"),
    Function(
        "sub", ("T", "T"), "T", raises=_OUT_OF_RANGE, range=difference_range, value=of_values(operator.sub), symbol="-"
    ),
    Function("mul", ("A", "B"), "R", raises=_OUT_OF_RANGE, range=_product, value=of_values(operator.mul), symbol="*"),
    Function(
        "neg", ("T",), "T",
        raises=_OUT_OF_RANGE, range=lambda call, a: (-a[0][1], -a[0][0]), value=of_values(operator.neg),
    ),
    Function("abs", ("T",), "T", raises=_OUT_OF_RANGE, range=_absolute, value=of_values(abs)),
    Function("sign", ("T",), TINYINT),  # 0 for NaN
    # As IEEE has it: x / 0 is inf, 0 / 0 is NaN. idiv truncates; mod of DOUBLE by zero is NaN.
    Function("div", (DOUBLE, DOUBLE), DOUBLE, value=_divided, symbol="/"),
    Function("idiv", ("T", "T"), "T", raises=_dividing, value=of_values(_truncated), symbol="//"),
    Function("mod", ("T", "T"), "T", raises=_dividing, value=of_values(_remainder), symbol="%"),
    # To a number of digits after the point, or before it if negative.
    Function("round", ("T", "literal"), "R", raises=_OUT_OF_RANGE, range=_rounded),
    Function("trunc", ("T", "literal"), "R", range=_rounded),
    Function("floor", ("T",), "R", raises=_OUT_OF_RANGE, range=_rounded),
    Function("ceil", ("T",), "R", raises=_OUT_OF_RANGE, range=_rounded),
    # Of integers.
    Function("bit_and", ("T", "T"), "T"),
    Function("bit_or", ("T", "T"), "T"),
    Function("xor", ("T", "T"), "T"),
    Function("bit_not", ("T",), "T"),
    Function("bit_count", ("T",), TINYINT),
    # A shift to the left raises for a negative argument, a shift by the type's width and more, and an overflow; one to
    # the right is 0 where it is negative or the type's width and more.
    Function("shift_left", ("T", "T"), "T", raises=_SOMETIMES),
    Function("shift_right", ("T", "T"), "T"),
    Function("gcd", ("T", "T"), "T", raises=_SOMETIMES),
    Function("lcm", ("T", "T"), "T", raises=_SOMETIMES),
    Function("factorial", (INTEGER,), HUGEINT, ("factorial",), raises=_SOMETIMES),
    # NaN outside their domain, never an error.
    *(Function(name, (DOUBLE,), DOUBLE, (name,)) for name in _OF_DOUBLE),
    Function("power", (DOUBLE, DOUBLE), DOUBLE, ("power", "pow")),
    Function("atan2", (DOUBLE, DOUBLE), DOUBLE, ("atan2",)),
    Function("log", (DOUBLE, DOUBLE), DOUBLE),  # the base comes first
    Function("is_nan", (DOUBLE,), BOOLEAN, ("isnan",)),
    Function("is_inf", (DOUBLE,), BOOLEAN, ("isinf",)),
    Function("is_finite", (DOUBLE,), BOOLEAN),
)  # fmt: skip
