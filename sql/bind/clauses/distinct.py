"""DISTINCT and DISTINCT ON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from sql.bind.clauses.order import position
from sql.bind.context import BindContext
from sql.ir.rebuild import row
from sql.ir.relation import Order, Reduce, Relation, TopK
from sql.ir.scalar import Call, Column, Literal, Scalar
from sql.tree import values_of


@dataclass(frozen=True, slots=True)
class Distinct:
    """DISTINCT: of whole rows, or (`on`) the first row, in the block's order, for each value of these columns."""

    on: tuple[int, ...] = ()


def bind_distinct(
    context: BindContext,
    node: exp.Select,
    names: Sequence[str],
    outputs: list[Scalar],
    bind: Callable[[exp.Expr], Scalar],
) -> Distinct | None:
    """The DISTINCT of a block, or None. What ON names and is no output is put at the end of `outputs`."""
    clause = node.args.get("distinct")
    if clause is None:
        return None
    on = clause.args.get("on")
    if on is None:
        return Distinct()
    width = len(names)
    columns = [_column(context, item, names, width, outputs, bind) for item in values_of(on)]
    if not node.args.get("limit") and not node.args.get("offset"):
        context.cut.append((node, width))
    return Distinct(tuple(dict.fromkeys(columns)))


def _column(
    context: BindContext,
    item: exp.Expr,
    names: Sequence[str],
    width: int,
    outputs: list[Scalar],
    bind: Callable[[exp.Expr], Scalar],
) -> int:
    found = position(context, item, names, width, "DISTINCT ON")
    if found is not None:
        return found
    scalar = bind(item)
    if scalar not in outputs:
        outputs.append(scalar)
    return outputs.index(scalar)


def over_distinct(
    context: BindContext, outputs: Sequence[Scalar], hidden: Sequence[tuple[Scalar, exp.Expr]]
) -> list[Scalar]:
    """ORDER BY expressions, each with its node, over the distinct rows of `outputs`.

    UnsupportedError for one that rows with the same outputs may have several values of.
    """
    columns = {scalar: Column(i, scalar.type, scalar.nullable) for i, scalar in reversed(list(enumerate(outputs)))}

    def over(scalar: Scalar, node: exp.Expr) -> Scalar:
        if scalar in columns:
            return columns[scalar]
        if isinstance(scalar, Call):
            return replace(scalar, args=tuple(over(arg, node) for arg in scalar.args))
        if not isinstance(scalar, Literal):
            what = "ORDER BY an expression of what SELECT DISTINCT does not list is not supported"
            context.refuse(node, f"{what}: equal rows may have several values of it; add it to the SELECT list")
        return scalar

    return [over(scalar, node) for scalar, node in hidden]


def distinct(relation: Relation) -> Relation:
    """Each row once."""
    return Reduce(relation, row(relation), (), tuple(field.name for field in relation.schema))


def first_rows(relation: Relation, clause: Distinct, order: tuple[Order, ...]) -> Relation:
    """The first row for each value of the columns of DISTINCT ON; ties are broken as in TopK."""
    return TopK(relation, clause.on, order, 1)
