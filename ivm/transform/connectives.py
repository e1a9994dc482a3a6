"""Conjunctions and disjunctions as lists of their members."""

from __future__ import annotations

from collections.abc import Iterable

from catalog.types import BOOLEAN
from sql.ir.scalar import FALSE, TRUE, Call, Scalar


def conjuncts(scalar: Scalar) -> tuple[Scalar, ...]:
    """The members of nested ANDs, each once; the expression itself if it is none."""
    return _members(scalar, "and")


def disjuncts(scalar: Scalar) -> tuple[Scalar, ...]:
    """The members of nested ORs, each once; the expression itself if it is none."""
    return _members(scalar, "or")


def conjunction(scalars: Iterable[Scalar]) -> Scalar:
    """All of them hold: TRUE if there are none."""
    members = tuple(dict.fromkeys(scalars))
    return _call("and", members) if members else TRUE


def disjunction(scalars: Iterable[Scalar]) -> Scalar:
    """One of them holds: FALSE if there are none."""
    members = tuple(dict.fromkeys(scalars))
    return _call("or", members) if members else FALSE


def _members(scalar: Scalar, function: str) -> tuple[Scalar, ...]:
    if not isinstance(scalar, Call) or scalar.function != function:
        return (scalar,)
    return tuple(dict.fromkeys(inner for arg in scalar.args for inner in _members(arg, function)))


def _call(function: str, members: tuple[Scalar, ...]) -> Scalar:
    if len(members) == 1:
        return members[0]
    return Call(function, members, BOOLEAN, any(m.nullable for m in members))
