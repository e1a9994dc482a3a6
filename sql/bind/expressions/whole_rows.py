"""Rows of a table as values: `t` of a table t is a struct of its columns, and count(t.*) counts those there are."""

from __future__ import annotations

from sqlglot import exp

from ivm.catalog.names import key
from ivm.catalog.types import INTEGER, struct_of
from ivm.sql.bind.expressions.binder import Binder
from ivm.sql.bind.expressions.operand import Operand
from ivm.sql.bind.names.scope import Scope
from ivm.sql.ir.conditions import is_null, junction
from ivm.sql.ir.scalar import Call, Literal, Scalar


def row_of(binder: Binder, node: exp.Column) -> Operand | None:
    """The row of the table that `node` names, if it is no column; None if there is no such table."""
    scope = _with(binder, node.name) if not node.table else None
    if scope is None:
        return None
    fields = scope.visible(node.name)
    columns = _columns(binder, node, node.name, scope)
    type_ = struct_of((field.name, column.type) for field, column in zip(fields, columns, strict=True))
    return Operand(node, Call("struct_pack", tuple(columns), type_, nullable=False))


def is_counted(node: exp.Column) -> bool:
    """Whether this is the star of count(t.*)."""
    star, call = node.this, node.parent
    plain = isinstance(star, exp.Star) and not any(star.args.values())
    return plain and bool(node.table) and isinstance(call, exp.Count) and call.this is node and not call.expressions


def counted_row(binder: Binder, node: exp.Column) -> Operand:
    """What count(t.*) counts: something that is NULL where an outer join has no row of `t`. A row of NULLs behind an
    outer join counts as none, as in DuckDB for all that is no table of its own.
    """
    scope = binder.scope
    if not scope.has(node.table):  # of a query around it is not known here, as in DuckDB
        binder.fail(node, scope.unknown("*", node.table))
    there = Literal(1, INTEGER)
    if key(node.table) not in scope.padded:
        return Operand(node, there)
    missing = junction("and", map(is_null, _columns(binder, node, node.table, scope)))
    return Operand(node, Call("case", (missing, Literal(None, INTEGER), there), INTEGER))


def _with(binder: Binder, table: str) -> Scope | None:
    scopes = (binder.scope, *(row.names.scope for row in reversed(binder.outer)))
    return next((scope for scope in scopes if scope.has(table)), None)


def _columns(binder: Binder, node: exp.Expr, table: str, scope: Scope) -> list[Scalar]:
    names = [exp.to_identifier(field.name, quoted=True) for field in scope.visible(table)]
    columns = [exp.column(name, table=exp.to_identifier(table, quoted=True)) for name in names]
    for column in columns:
        column.update_positions(node)
    return [binder.bind(column).scalar for column in columns]
