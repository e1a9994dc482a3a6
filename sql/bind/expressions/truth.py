"""Conditions of which only one thing is asked: whether they are TRUE."""

from __future__ import annotations

from sql.ir.conditions import coalesced, junction, negation
from sql.ir.scalar import FALSE, TRUE, Call, Literal, Scalar


def truth(scalar: Scalar) -> Scalar:
    """A condition that is TRUE on the same rows, where FALSE and NULL need not be told apart.

    What only decides between FALSE and NULL is gone from it, and with it the subqueries that this takes.
    """
    match scalar:
        case Call("and" | "or" as function, args):
            return _junction(function, [truth(arg) for arg in args])
        case Call("not", (arg,)):
            return falsity(arg)
        case Call("case", (_, Literal(None), Literal(False))):
            return FALSE
        case Call("coalesce", (arg, Literal(False))):
            return truth(arg)
    return scalar


def falsity(scalar: Scalar) -> Scalar:
    """A condition that is TRUE where `scalar` is FALSE."""
    match scalar:
        case Call("and", args):
            return _junction("or", [falsity(arg) for arg in args])
        case Call("or", args):
            return _junction("and", [falsity(arg) for arg in args])
        case Call("not", (arg,)):
            return truth(arg)
        case Call("case", (unknown, Literal(None), Literal(False))):
            return negation(coalesced(unknown, FALSE) if unknown.nullable else unknown)
    return negation(scalar)


def _junction(function: str, parts: list[Scalar]) -> Scalar:
    neutral, final = (TRUE, FALSE) if function == "and" else (FALSE, TRUE)
    if final in parts:
        return final
    rest = [part for part in parts if part != neutral]
    return junction(function, rest) if rest else neutral
