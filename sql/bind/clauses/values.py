"""Rows that are written in the query: VALUES in FROM or alone."""

from __future__ import annotations

from sqlglot import exp

from catalog.schema import Field
from catalog.types import INTEGER, NULL
from sql.bind.context import BindContext
from sql.bind.expressions.binder import Binder
from sql.bind.expressions.comparisons import unified
from sql.bind.expressions.handlers import HANDLERS
from sql.bind.expressions.operand import Operand
from sql.bind.names.scope import Scope
from sql.ir.relation import Constant
from sql.ir.scalar import Literal, Value
from sql.tree import values_of


def bind_values(context: BindContext, node: exp.Values) -> Constant:
    """The rows of VALUES (...), (...); columns are called col0, col1, ... and have the common type of their values."""
    binder = Binder(context.source, Scope(), HANDLERS, "VALUES", outer=tuple(context.outer_rows))
    binder.functions = context.catalog.functions
    rows = [[binder.bind(item) for item in values_of(row)] for row in node.expressions]
    if len({len(row) for row in rows}) != 1:
        context.fail(node, "the rows of VALUES have different numbers of values; write as many in each")
    columns = [_column(binder, node, [row[i] for row in rows]) for i in range(len(rows[0]))]
    fields = tuple(
        Field(f"col{i}", column[0].type, any(value.value is None for value in column))
        for i, column in enumerate(columns)
    )
    values: list[tuple[Value, ...]] = [tuple(column[i].value for column in columns) for i in range(len(rows))]
    return Constant(tuple(values), fields)


def _column(binder: Binder, node: exp.Expr, operands: list[Operand]) -> list[Literal]:
    scalars, type_ = unified(binder, node, "a column of VALUES", operands)
    literals = []
    for operand, scalar in zip(operands, scalars, strict=True):
        if not isinstance(scalar, Literal):
            binder.refuse(operand.node, "VALUES holds constants only; compute in a SELECT around it")
        literals.append(Literal(None, INTEGER) if type_ == NULL else scalar)
    return literals
