"""Arithmetic on dates and timestamps."""

from __future__ import annotations

from sqlglot import exp

from catalog.types import BIGINT, DATE, INTEGER, INTERVAL, NULL, TIMESTAMP
from sql.bind.binder import Binder
from sql.bind.intervals import difference, negative, span_of
from sql.bind.operand import Operand, Span
from sql.ir.scalar import Call, Literal, Scalar
from sql.types.calendar import Interval, add_interval
from sql.types.term import holds


def add_moment(binder: Binder, node: exp.Expr, moment: Operand, added: Operand, sign: int) -> Operand:
    """A DATE or TIMESTAMP plus (`sign` 1) or minus (-1) an interval, or a DATE and a number of days.

    With an interval the result is a TIMESTAMP, as in DuckDB.
    """
    if added.type == INTERVAL:
        return Operand(node, _shifted(binder, node, moment, added if sign > 0 else negative(added)))
    if added.type == NULL:
        return Operand(node, Literal(None, moment.type))
    if moment.type != DATE or not (added.type.is_integer and holds(INTEGER, added.type)):
        what = f"{moment.type} {'+' if sign > 0 else '-'} {added.type}"
        binder.mismatch(node, f"cannot compute {what}; add an INTERVAL, or to a DATE an INTEGER number of days")
    days = binder.cast(added, INTEGER)
    if isinstance(days, Literal) and isinstance(days.value, int):
        days = Literal(days.value * sign, INTEGER)
        if isinstance(moment.scalar, Literal) and isinstance(moment.scalar.value, int):
            return Operand(node, Literal(moment.scalar.value + int(days.value or 0), DATE))
    elif sign < 0:
        days = Call("neg", (days,), INTEGER, days.nullable)
    return binder.call(node, "add_days", (moment.scalar, days), DATE)


def subtract_moment(binder: Binder, node: exp.Expr, left: Operand, right: Operand) -> Operand:
    """DATE - DATE, a BIGINT number of days; of a TIMESTAMP, an interval; or minus an interval or a number of days."""
    if left.type == DATE and (right.type == DATE or right.is_text_literal):
        return binder.call(node, "days_between", (left.scalar, binder.cast(right, DATE)), BIGINT)
    if right.type in (DATE, TIMESTAMP) or right.is_text_literal:
        return difference(binder, node, left, right)
    return add_moment(binder, node, left, right, -1)


def _shifted(binder: Binder, node: exp.Expr, moment: Operand, added: Operand) -> Scalar:
    base = binder.cast(moment, TIMESTAMP)
    if added.interval is not None and isinstance(base, Literal) and isinstance(base.value, int):
        return _constant(binder, node, base.value, added.interval)
    return _plus(base, span_of(added))


def _constant(binder: Binder, node: exp.Expr, micros: int, added: Interval) -> Literal:
    try:
        return Literal(add_interval(micros, added), TIMESTAMP)
    except ValueError as error:
        binder.fail(node, f"cannot add the interval: {error}")


def _plus(result: Scalar, span: Span) -> Scalar:
    for function, part in (("add_months", span.months), ("add_micros", span.micros)):
        if part is not None:
            result = Call(function, (result, part), TIMESTAMP, result.nullable or part.nullable)
    return result
