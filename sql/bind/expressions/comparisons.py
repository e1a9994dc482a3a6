"""Comparisons: both sides get one type, and a literal adapts to the column where that changes nothing."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from catalog.types import BOOLEAN, NULL, Kind
from sql.bind.expressions.binder import Binder, Handler
from sql.bind.expressions.lists import UNORDERED
from sql.bind.expressions.logic import junction, negation
from sql.bind.expressions.operand import Operand
from sql.bind.functions.intervals import comparable
from sql.ir.scalar import FALSE, TRUE, Call, Literal, Scalar
from sql.sql_text import text_of
from sql.types.literals import exactly
from sql.types.unify import unify


def compare(binder: Binder, node: exp.Expr, function: str, left: Operand, right: Operand) -> Scalar:
    """`function` (eq, ne, lt, le, gt, ge, is_distinct) of two operands cast to their common type."""
    first, second = same_type(binder, node, (left, right))
    if first.type.kind is Kind.LIST and function not in ("eq", "ne", "is_distinct"):
        binder.refuse(node, UNORDERED)
    nullable = function != "is_distinct" and (first.nullable or second.nullable)
    return Call(function, (first, second), BOOLEAN, nullable)


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


def _comparison(function: str) -> Handler:
    def bind(binder: Binder, node: exp.Expr) -> Operand:
        if isinstance(node.expression, exp.Any | exp.All):
            binder.refuse(node, "ANY and ALL of a list are not supported; write IN (...), or compare one by one")
        left, right = comparable(binder, node, (node.this, node.expression))
        return Operand(node, compare(binder, node, function, left, right))

    return bind


def bind_null_safe_eq(binder: Binder, node: exp.Expr) -> Operand:
    """The condition x IS NOT DISTINCT FROM y."""
    distinct = _comparison("is_distinct")(binder, node)
    return Operand(node, negation(distinct.scalar))


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
    equalities = [Call("eq", (first, other), BOOLEAN, first.nullable or other.nullable) for other in others]
    return Operand(node, junction("or", equalities))


def bind_is(binder: Binder, node: exp.Expr) -> Operand:
    """The conditions x IS NULL, x IS TRUE, x IS FALSE."""
    tested = node.expression
    if isinstance(tested, exp.Null):
        operand = binder.value(node.this)
        return Operand(node, Call("is_null", (operand.scalar,), BOOLEAN, nullable=False))
    if not isinstance(tested, exp.Boolean):
        binder.refuse(node, f"IS {text_of(tested)} is not supported; IS NULL, IS TRUE and IS FALSE are")
    condition = binder.condition(node.this)
    wanted = TRUE if tested.this else FALSE
    return Operand(node, negation(Call("is_distinct", (condition, wanted), BOOLEAN, nullable=False)))


def bind_and(binder: Binder, node: exp.Expr) -> Operand:
    """The condition a AND b AND ..."""
    return Operand(node, junction("and", [binder.condition(part) for part in _parts(node, exp.And)]))


def bind_or(binder: Binder, node: exp.Expr) -> Operand:
    """The condition a OR b OR ..."""
    return Operand(node, junction("or", [binder.condition(part) for part in _parts(node, exp.Or)]))


def bind_not(binder: Binder, node: exp.Expr) -> Operand:
    """The condition NOT a."""
    return Operand(node, negation(binder.condition(node.this)))


def _parts(node: exp.Expr, kind: type[exp.Expr]) -> list[exp.Expr]:
    """The operands of a chain of `kind`; a chain nests to the left, and a loop bears any length."""
    parts: list[exp.Expr] = []
    while isinstance(node, kind):
        parts.append(node.expression)
        node = node.this
    return [node, *reversed(parts)]


HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.EQ: _comparison("eq"),
    exp.NEQ: _comparison("ne"),
    exp.LT: _comparison("lt"),
    exp.LTE: _comparison("le"),
    exp.GT: _comparison("gt"),
    exp.GTE: _comparison("ge"),
    exp.NullSafeNEQ: _comparison("is_distinct"),
    exp.NullSafeEQ: bind_null_safe_eq,
    exp.Between: bind_between,
    exp.In: bind_in,
    exp.Is: bind_is,
    exp.And: bind_and,
    exp.Or: bind_or,
    exp.Not: bind_not,
}
