"""How many of the rows a predicate keeps: textbook shares, by the function that it is; how many a list makes."""

from __future__ import annotations

from math import prod

from ivm.sql.ir.functions import function_of
from ivm.sql.ir.scalar import Call, Column, Literal, Scalar

_UNKNOWN = 0.5
ELEMENTS = 4.0
"""The elements of a list of which nothing is known."""


def selectivity(predicate: Scalar) -> float:
    """The estimated share of rows for which a predicate is true, between 0 and 1."""
    match predicate:
        case Literal():
            return 1.0 if predicate.value is True else 0.0
        case Call("and", args):
            return prod(selectivity(a) for a in args)
        case Call("or", args):
            return 1.0 - prod(1.0 - selectivity(a) for a in args)
        case Call("not", (inner,)) if not isinstance(inner, Column):
            return 1.0 - selectivity(inner)
        case Call("in", (_, *values)):
            return min(1.0, len(values) * function_of("eq").holds)
        case Call(function):
            return function_of(function).holds
    return _UNKNOWN
