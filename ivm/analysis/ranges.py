"""What is known of an expression before it runs: the range of its exact values, and whether it can raise."""

from __future__ import annotations

from ivm.analysis.fact import scalar_fact
from ivm.sql.ir.functions import Raises, function_of
from ivm.sql.ir.limits import Range, is_exact, limits
from ivm.sql.ir.scalar import Call, Column, Literal, Outer, Scalar


@scalar_fact
def can_raise(scalar: Scalar) -> bool:
    """Whether evaluating the expression on some row may raise NumericError; True if in doubt.

    Such an expression must not reach rows that a predicate or a join has kept from it.
    """
    if not isinstance(scalar, Call):
        return False
    if any(isinstance(arg, Call) and can_raise(arg) for arg in scalar.args):
        return True
    raises = function_of(scalar.function).raises
    if not isinstance(raises, Raises):
        raises = raises(scalar)
    if raises is Raises.OUT_OF_RANGE:
        return not scalar.type.is_float and not fits(scalar)
    return raises is Raises.SOMETIMES


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
    rule = function_of(call.function).range
    if rule is None or not is_exact(call.type):
        return None
    args = [value_range(arg) for arg in call.args]
    known = [a for a in args if a is not None]
    return rule(call, known) if len(known) == len(args) else None
