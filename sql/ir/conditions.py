"""Conditions made of expressions and of other conditions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from catalog.types import BOOLEAN
from sql.ir.scalar import Call, Scalar


def negation(scalar: Scalar) -> Scalar:
    """NOT of a condition; of a negation, what it negates."""
    if isinstance(scalar, Call) and scalar.function == "not":
        return scalar.args[0]
    return Call("not", (scalar,), BOOLEAN, scalar.nullable)


def junction(function: str, conditions: Sequence[Scalar]) -> Scalar:
    """The and / or of the conditions, nested ones of the same function flattened."""
    flat: list[Scalar] = []
    for condition in conditions:
        same = isinstance(condition, Call) and condition.function == function
        flat.extend(condition.args if isinstance(condition, Call) and same else (condition,))
    if len(flat) == 1:
        return flat[0]
    return Call(function, tuple(flat), BOOLEAN, any(part.nullable for part in flat))


def conjuncts(predicates: Iterable[Scalar]) -> tuple[Scalar, ...]:
    """The predicates with each AND taken apart, in order, each once."""
    found: list[Scalar] = []
    for predicate in predicates:
        if isinstance(predicate, Call) and predicate.function == "and":
            found.extend(conjuncts(predicate.args))
        else:
            found.append(predicate)
    return tuple(dict.fromkeys(found))


def comparison(function: str, one: Scalar, other: Scalar) -> Call:
    """A comparison (eq, ne, lt, le, gt, ge, is_distinct) of two expressions of one type."""
    return Call(function, (one, other), BOOLEAN, function != "is_distinct" and (one.nullable or other.nullable))


def is_null(scalar: Scalar) -> Call:
    """Whether an expression is NULL."""
    return Call("is_null", (scalar,), BOOLEAN, nullable=False)


def coalesced(scalar: Scalar, instead: Scalar) -> Call:
    """The expression, and where that is NULL `instead`, which never is."""
    return Call("coalesce", (scalar, instead), scalar.type, nullable=False)
