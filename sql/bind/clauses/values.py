"""Rows that are written in the query: VALUES in FROM or alone."""

from __future__ import annotations

from sqlglot import exp

from ivm.catalog.schema import Field
from ivm.catalog.types import INTEGER, NULL
from ivm.sql.bind.clauses.joins import NOTHING
from ivm.sql.bind.context import BindContext
from ivm.sql.bind.expressions.binder import Binder
from ivm.sql.bind.expressions.comparisons import unified
from ivm.sql.bind.expressions.handlers import HANDLERS
from ivm.sql.bind.expressions.operand import Operand
from ivm.sql.bind.names.scope import Scope
from ivm.sql.ir.relation import Constant, Map, Relation, Union
from ivm.sql.ir.scalar import Literal, Scalar
from ivm.sql.tree import values_of


def bind_values(context: BindContext, node: exp.Values) -> Relation:
    """The rows of VALUES (...), (...); columns are called col0, col1, ... and have the common type of their values.

    What is computed of columns of the queries around, or of what stands to the left in FROM, is a row for each of them.
    """
    binder = Binder(context.source, Scope(), HANDLERS, "VALUES", outer=tuple(context.outer_rows))
    binder.functions = context.catalog.functions
    rows = [[binder.bind(item) for item in values_of(row)] for row in node.expressions]
    if len({len(row) for row in rows}) != 1:
        context.fail(node, "the rows of VALUES have different numbers of values; write as many in each")
    columns = [_column(binder, node, [row[i] for row in rows]) for i in range(len(rows[0]))]
    names = tuple(f"col{i}" for i in range(len(columns)))
    made = [[column[i] for column in columns] for i in range(len(rows))]
    if not all(isinstance(scalar, Literal) for row in made for scalar in row):
        first, *others = (Map(NOTHING.relation(), tuple(row), names) for row in made)
        return Union((first, *others)) if others else first
    values = [tuple(scalar.value for scalar in row if isinstance(scalar, Literal)) for row in made]
    fields = (
        Field(name, column[0].type, any(row[i] is None for row in values))
        for i, (name, column) in enumerate(zip(names, columns, strict=True))
    )
    return Constant(tuple(values), tuple(fields))


def _column(binder: Binder, node: exp.Expr, operands: list[Operand]) -> list[Scalar]:
    scalars, type_ = unified(binder, node, "a column of VALUES", operands)
    return [Literal(None, INTEGER) if type_ == NULL else scalar for scalar in scalars]
