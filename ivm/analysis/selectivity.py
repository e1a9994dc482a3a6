"""How many of the rows a predicate keeps: by the values of a column, or textbook shares; how many a list makes."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from ivm.sql.ir.functions import function_of
from ivm.sql.ir.scalar import Call, Column, Literal, Scalar, Value

_UNKNOWN = 0.5
_EITHER = 0.5
"""The share of rows in which one column is less than another one: nobody chose either."""
_WANTED, _LETTER = 0.3, 0.8
"""The share of texts that match a pattern without letters, and what each letter leaves of it."""
ELEMENTS = 4.0
"""The elements of a list of which nothing is known."""


def selectivity(predicate: Scalar, distinct: Callable[[int], float | None] | None = None) -> float:
    """The estimated share of rows for which a predicate is true, between 0 and 1.

    `distinct`: how many values a column has, None where that is not known. Without it a predicate is looked at by
    itself, whatever it is about.
    """
    match predicate:
        case Literal():
            return 1.0 if predicate.value is True else 0.0
        case Call("and", args):
            return prod(selectivity(a, distinct) for a in args)
        case Call("or", args):
            return 1.0 - prod(1.0 - selectivity(a, distinct) for a in args)
        case Call("not", (inner,)) if not isinstance(inner, Column):
            return 1.0 - selectivity(inner, distinct)
        case Call("eq" | "in", args):
            counts = [] if distinct is None else [distinct(each.index) for each in args if isinstance(each, Column)]
            known, wanted = max((count for count in counts if count), default=None), float(max(1, len(args) - 1))
            return min(1.0, wanted / (1.0 / function_of("eq").holds - 1.0 + wanted if known is None else known))
        case Call("lt" | "le" | "gt" | "ge", (Column(), Column())):
            return _EITHER
        case Call("like" | "ilike", (_, Literal(str() as pattern), *_)):
            letters = sum(each not in "%_" for each in pattern)
            return min(function_of("like").holds, _WANTED * _LETTER**letters)
        case Call(function):
            return function_of(function).holds
    return _UNKNOWN


def given(predicate: Scalar) -> tuple[int, frozenset[Value]] | None:
    """The column of which a predicate allows some given values alone, and these; None if it is no such predicate."""
    match predicate:
        case Call("eq", (Literal() as value, Column(column))):
            return column, frozenset((value.value,))
        case Call("eq" | "in", (Column(column), *values)) if all(isinstance(each, Literal) for each in values):
            return column, frozenset(each.value for each in values if isinstance(each, Literal))
    return None


def implies(predicate: Scalar, other: Scalar) -> bool:
    """Whether what a predicate says with OR allows no more values of a column than another one does."""
    allowed = given(other)
    if allowed is None or not isinstance(predicate, Call) or predicate.function != "or":
        return False
    for branch in predicate.args:
        parts = branch.args if isinstance(branch, Call) and branch.function == "and" else (branch,)
        found = [one for one in map(given, parts) if one is not None]
        if not any(column == allowed[0] and values <= allowed[1] for column, values in found):
            return False
    return True
