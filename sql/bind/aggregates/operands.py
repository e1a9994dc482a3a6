"""What aggregates take: numbers, and values that have an order."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ivm.catalog.types import BIGINT, BOOLEAN, INTEGER, NULL, VARCHAR
from ivm.sql.bind.aggregates.calls import AggregateCall
from ivm.sql.bind.expressions.binder import Binder
from ivm.sql.bind.expressions.operand import Operand
from ivm.sql.ir.aggregates import AggregateOrder
from ivm.sql.ir.scalar import Literal


def order_of(binder: Binder, call: AggregateCall) -> tuple[AggregateOrder, ...]:
    """The terms of its ORDER BY."""
    return order_by(binder, call.order)


def order_by(binder: Binder, items: Sequence[exp.Expr]) -> tuple[AggregateOrder, ...]:
    """The terms that nodes of ORDER BY write."""
    terms = []
    for item in items:
        scalar = binder.bind(item.this).stored
        terms.append(AggregateOrder(scalar, bool(item.args.get("desc")), bool(item.args.get("nulls_first"))))
    return tuple(terms)


def numeric(binder: Binder, call: AggregateCall, operand: Operand) -> Operand:
    """An operand that must be a number."""
    if operand.type == NULL:
        return Operand(operand.node, Literal(None, BIGINT))
    if operand.type == BOOLEAN and call.function == "sum":
        return Operand(operand.node, binder.cast(operand, INTEGER))
    if not operand.type.is_numeric:
        instead = "" if operand.type == VARCHAR else "; cast it to a number"
        binder.mismatch(call.node, f"{call.function}() needs numbers, not {operand.type}{instead}")
    return operand
