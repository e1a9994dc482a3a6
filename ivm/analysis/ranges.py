"""What is known of an expression before it runs: the range of its exact values, and whether it can raise."""

from __future__ import annotations

from collections.abc import Callable

from catalog.types import TRAITS, Kind, SqlType, integer_range
from ivm.analysis.fact import scalar_fact
from sql.ir.scalar import Call, Column, Literal, Outer, Scalar

Range = tuple[int, int]

_ARITHMETIC = (
    *("add", "sub", "mul", "neg", "abs", "round", "floor", "ceil", "add_days", "add_months", "add_micros"),
    *("micros_between", "from_micros"),
)
_NEVER = frozenset(
    (
        *("eq", "ne", "lt", "le", "gt", "ge", "is_null", "is_distinct", "not", "and", "or", "in", "like", "ilike"),
        *("case", "coalesce", "nullif", "greatest", "least", "extract", "days_between"),
        *("div", "sqrt", "ln", "exp", "power", "cbrt", "log", "log2", "log10", "sin", "cos", "tan", "asin", "acos"),
        *("atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "cot", "degrees", "radians", "even"),
        *("is_nan", "is_inf", "is_finite", "sign", "trunc", "bit_and", "bit_or", "xor", "bit_not", "shift_right"),
        *("bit_count", "upper", "lower", "trim", "ltrim", "rtrim", "length", "strlen", "bit_length", "substring"),
        *("left", "right", "cut", "concat", "replace", "reverse", "translate", "split_part", "strpos", "starts_with"),
        *("ends_with", "contains", "ascii", "unicode", "levenshtein", "hex", "md5", "sha1", "sha256"),
        *("regexp_matches", "regexp_full_match", "regexp_replace", "regexp_extract", "strftime", "try_strptime"),
        *("dayname", "monthname", "formatted", "date_diff", "date_sub", "to_micros", "try_cast"),
    )
)
_DAY = 86_400_000_000

# What DuckDB's checks let arithmetic return. Its infinities, which a column may hold, lie just outside.
DATE_RANGE: Range = (-(2**31) + 2, 2**31 - 2)
TIMESTAMP_RANGE: Range = (-9223372022400000000, 2**63 - 2)

_LIMITS = {
    **{kind: integer_range(kind) for kind, traits in TRAITS.items() if traits.bits},
    Kind.DATE: DATE_RANGE,
    Kind.TIMESTAMP: TIMESTAMP_RANGE,
    Kind.TIMESTAMPTZ: TIMESTAMP_RANGE,
    Kind.TIME: (0, _DAY - 1),
    Kind.BOOLEAN: (0, 1),
}


def is_exact(type_: SqlType) -> bool:
    """Whether values of the type are integers in engine form, so that `limits` applies."""
    return type_.kind is Kind.DECIMAL or type_.kind in _LIMITS


def limits(type_: SqlType) -> Range:
    """Least and greatest engine value of an exact type; KeyError for the others."""
    if type_.kind is Kind.DECIMAL:
        bound = 10**type_.precision - 1
        return -bound, bound
    return _LIMITS[type_.kind]


@scalar_fact
def can_raise(scalar: Scalar) -> bool:
    """Whether evaluating the expression on some row may raise NumericError; True if in doubt.

    Such an expression must not reach rows that a predicate or a join has kept from it.
    """
    if not isinstance(scalar, Call):
        return False
    if any(isinstance(arg, Call) and can_raise(arg) for arg in scalar.args):
        return True
    if scalar.function in _NEVER:
        return False
    if scalar.function in ("idiv", "mod"):
        return not scalar.type.is_float and not _divides_safely(scalar.args[1])
    if scalar.function == "date_trunc":
        return scalar.type.kind is not Kind.DATE
    if scalar.type.is_float and scalar.function in _ARITHMETIC:
        return False
    if scalar.function == "cast":
        return _cast_can_raise(scalar)
    return scalar.function not in _ARITHMETIC or not fits(scalar)


def _divides_safely(divisor: Scalar) -> bool:
    return isinstance(divisor, Literal) and divisor.value not in (0, -1, None)


def _cast_can_raise(call: Call) -> bool:
    source, target = call.args[0].type, call.type
    if source == target or source.kind is Kind.NULL or target.kind is Kind.VARCHAR:
        return False
    if source.kind is Kind.VARCHAR:  # also to BLOB
        return True
    if target.is_float:  # a DOUBLE may be greater than any FLOAT
        return target.kind is Kind.FLOAT and source.kind is Kind.DOUBLE
    return target.kind is not Kind.BOOLEAN and not fits(call)


def fits(call: Call) -> bool:
    """Whether the outermost function of an expression cannot leave the range of its type; False if in doubt."""
    found = unchecked_range(call)
    if found is None:
        return False
    least, greatest = limits(call.type)
    return least <= found[0] and found[1] <= greatest


@scalar_fact
def value_range(scalar: Scalar) -> Range | None:
    """A range that holds every finite value of the expression that is not NULL; None if its type is not exact.

    Cost: linear in the size of the expression.
    """
    if not is_exact(scalar.type):
        return None
    if isinstance(scalar, Column | Outer):
        return limits(scalar.type)
    if isinstance(scalar, Literal):
        value = 0 if scalar.value is None else int(scalar.value)
        return value, value
    allowed, found = limits(scalar.type), unchecked_range(scalar)
    return allowed if found is None else (max(allowed[0], found[0]), min(allowed[1], found[1]))


def unchecked_range(call: Call) -> Range | None:
    """The range of the function's results before the check against its type; None where nothing is known.

    Where it lies within `limits(call.type)`, evaluating the outermost function cannot overflow.
    """
    rule = _RULES.get(call.function)
    if rule is None or not is_exact(call.type):
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


def _cast(call: Call, args: list[Range]) -> Range:
    source, target = call.args[0].type, call.type
    low, high = args[0]
    if target.kind is Kind.BOOLEAN:
        return limits(target)
    if target.kind is Kind.TIME and source.is_moment:
        return limits(target)
    if source.kind is Kind.DATE and target.is_moment:
        return low * _DAY, high * _DAY
    if source.is_moment and target.kind is Kind.DATE:
        return low // _DAY, high // _DAY
    digits = target.scale - source.scale
    return rescale(low, digits), rescale(high, digits)


def rescale(value: int, digits: int) -> int:
    """`value * 10^digits`, rounded half away from zero where digits are lost."""
    if digits >= 0:
        return int(value * 10**digits)
    power: int = 10**-digits
    rounded = (abs(value) + power // 2) // power
    return rounded if value >= 0 else -rounded


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


def _chosen(call: Call, args: list[Range]) -> Range:
    values = [*args[1::2], args[-1]] if call.function == "case" else args
    return min(low for low, _ in values), max(high for _, high in values)


_RULES: dict[str, Callable[[Call, list[Range]], Range]] = {
    "add": lambda call, a: (a[0][0] + a[1][0], a[0][1] + a[1][1]),
    "sub": lambda call, a: (a[0][0] - a[1][1], a[0][1] - a[1][0]),
    "mul": _product,
    "neg": lambda call, a: (-a[0][1], -a[0][0]),
    "abs": _absolute,
    "round": _rounded,
    "floor": _rounded,
    "ceil": _rounded,
    "cast": _cast,
    "case": _chosen,
    "coalesce": _chosen,
    "greatest": _chosen,
    "least": _chosen,
    "nullif": lambda call, a: a[0],
    "add_days": lambda call, a: (a[0][0] + a[1][0], a[0][1] + a[1][1]),
    "add_micros": lambda call, a: (a[0][0] + a[1][0], a[0][1] + a[1][1]),
    "micros_between": lambda call, a: (a[0][0] - a[1][1], a[0][1] - a[1][0]),
    "trunc": _rounded,
    "from_micros": lambda call, a: a[0],
    "to_micros": lambda call, a: a[0],
}
