"""Conditions made of conditions."""

from __future__ import annotations

from collections.abc import Sequence

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
