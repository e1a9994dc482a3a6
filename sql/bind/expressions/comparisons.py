"""Comparisons: both sides get one type, and a literal adapts to the column where that changes nothing.

Those of rows, (a, b) = (1, 2), (a, b) < (c, d), (a, b) IN ((1, 2), (3, 4)), ROW(a, b) and BETWEEN of them, are what
DuckDB makes of them: never NULL. A NULL within a row equals a NULL and is greater than every value. What a subquery
gives (IN (SELECT ...)) is compared value by value, with three-valued logic, by the module `subqueries`.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ivm.catalog.types import BOOLEAN, INTERVAL, JSON, NULL, TIME, VARCHAR, Kind, SqlType
from ivm.sql.bind.expressions.binder import Binder, Handler
from ivm.sql.bind.expressions.collations import collated_alike
from ivm.sql.bind.expressions.operand import Operand
from ivm.sql.folded import folded
from ivm.sql.ir.conditions import coalesced, comparison, is_null, junction, negation
from ivm.sql.ir.measures import has_measure, measures_of
from ivm.sql.ir.scalar import FALSE, TRUE, Call, Literal, Scalar
from ivm.sql.sql_text import text_of
from ivm.sql.types.literals import exactly
from ivm.sql.types.unify import unify


def compare(binder: Binder, node: exp.Expr, function: str, left: Operand, right: Operand) -> Scalar:
    """`function` (eq, ne, lt, le, gt, ge, is_distinct) of two operands cast to their common type."""
    first, second = same_type(binder, node, (left, right))
    return comparison(function, first, second)


def same_type(binder: Binder, node: exp.Expr, operands: Sequence[Operand]) -> tuple[Scalar, ...]:
    """What the operands are compared by, all of one type: themselves, or their measures (`ivm.sql.ir.measures`)."""
    values = common(binder, node, collated_alike(binder, node, operands))
    type_ = type_of(values)
    return tuple(map(folded, measures_of(values, type_))) if has_measure(type_) else values


def type_of(values: Sequence[Scalar]) -> SqlType:
    """The type of values that have one, with the collation that some of them have."""
    return next((each.type for each in values if each.type.is_collated), values[0].type)


def common(binder: Binder, node: exp.Expr, operands: Sequence[Operand]) -> tuple[Scalar, ...]:
    """The operands cast to the type that they are compared in.

    If all but the first are literals with exact values in its type, that is the type, so that the column is not cast
    for each row: comparing gives the same answer.
    """
    adapted = _adapted(binder, operands)
    if adapted is None and len(operands) == 2:
        mirrored = _adapted(binder, (operands[1], operands[0]))
        adapted = (mirrored[1], mirrored[0]) if mirrored else None
    if adapted is not None:
        return adapted
    target = _compared_in(operands)
    if target is None:
        types = " and ".join(dict.fromkeys(str(operand.type) for operand in operands))
        binder.mismatch(node, f"cannot compare {types}; cast one side")
    return tuple(binder.cast(operand, target) for operand in operands)


def _compared_in(operands: Sequence[Operand]) -> SqlType | None:
    """The type in which operands are compared: what they have in common, or, as in DuckDB, what JSON meets."""
    common = unify([operand.term for operand in operands])
    if common != JSON:
        return common
    met = unify([operand.term for operand in operands if operand.type != JSON and not operand.is_text_literal])
    return met if met is not None and (met.is_numeric or met.is_moment or met in (BOOLEAN, TIME, INTERVAL)) else JSON


def unified(
    binder: Binder, node: exp.Expr, what: str, operands: Sequence[Operand]
) -> tuple[tuple[Scalar, ...], SqlType]:
    """The operands, which are the values of `what`, cast to the type that they have in common, and that type."""
    type_ = unify([operand.term for operand in operands])
    if type_ is None:
        types = " and ".join(dict.fromkeys(str(operand.type) for operand in operands))
        binder.mismatch(node, f"{what} has values of types {types}; cast them to one type")
    return tuple(binder.cast(operand, type_) for operand in operands), type_


def _adapted(binder: Binder, operands: Sequence[Operand]) -> tuple[Scalar, ...] | None:
    first, *others = (operand.scalar for operand in operands)
    if isinstance(first, Literal) or binder.tells_in_zone(*(operand.type for operand in operands)):
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


def bind_is(binder: Binder, node: exp.Expr) -> Operand:
    """The conditions x IS NULL, x IS TRUE, x IS FALSE."""
    tested = node.expression
    if isinstance(tested, exp.Null):
        return Operand(node, is_null(binder.bind(node.this).scalar))
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


def parts_of(node: exp.Expr) -> list[exp.Expr] | None:
    """The values of a row, written (a, b) or ROW(a, b); None for anything else."""
    inner = node.unnest()
    is_row = isinstance(inner, exp.Tuple) or (isinstance(inner, exp.Anonymous) and inner.name.upper() == "ROW")
    return list(inner.expressions) if is_row else None


def _equal(binder: Binder, left: exp.Expr, right: exp.Expr) -> Scalar:
    """Whether two values within rows, or two rows, are the same."""
    pairs = _pairs(binder, left, right)
    if pairs is not None:
        return junction("and", [_equal(binder, one, other) for one, other in pairs])
    one, other = _operands(binder, left, right)
    if one.scalar.nullable or other.scalar.nullable:
        return negation(compare(binder, right, "is_distinct", one, other))
    return compare(binder, right, "eq", one, other)


def _before(binder: Binder, left: exp.Expr, right: exp.Expr) -> Scalar:
    """Whether the left of two values within rows, or of two rows, comes first."""
    pairs = _pairs(binder, left, right)
    if pairs is None:
        return _less(binder, left, right)
    alternatives, same = [], list[Scalar]()
    for one, other in pairs:
        alternatives.append(junction("and", [*same, _before(binder, one, other)]))
        same.append(_equal(binder, one, other))
    return junction("or", alternatives)


def _less(binder: Binder, left: exp.Expr, right: exp.Expr) -> Scalar:
    """The condition left < right, where NULL is greater than all else."""
    one, other = _operands(binder, left, right)
    less = compare(binder, right, "lt", one, other)
    if not less.nullable:
        return less
    less = coalesced(less, FALSE)
    if not other.scalar.nullable:
        return less
    missing: list[Scalar] = [is_null(other.scalar)]
    if one.scalar.nullable:
        missing.insert(0, negation(is_null(one.scalar)))
    return junction("or", [less, junction("and", missing)])


def _pairs(binder: Binder, left: exp.Expr, right: exp.Expr) -> list[tuple[exp.Expr, exp.Expr]] | None:
    """What stands in the same place of two rows; None if neither is a row."""
    one, other = parts_of(left), parts_of(right)
    if one is None and other is None:
        return None
    if one is None or other is None:
        what = f"cannot compare the row {text_of(right if one is None else left)} with what is no row"
        binder.mismatch(right, f"{what}; write as many values in parentheses, or IN (SELECT ...)")
    if len(one) != len(other):
        binder.mismatch(right, f"cannot compare rows of {len(one)} and {len(other)} values; write as many in each")
    return list(zip(one, other, strict=True))


def _operands(binder: Binder, left: exp.Expr, right: exp.Expr) -> list[Operand]:
    operands = [binder.bind(left), binder.bind(right)]
    types = [operand.type for operand in operands]
    if VARCHAR in types and not set(types) <= {VARCHAR, NULL}:
        binder.mismatch(right, f"cannot compare {types[0]} and {types[1]} within rows; cast one of them")
    return operands


def _compared(binder: Binder, function: str, left: exp.Expr, right: exp.Expr) -> Scalar:
    match function:
        case "eq" | "is_same":
            return _equal(binder, left, right)
        case "ne" | "is_distinct":
            return negation(_equal(binder, left, right))
        case "lt":
            return _before(binder, left, right)
        case "gt":
            return _before(binder, right, left)
        case "le":
            return negation(_before(binder, right, left))
    return negation(_before(binder, left, right))


def bind_comparison(binder: Binder, node: exp.Expr) -> Operand:
    """A comparison whose sides may be rows."""
    function, sides = FUNCTIONS[type(node)], (node.this, node.expression)
    if _by_parts(binder, sides):
        return Operand(node, _compared(binder, function, *sides))
    left, right = map(binder.bind, sides)
    if function == "is_same":
        return Operand(node, negation(compare(binder, node, "is_distinct", left, right)))
    return Operand(node, compare(binder, node, function, left, right))


def bind_between(binder: Binder, node: exp.Expr) -> Operand:
    """The condition x BETWEEN low AND high, also of rows."""
    parts = [node.args[arg] for arg in ("this", "low", "high")]
    if _by_parts(binder, parts):
        of, low, high = parts
        return Operand(node, junction("and", [negation(_before(binder, of, low)), negation(_before(binder, high, of))]))
    value, least, most = collated_alike(binder, node, list(map(binder.bind, parts)))
    bounds = [compare(binder, node, "ge", value, least), compare(binder, node, "le", value, most)]
    return Operand(node, junction("and", bounds))


def bind_in(binder: Binder, node: exp.Expr) -> Operand:
    """The condition x IN (a, b, ...), also of rows; expressions that are not constants are compared one by one."""
    if _by_parts(binder, (node.this, *node.expressions)):
        return Operand(node, junction("or", [_equal(binder, node.this, each) for each in node.expressions]))
    first, *others = same_type(binder, node, list(map(binder.bind, (node.this, *node.expressions))))
    if first.type == NULL:
        return Operand(node, Literal(None, BOOLEAN))
    if all(isinstance(other, Literal) for other in others):
        nullable = first.nullable or any(other.nullable for other in others)
        return Operand(node, Call("in", (first, *others), BOOLEAN, nullable))
    return Operand(node, junction("or", [comparison("eq", first, other) for other in others]))


def _by_parts(binder: Binder, nodes: Sequence[exp.Expr]) -> bool:
    """Whether rows are compared, value by value; beside structs that are not written as rows, rows are structs too."""
    others = [node for node in nodes if parts_of(node) is None]
    if len(others) in (0, len(nodes)):
        return not others
    return any(binder.bind(node).type.kind is not Kind.STRUCT for node in others)


HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.Is: bind_is,
    exp.And: _bind_chain,
    exp.Or: _bind_chain,
    exp.Not: lambda binder, node: Operand(node, negation(binder.condition(node.this))),
}
