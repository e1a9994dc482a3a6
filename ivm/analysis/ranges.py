"""What is known of an expression before it runs: the range of its exact values, and whether it can raise."""

from __future__ import annotations

from collections.abc import Callable

from catalog.types import Kind, SqlType
from sql.ir.scalar import Call, Column, Literal, Scalar

Range = tuple[int, int]

_BITS = {
    Kind.TINYINT: 7,
    Kind.SMALLINT: 15,
    Kind.INTEGER: 31,
    Kind.BIGINT: 63,
    Kind.HUGEINT: 127,
    Kind.DATE: 31,
    Kind.TIMESTAMP: 63,
}
_ARITHMETIC = ("add", "sub", "mul", "neg", "abs", "round", "floor", "ceil", "add_days", "add_months", "add_micros")
_NEVER = frozenset(
    (
        *("eq", "ne", "lt", "le", "gt", "ge", "is_null", "is_distinct", "not", "and", "or", "in", "like", "ilike"),
        *("case", "coalesce", "nullif", "greatest", "least", "extract", "date_trunc", "days_between"),
        *("div", "sqrt", "ln", "exp", "power", "upper", "lower", "trim", "length", "substring", "concat", "replace"),
        *("starts_with", "contains"),
    )
)


def limits(type_: SqlType) -> Range | None:
    """Least and greatest engine value of a type whose engine form is an integer; None for the others."""
    if type_.kind is Kind.DECIMAL:
        bound = 10**type_.precision - 1
        return -bound, bound
    if type_.kind is Kind.BOOLEAN:
        return 0, 1
    bits = _BITS.get(type_.kind)
    return None if bits is None else (-(1 << bits), (1 << bits) - 1)


def can_raise(scalar: Scalar) -> bool:
    """Whether evaluating the expression on some row may raise NumericError; True if in doubt.

    Such an expression must not reach rows that a predicate or a join has kept from it.
    """
    if not isinstance(scalar, Call):
        return False
    if any(can_raise(arg) for arg in scalar.args):
        return True
    if scalar.function in _NEVER:
        return False
    if scalar.function in ("idiv", "mod"):
        return scalar.type.kind is not Kind.DOUBLE and not _divides_safely(scalar.args[1])
    if scalar.type.kind is Kind.DOUBLE and scalar.function in _ARITHMETIC:
        return False
    if scalar.function == "cast":
        return _cast_can_raise(scalar)
    return scalar.function not in _ARITHMETIC or not _fits(scalar)


def _divides_safely(divisor: Scalar) -> bool:
    return isinstance(divisor, Literal) and divisor.value not in (0, -1, None)


def _cast_can_raise(call: Call) -> bool:
    source, target = call.args[0].type, call.type
    if source == target or source.kind is Kind.NULL or target.kind is Kind.VARCHAR:
        return False
    if source.kind is Kind.VARCHAR:
        return True
    if target.kind in (Kind.DOUBLE, Kind.BOOLEAN):
        return False
    return limits(source) is None or limits(target) is None or not _fits(call)


def _fits(call: Call) -> bool:
    """Whether the outermost function cannot leave the range of its type."""
    allowed = limits(call.type)
    found = _unchecked(call)
    return allowed is not None and found is not None and allowed[0] <= found[0] and found[1] <= allowed[1]


def value_range(scalar: Scalar) -> Range | None:
    """A range that holds every value of the expression that is not NULL; None where there is none.

    Cost: linear in the size of the expression.
    """
    if isinstance(scalar, Column):
        return limits(scalar.type)
    if isinstance(scalar, Literal):
        return _literal_range(scalar)
    allowed, found = limits(scalar.type), _unchecked(scalar)
    if allowed is None or found is None:
        return allowed
    return max(allowed[0], found[0]), min(allowed[1], found[1])


def _literal_range(literal: Literal) -> Range | None:
    if limits(literal.type) is None:
        return None
    value = 0 if literal.value is None else int(literal.value)
    return value, value


def _unchecked(call: Call) -> Range | None:
    """The range of the function's results before the check against its type."""
    rule = _RULES.get(call.function)
    if rule is None:
        return None
    args = [value_range(arg) for arg in call.args]
    known = [a for a in args if a is not None]
    return rule(call, known) if len(known) == len(args) else None


def _product(call: Call, args: list[Range]) -> Range:
    corners = [a * b for a in args[0] for b in args[1]]
    return min(corners), max(corners)


def _absolute(call: Call, args: list[Range]) -> Range:
    low, high = args[0]
    return (0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))


def _cast(call: Call, args: list[Range]) -> Range | None:
    dates = (Kind.DATE, Kind.TIMESTAMP)
    if call.args[0].type.kind in dates or call.type.kind in dates:
        return None
    low, high = (_rescaled(v, call.type.scale - call.args[0].type.scale) for v in args[0])
    return low, high


def _rescaled(value: int, digits: int) -> int:
    if digits >= 0:
        return int(value * 10**digits)
    power: int = 10**-digits
    rounded = (abs(value) + power // 2) // power
    return rounded if value >= 0 else -rounded


def _chosen(call: Call, args: list[Range]) -> Range:
    values = [*args[1::2], args[-1]] if call.function == "case" else args
    return min(low for low, _ in values), max(high for _, high in values)


_RULES: dict[str, Callable[[Call, list[Range]], Range | None]] = {
    "add": lambda call, a: (a[0][0] + a[1][0], a[0][1] + a[1][1]),
    "sub": lambda call, a: (a[0][0] - a[1][1], a[0][1] - a[1][0]),
    "mul": _product,
    "neg": lambda call, a: (-a[0][1], -a[0][0]),
    "abs": _absolute,
    "cast": _cast,
    "case": _chosen,
    "coalesce": _chosen,
    "greatest": _chosen,
    "least": _chosen,
    "nullif": lambda call, a: a[0],
    "add_days": lambda call, a: (a[0][0] + a[1][0], a[0][1] + a[1][1]),
    "add_micros": lambda call, a: (a[0][0] + a[1][0], a[0][1] + a[1][1]),
}
