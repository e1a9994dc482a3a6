"""Comparisons: both sides get one type, and a literal adapts to the column where that changes nothing."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from catalog.types import BOOLEAN, NULL, Kind, SqlType
from sql.bind.expressions.binder import Binder, Handler
from sql.bind.expressions.lists import UNORDERED
from sql.bind.expressions.operand import Operand
from sql.bind.functions.intervals import comparable
from sql.ir.conditions import comparison, is_null, junction, negation
from sql.ir.scalar import FALSE, TRUE, Call, Literal, Scalar
from sql.sql_text import text_of
from sql.types.literals import exactly
from sql.types.unify import unify


def compare(binder: Binder, node: exp.Expr, function: str, left: Operand, right: Operand) -> Scalar:
    """`function` (eq, ne, lt, le, gt, ge, is_distinct) of two operands cast to their common type."""
    first, second = same_type(binder, node, (left, right))
    if first.type.kind is Kind.LIST and function not in ("eq", "ne", "is_distinct"):
        binder.refuse(node, UNORDERED)
    return comparison(function, first, second)


def same_type(binder: Binder, node: exp.Expr, operands: Sequence[Operand]) -> tuple[Scalar, ...]:
    """The operands cast to the type that they are compared in.

    If all but the first are literals with exact values in its type, that is the type, so that the column is not cast
    for each row: comparing gives the same answer.
    """
    adapted = _adapted(operands)
    if adapted is None and len(operands) == 2:
        mirrored = _adapted((operands[1], operands[0]))
        adapted = (mirrored[1], mirrored[0]) if mirrored else None
    if adapted is not None:
        return adapted
    target = unify([operand.term for operand in operands])
    if target is None:
        types = " and ".join(dict.fromkeys(str(operand.type) for operand in operands))
        binder.mismatch(node, f"cannot compare {types}; cast one side")
    return tuple(binder.cast(operand, target) for operand in operands)


def unified(
    binder: Binder, node: exp.Expr, what: str, operands: Sequence[Operand]
) -> tuple[tuple[Scalar, ...], SqlType]:
    """The operands, which are the values of `what`, cast to the type that they have in common, and that type."""
    type_ = unify([operand.term for operand in operands])
    if type_ is None:
        types = " and ".join(dict.fromkeys(str(operand.type) for operand in operands))
        binder.mismatch(node, f"{what} has values of types {types}; cast them to one type")
    return tuple(binder.cast(operand, type_) for operand in operands), type_


def _adapted(operands: Sequence[Operand]) -> tuple[Scalar, ...] | None:
    first, *others = (operand.scalar for operand in operands)
    if isinstance(first, Literal):
        return None
    adapted: list[Scalar] = [first]
    for other in others:
        literal = exactly(other, first.type) if isinstance(other, Literal) else None
        if literal is None:
            return None
        adapted.append(literal)
    return tuple(adapted)


FUNCTIONS: dict[type[exp.Expr], str] = {
    exp.EQ: "eq",
    exp.NEQ: "ne",
    exp.LT: "lt",
    exp.LTE: "le",
    exp.GT: "gt",
    exp.GTE: "ge",
    exp.NullSafeEQ: "is_same",
    exp.NullSafeNEQ: "is_distinct",
}
"""What each comparison calls; is_same is NOT is_distinct."""


def bind_comparison(binder: Binder, node: exp.Expr) -> Operand:
    """A comparison of two values."""
    if isinstance(node.expression, exp.Any | exp.All):
        binder.refuse(node, "ANY and ALL of a list are not supported; write IN (...), or compare one by one")
    left, right = comparable(binder, node, (node.this, node.expression))
    function = FUNCTIONS[type(node)]
    if function == "is_same":
        return Operand(node, negation(compare(binder, node, "is_distinct", left, right)))
    return Operand(node, compare(binder, node, function, left, right))


def bind_between(binder: Binder, node: exp.Expr) -> Operand:
    """The condition x BETWEEN low AND high."""
    of, low, high = comparable(binder, node, [node.args[arg] for arg in ("this", "low", "high")])
    return Operand(node, junction("and", [compare(binder, node, "ge", of, low), compare(binder, node, "le", of, high)]))


def bind_in(binder: Binder, node: exp.Expr) -> Operand:
    """The condition x IN (a, b, ...); expressions that are not constants are compared one by one."""
    operands = [binder.value(node.this), *(binder.value(item) for item in node.expressions)]
    first, *others = same_type(binder, node, operands)
    if first.type == NULL:
        return Operand(node, Literal(None, BOOLEAN))
    if all(isinstance(other, Literal) for other in others):
        nullable = first.nullable or any(other.nullable for other in others)
        return Operand(node, Call("in", (first, *others), BOOLEAN, nullable))
    equalities = [comparison("eq", first, other) for other in others]
    return Operand(node, junction("or", equalities))


def bind_is(binder: Binder, node: exp.Expr) -> Operand:
    """The conditions x IS NULL, x IS TRUE, x IS FALSE."""
    tested = node.expression
    if isinstance(tested, exp.Null):
        return Operand(node, is_null(binder.value(node.this).scalar))
    if not isinstance(tested, exp.Boolean):
        binder.refuse(node, f"IS {text_of(tested)} is not supported; IS NULL, IS TRUE and IS FALSE are")
    condition = binder.condition(node.this)
    wanted = TRUE if tested.this else FALSE
    return Operand(node, negation(comparison("is_distinct", condition, wanted)))


def _bind_chain(binder: Binder, node: exp.Expr) -> Operand:
    """The condition a AND b AND ..., or with OR; a chain nests to the left, and a loop bears any length."""
    kind, function, parts = type(node), node.key, list[exp.Expr]()
    inner = node
    while type(inner) is kind:
        parts.append(inner.expression)
        inner = inner.this
    return Operand(node, junction(function, [binder.condition(part) for part in (inner, *reversed(parts))]))


def bind_not(binder: Binder, node: exp.Expr) -> Operand:
    """The condition NOT a."""
    return Operand(node, negation(binder.condition(node.this)))


HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.Is: bind_is,
    exp.And: _bind_chain,
    exp.Or: _bind_chain,
    exp.Not: bind_not,
}
