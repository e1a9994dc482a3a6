"""Conditions made of expressions and of other conditions."""

from __future__ import annotations

from collections.abc import Iterable

from ivm.catalog.types import BOOLEAN
from ivm.sql.ir.functions import DIRECTIONS
from ivm.sql.ir.scalar import FALSE, TRUE, Call, Literal, Scalar


def negation(scalar: Scalar) -> Scalar:
    """NOT of a condition; of a negation, what it negates."""
    if isinstance(scalar, Call) and scalar.function == "not":
        return scalar.args[0]
    return Call("not", (scalar,), BOOLEAN, scalar.nullable)


def junction(function: str, conditions: Iterable[Scalar]) -> Scalar:
    """The and / or of the conditions, nested ones of the same function taken apart; TRUE / FALSE if there are none."""
    members = members_of(function, conditions)
    if len(members) < 2:
        return members[0] if members else Literal(function == "and", BOOLEAN)
    return Call(function, members, BOOLEAN, any(member.nullable for member in members))


def members_of(function: str, conditions: Iterable[Scalar]) -> tuple[Scalar, ...]:
    """The conditions with each `function` (and, or) taken apart, in order, each once."""
    found: list[Scalar] = []
    for condition in conditions:
        match condition:
            case Call(name, args) if name == function:
                found += members_of(function, args)
            case _:
                found.append(condition)
    return tuple(dict.fromkeys(found))


def conjuncts(predicates: Iterable[Scalar]) -> tuple[Scalar, ...]:
    """The predicates with each AND taken apart, in order, each once."""
    return members_of("and", predicates)


def comparison(function: str, one: Scalar, other: Scalar) -> Call:
    """A comparison (eq, ne, lt, le, gt, ge, is_distinct) of two expressions of one type."""
    return Call(function, (one, other), BOOLEAN, function != "is_distinct" and (one.nullable or other.nullable))


def is_opposite(one: str, other: str) -> bool:
    """Whether two comparisons of a value, with a bound each, leave what is between the bounds."""
    return DIRECTIONS.get(one, 0) * DIRECTIONS.get(other, 0) < 0


def is_null(scalar: Scalar) -> Call:
    """Whether an expression is NULL."""
    return Call("is_null", (scalar,), BOOLEAN, nullable=False)


def coalesced(scalar: Scalar, instead: Scalar) -> Call:
    """The expression, and where that is NULL `instead`, which never is."""
    return Call("coalesce", (scalar, instead), scalar.type, nullable=False)


def truth(scalar: Scalar) -> Scalar:
    """A condition that is TRUE on the same rows, where FALSE and NULL need not be told apart.

    What only decides between FALSE and NULL is gone from it, and with it the subqueries that this takes.
    """
    match scalar:
        case Call("and" | "or" as function, args):
            return _simplified(function, [truth(arg) for arg in args])
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
            return _simplified("or", [falsity(arg) for arg in args])
        case Call("or", args):
            return _simplified("and", [falsity(arg) for arg in args])
        case Call("not", (arg,)):
            return truth(arg)
        case Call("case", (unknown, Literal(None), Literal(False))):
            return negation(coalesced(unknown, FALSE) if unknown.nullable else unknown)
    return negation(scalar)


def _simplified(function: str, parts: list[Scalar]) -> Scalar:
    neutral, final = (TRUE, FALSE) if function == "and" else (FALSE, TRUE)
    if final in parts:
        return final
    rest = [part for part in parts if part != neutral]
    return junction(function, rest) if rest else neutral
