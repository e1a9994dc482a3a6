"""Expressions that have one value, whatever the rows are: those of LIMIT and of frames."""

from __future__ import annotations

from sqlglot import exp

from ivm.catalog.types import SqlType
from ivm.sql.bind.expressions.binder import Binder
from ivm.sql.bind.expressions.operand import Operand
from ivm.sql.folded import folded
from ivm.sql.ir.scalar import Literal


def constant(binder: Binder, node: exp.Expr) -> Operand | None:
    """What a node writes, with its value; None if it varies, or cannot be computed here."""
    scalar = folded(binder.bind(node).scalar)
    return Operand(node, scalar) if isinstance(scalar, Literal) else None


def value_as(binder: Binder, operand: Operand, type_: SqlType) -> Literal | None:
    """The value of a constant in another type, as a cast makes it; the error of a cast that fails."""
    scalar = folded(binder.cast(operand, type_))
    return scalar if isinstance(scalar, Literal) else None
