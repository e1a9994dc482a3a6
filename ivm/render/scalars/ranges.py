"""What is known of an expression's values before it runs: exact ranges, and whether it can raise."""

from __future__ import annotations

from collections.abc import Callable

from catalog.types import Kind, SqlType
from sql.ir.scalar import Call, Column, Literal, Scalar, walk

Range = tuple[int, int]

_BITS = {Kind.TINYINT: 7, Kind.SMALLINT: 15, Kind.INTEGER: 31, Kind.BIGINT: 63, Kind.HUGEINT: 127}

# DuckDB keeps the two ends of each for infinity and for its negative.
DATE_RANGE: Range = (-(2**31) + 2, 2**31 - 2)
TIMESTAMP_RANGE: Range = (-9223372022400000000, 2**63 - 2)
WORD_RANGE: Range = (-(2**63), 2**63 - 1)


def limits(type_: SqlType) -> Range:
    """Least and greatest engine value of an exact type (integers, DECIMAL, DATE, TIMESTAMP, BOOLEAN)."""
    if type_.kind is Kind.DECIMAL:
        bound = 10**type_.precision - 1
        return -bound, bound
    if type_.kind is Kind.DATE:
        return DATE_RANGE
    if type_.kind is Kind.TIMESTAMP:
        return TIMESTAMP_RANGE
    if type_.kind is Kind.BOOLEAN:
        return 0, 1
    bits = _BITS[type_.kind]
    return -(1 << bits), (1 << bits) - 1


def is_exact(type_: SqlType) -> bool:
    """Whether values of the type are integers in engine form, so that `limits` applies."""
    return type_.kind in _BITS or type_.kind in (Kind.DECIMAL, Kind.DATE, Kind.TIMESTAMP, Kind.BOOLEAN)


def interval(scalar: Scalar) -> Range:
    """A range that holds every value of an exact expression, before the check against its own type.

    If it lies within `limits(scalar.type)`, evaluating the outermost function cannot overflow. Cost: the size
    of the expression for each call.
    """
    if isinstance(scalar, Column):
        return limits(scalar.type)
    if isinstance(scalar, Literal):
        value = 0 if scalar.value is None else int(scalar.value)
        return value, value
    rule = _RULES.get(scalar.function)
    if rule is None or not all(is_exact(a.type) for a in scalar.args):
        return limits(scalar.type)
    return rule(scalar, [clamped(a) for a in scalar.args])


def clamped(scalar: Scalar) -> Range:
    """The range of the expression's values after its own check."""
    low, high = interval(scalar)
    least, greatest = limits(scalar.type)
    return max(low, least), min(high, greatest)


def fits(scalar: Scalar) -> bool:
    """Whether the outermost function of an exact expression cannot leave the range of its type."""
    low, high = interval(scalar)
    least, greatest = limits(scalar.type)
    return least <= low and high <= greatest


def can_raise(scalar: Scalar) -> bool:
    """Whether evaluating the expression on some row may raise NumericError; True if in doubt."""
    if not isinstance(scalar, Call):
        return False
    if any(can_raise(a) for a in scalar.args):
        return True
    if scalar.type.kind is Kind.DOUBLE and scalar.function != "cast":
        return False
    if scalar.function in _CHECKED:
        ranged = scalar.function in _RULES and all(is_exact(a.type) for a in scalar.args)
        return not (ranged and fits(scalar))
    if scalar.function in ("idiv", "mod"):
        return not _divisor_is_safe(scalar)
    if scalar.function == "cast":
        return _cast_can_raise(scalar)
    return scalar.function == "date_trunc" and scalar.type.kind is Kind.TIMESTAMP


def cost_rank(predicate: Scalar) -> int:
    """In which order predicates are asked: 0 plain ones, 1 those that look strings up, 2 those that can raise."""
    if can_raise(predicate):
        return 2
    return int(any(isinstance(s, Call) and _reads_text(s) for s in walk(predicate)))


def _reads_text(call: Call) -> bool:
    return call.function not in ("eq", "ne", "in", "is_null") and any(a.type.kind is Kind.VARCHAR for a in call.args)


_CHECKED = ("add", "sub", "mul", "neg", "abs", "add_days", "add_months", "add_micros", "round", "floor", "ceil")


def _divisor_is_safe(call: Call) -> bool:
    divisor = call.args[1]
    return isinstance(divisor, Literal) and divisor.value not in (0, -1, None)


def _cast_can_raise(call: Call) -> bool:
    source, target = call.args[0].type, call.type
    if source.kind is Kind.NULL or source == target or target.kind in (Kind.DOUBLE, Kind.BOOLEAN):
        return source.kind is Kind.VARCHAR and source != target
    if target.kind is Kind.VARCHAR:
        return False
    if is_exact(source) and is_exact(target):
        return not fits(call)
    return True


def _hull(ranges: list[Range]) -> Range:
    return min(r[0] for r in ranges), max(r[1] for r in ranges)


def _products(call: Call, args: list[Range]) -> Range:
    products = [a * b for a in args[0] for b in args[1]]
    return min(products), max(products)


def _rescaled(call: Call, args: list[Range]) -> Range:
    source, target = call.args[0].type, call.type
    if Kind.DATE in (source.kind, target.kind) or Kind.TIMESTAMP in (source.kind, target.kind):
        return _date_cast(source, target, args[0])
    return rescale(args[0][0], target.scale - source.scale), rescale(args[0][1], target.scale - source.scale)


def _date_cast(source: SqlType, target: SqlType, values: Range) -> Range:
    day = 86_400_000_000
    if source.kind is Kind.DATE and target.kind is Kind.TIMESTAMP:
        return values[0] * day, values[1] * day
    if source.kind is Kind.TIMESTAMP and target.kind is Kind.DATE:
        return values[0] // day, values[1] // day
    return values


def rescale(value: int, digits: int) -> int:
    """`value * 10^digits`, rounded half away from zero where digits are lost."""
    if digits >= 0:
        return value * 10**digits
    power: int = 10**-digits
    magnitude = (abs(value) + power // 2) // power
    return magnitude if value >= 0 else -magnitude


def _hull_of_values(call: Call, args: list[Range]) -> Range:
    values = [*args[1::2], args[-1]] if call.function == "case" else args
    return _hull(values)


def _rounded(call: Call, args: list[Range]) -> Range:
    source, target = call.args[0].type, call.type
    kept = int(args[1][0]) if call.function == "round" and len(args) > 1 else 0
    cut = max(source.scale - kept, 0)
    back = target.scale - (source.scale - cut)
    (low, high), power = args[0], 10**cut
    factor, divisor = 10 ** max(back, 0), 10 ** max(-back, 0)
    return low // power * factor // divisor, -(-high // power) * factor // divisor


def _absolute(call: Call, args: list[Range]) -> Range:
    low, high = args[0]
    return (0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))


_RULES: dict[str, Callable[[Call, list[Range]], Range]] = {
    "add": lambda call, a: (a[0][0] + a[1][0], a[0][1] + a[1][1]),
    "sub": lambda call, a: (a[0][0] - a[1][1], a[0][1] - a[1][0]),
    "mul": _products,
    "round": _rounded,
    "floor": _rounded,
    "ceil": _rounded,
    "neg": lambda call, a: (-a[0][1], -a[0][0]),
    "abs": _absolute,
    "cast": _rescaled,
    "case": _hull_of_values,
    "coalesce": _hull_of_values,
    "greatest": _hull_of_values,
    "least": _hull_of_values,
    "nullif": lambda call, a: a[0],
    "add_days": lambda call, a: (a[0][0] + a[1][0], a[0][1] + a[1][1]),
    "add_micros": lambda call, a: (a[0][0] + a[1][0], a[0][1] + a[1][1]),
}
