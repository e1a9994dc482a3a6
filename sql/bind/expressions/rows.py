"""Comparisons of rows: (a, b) = (1, 2), (a, b) < (c, d), (a, b) IN ((1, 2), (3, 4)), ROW(a, b) and BETWEEN of them.

They are what DuckDB makes of them: never NULL. A NULL within a row equals a NULL and is greater than every value. What
a subquery gives (IN (SELECT ...)) is compared value by value, with three-valued logic, by the module `subqueries`.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from catalog.types import NULL, VARCHAR
from sql.bind.expressions import comparisons
from sql.bind.expressions.binder import Binder
from sql.bind.expressions.comparisons import compare
from sql.bind.expressions.operand import Operand
from sql.bind.functions.intervals import comparable
from sql.ir.conditions import coalesced, is_null, junction, negation
from sql.ir.scalar import FALSE, Scalar
from sql.sql_text import text_of


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
    operands = comparable(binder, right, (left, right))
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
    if not _any_row((node.this, node.expression)):
        return comparisons.bind_comparison(binder, node)
    return Operand(node, _compared(binder, comparisons.FUNCTIONS[type(node)], node.this, node.expression))


def bind_between(binder: Binder, node: exp.Expr) -> Operand:
    """The condition x BETWEEN low AND high, also of rows."""
    of, low, high = (node.args[arg] for arg in ("this", "low", "high"))
    if not _any_row((of, low, high)):
        return comparisons.bind_between(binder, node)
    return Operand(node, junction("and", [negation(_before(binder, of, low)), negation(_before(binder, high, of))]))


def bind_in(binder: Binder, node: exp.Expr) -> Operand:
    """The condition x IN (a, b, ...), also of rows."""
    if not _any_row((node.this, *node.expressions)):
        return comparisons.bind_in(binder, node)
    return Operand(node, junction("or", [_equal(binder, node.this, each) for each in node.expressions]))


def _any_row(nodes: Sequence[exp.Expr]) -> bool:
    return any(parts_of(node) is not None for node in nodes)
