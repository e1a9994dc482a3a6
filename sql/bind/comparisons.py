"""Comparisons: both sides get one type, and a literal adapts to the column where that changes nothing."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from catalog.types import BOOLEAN, NULL, VARCHAR, SqlType
from sql.bind.binder import Binder, Handler
from sql.bind.operand import Operand
from sql.ir.scalar import FALSE, TRUE, Call, Literal, Scalar
from sql.types.literals import exactly
from sql.types.unify import unify


def compare(binder: Binder, node: exp.Expr, function: str, left: Operand, right: Operand) -> Scalar:
    """`function` (eq, ne, lt, le, gt, ge, is_distinct) of two operands cast to their common type."""
    first, second = same_type(binder, node, (left, right))
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
        if isinstance(node.expression, exp.Any | exp.All) or isinstance(node.this, exp.Tuple):
            binder.refuse(node, "ANY, ALL and comparisons of rows are not supported; compare column by column")
        left, right = binder.value(node.this), binder.value(node.expression)
        return Operand(node, compare(binder, node, function, left, right))

    return bind


def bind_null_safe_eq(binder: Binder, node: exp.Expr) -> Operand:
    """The condition x IS NOT DISTINCT FROM y."""
    distinct = _comparison("is_distinct")(binder, node)
    return Operand(node, negation(distinct.scalar))


def bind_between(binder: Binder, node: exp.Expr) -> Operand:
    """The condition x BETWEEN low AND high."""
    of, low, high = (binder.value(node.args[arg]) for arg in ("this", "low", "high"))
    if node.args.get("symmetric"):
        binder.refuse(node, "BETWEEN SYMMETRIC is not supported; write the smaller bound first")
    return Operand(node, junction("and", [compare(binder, node, "ge", of, low), compare(binder, node, "le", of, high)]))


def bind_in(binder: Binder, node: exp.Expr) -> Operand:
    """The condition x IN (a, b, ...); expressions that are not constants are compared one by one."""
    if node.args.get("query") or node.args.get("unnest") or node.args.get("field"):
        binder.refuse(node, "IN (SELECT ...) is not maintained yet; join with the subquery in FROM instead")
    if isinstance(node.this, exp.Tuple):
        binder.refuse(node, "IN of rows is not supported; compare column by column")
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
        binder.refuse(node, f"IS {tested.sql('duckdb')} is not supported; IS NULL, IS TRUE and IS FALSE are")
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


def _parts(node: exp.Expr, kind: type[exp.Expr]) -> list[exp.Expr]:
    """The operands of a chain of `kind`; a chain nests to the left, and a loop bears any length."""
    parts: list[exp.Expr] = []
    while isinstance(node, kind):
        parts.append(node.expression)
        node = node.this
    return [node, *reversed(parts)]


def _like(function: str) -> Handler:
    def bind(binder: Binder, node: exp.Expr) -> Operand:
        matched = like(binder, node, function, ())
        return Operand(node, negation(matched)) if node.args.get("negate") else Operand(node, matched)

    return bind


def bind_escape(binder: Binder, node: exp.Expr) -> Operand:
    """The condition x LIKE 'pattern' ESCAPE 'c'."""
    inner, escape = node.this, node.expression
    function = {exp.Like: "like", exp.ILike: "ilike"}.get(type(inner))
    if function is None or not isinstance(escape, exp.Literal) or len(escape.name) != 1:
        binder.refuse(node, "ESCAPE needs LIKE or ILIKE before it and one character after it")
    matched = like(binder, inner, function, (Literal(escape.name, VARCHAR),))
    return Operand(node, negation(matched) if inner.args.get("negate") else matched)


def like(binder: Binder, node: exp.Expr, function: str, escape: tuple[Scalar, ...]) -> Scalar:
    """LIKE or ILIKE of a text and a constant pattern."""
    of, pattern = text(binder, node.this), binder.value(node.expression)
    if NULL in (pattern.type, of.type):
        return Literal(None, BOOLEAN)
    if pattern.type != VARCHAR:
        binder.mismatch(node, f"a pattern must be text, not {pattern.type}")
    if not isinstance(pattern.scalar, Literal):
        binder.refuse(node, "a pattern that varies from row to row is not supported; write it as a literal")
    return Call(function, (of.scalar, pattern.scalar, *escape), BOOLEAN, of.scalar.nullable)


def text(binder: Binder, node: exp.Expr) -> Operand:
    """An operand that must be VARCHAR."""
    operand = binder.value(node)
    if operand.type not in (VARCHAR, NULL):
        binder.mismatch(node, f"text is needed here, not {operand.type}; write CAST(... AS VARCHAR)")
    return operand


def typed(binder: Binder, operand: Operand, target: SqlType) -> Operand:
    """The operand cast to `target`."""
    return Operand(operand.node, binder.cast(operand, target))


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
    exp.Like: _like("like"),
    exp.ILike: _like("ilike"),
    exp.Escape: bind_escape,
}
