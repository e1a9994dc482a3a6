"""Intervals: constant ones and those that vary, what is made of them, and comparing them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from catalog.calendar import DAY
from catalog.types import BIGINT, INTEGER, INTERVAL, NULL, TIMESTAMP, TIMESTAMPTZ, SqlType
from sql.bind.expressions.binder import Binder, Handler
from sql.bind.expressions.operand import Operand, Span
from sql.ir.scalar import Call, Literal, Scalar
from sql.types.calendar import Interval, interval, unit_of

_NONE = Literal(None, INTERVAL)
_MONTH_DAYS = 30
"""Days that a month counts for where intervals are compared."""


def bind_interval(binder: Binder, node: exp.Expr) -> Operand:
    """INTERVAL '3' MONTH, INTERVAL 3 MONTH, INTERVAL '1 year 2 days', INTERVAL (n) MONTH."""
    amount, unit = node.this.unnest(), node.args.get("unit")
    if isinstance(amount, exp.Neg) and isinstance(amount.this, exp.Literal):
        amount = exp.Literal.string(f"-{amount.this.name}")
    try:
        if unit is None:
            if not isinstance(amount, exp.Literal):
                binder.refuse(node, "an INTERVAL needs a unit; write INTERVAL (n) DAY")
            return constant(node, interval(amount.name))
        one = unit_of(unit.name)
        if isinstance(amount, exp.Literal):
            return constant(node, one.times(_amount(amount.name, one)))
    except ValueError as error:
        binder.fail(node, f"cannot read this interval: {error}")
    return multiple(binder, node, one, binder.value(amount))


def _amount(text: str, unit: Interval) -> int:
    value = float(text)
    if value != int(value) and unit.micros:
        raise ValueError(f"{text} is no whole number; write the next smaller unit")
    return int(value)


def constant(node: exp.Expr, value: Interval) -> Operand:
    """A constant interval."""
    return Operand(node, _NONE, value)


def multiple(binder: Binder, node: exp.Expr, unit: Interval, factor: Operand) -> Operand:
    """A constant interval times a number of integers."""
    if factor.integer is not None:
        return constant(node, unit.times(factor.integer))
    if factor.type == NULL:
        return Operand(node, _NONE, span=Span(Literal(None, INTEGER), None))
    if not factor.type.is_integer:
        binder.mismatch(node, f"an INTERVAL times a {factor.type} is not supported; cast the factor to INTEGER")
    months = _times(binder.cast(factor, INTEGER), unit.months, INTEGER) if unit.months else None
    micros = unit.days * DAY + unit.micros
    return Operand(
        node, _NONE, span=Span(months, _times(binder.cast(factor, BIGINT), micros, BIGINT) if micros else None)
    )


def _times(factor: Scalar, size: int, type_: SqlType) -> Scalar:
    return factor if size == 1 else Call("mul", (factor, Literal(size, type_)), type_, factor.nullable)


def negative(operand: Operand) -> Operand:
    """Minus an interval."""
    if operand.interval is not None:
        return constant(operand.node, operand.interval.times(-1))
    assert operand.span is not None, "the caller has looked"
    span = Span(_negative(operand.span.months), _negative(operand.span.micros))
    return Operand(operand.node, _NONE, span=span)


def _negative(scalar: Scalar | None) -> Scalar | None:
    return None if scalar is None else Call("neg", (scalar,), scalar.type, scalar.nullable)


def sum_of(node: exp.Expr, left: Operand, right: Operand) -> Operand:
    """The sum of two intervals."""
    if left.interval is not None and right.interval is not None:
        return constant(node, left.interval.plus(right.interval))
    first, second = span_of(left), span_of(right)
    return Operand(node, _NONE, span=Span(_plus(first.months, second.months), _plus(first.micros, second.micros)))


def _plus(left: Scalar | None, right: Scalar | None) -> Scalar | None:
    if left is None or right is None:
        return right if left is None else left
    return Call("add", (left, right), left.type, left.nullable or right.nullable)


def span_of(operand: Operand) -> Span:
    """An interval's parts as expressions; None for parts that are zero."""
    if operand.span is not None:
        return operand.span
    assert operand.interval is not None, "the caller has looked"
    months, micros = operand.interval.months, operand.interval.days * DAY + operand.interval.micros
    return Span(Literal(months, INTEGER) if months else None, Literal(micros, BIGINT) if micros else None)


def difference(binder: Binder, node: exp.Expr, left: Operand, right: Operand) -> Operand:
    """TIMESTAMP - TIMESTAMP, an interval of microseconds; a DATE counts from its midnight."""
    zoned = TIMESTAMPTZ in (left.type, right.type)
    args = tuple(without_zone(binder, operand, zoned) for operand in (left, right))
    micros = Call("micros_between", args, BIGINT, any(arg.nullable for arg in args))
    return Operand(node, _NONE, span=Span(None, micros))


def without_zone(binder: Binder, operand: Operand, zoned: bool = False) -> Scalar:
    """A moment as a TIMESTAMP, in UTC; a text as one with time zone if it is beside such a one."""
    if zoned and operand.is_text_literal:
        operand = Operand(operand.node, binder.cast(operand, TIMESTAMPTZ))
    return binder.cast(operand, TIMESTAMP)


def comparable(binder: Binder, node: exp.Expr, nodes: Sequence[exp.Expr]) -> list[Operand]:
    """The operands of a comparison. Intervals are compared by their length, a month counting 30 days of 24 hours."""
    operands = [binder.bind(part) for part in nodes]
    if not any(operand.type == INTERVAL for operand in operands):
        return operands
    return [Operand(operand.node, _length(binder, node, operand)) for operand in operands]


def _length(binder: Binder, node: exp.Expr, operand: Operand) -> Scalar:
    if operand.is_text_literal and isinstance(operand.scalar, Literal):
        try:
            operand = constant(operand.node, interval(str(operand.scalar.value)))
        except ValueError as error:
            binder.fail(operand.node, f"cannot read this interval: {error}")
    if operand.type != INTERVAL:
        binder.mismatch(node, f"cannot compare INTERVAL and {operand.type}; write INTERVAL '1' DAY or the like")
    span = span_of(operand)
    months = span.months
    if months is not None:
        wide = Call("cast", (months,), BIGINT, months.nullable)
        months = _times(wide, _MONTH_DAYS * DAY, BIGINT)
    return _plus(months, span.micros) or Literal(0, BIGINT)


def _to_unit(unit: str) -> Handler:
    def bind(binder: Binder, node: exp.Expr) -> Operand:
        amount = node.expressions[0] if isinstance(node, exp.Anonymous) else node.this
        return multiple(binder, node, unit_of(unit), binder.value(amount))

    return bind


TO_UNITS = {
    f"to_{unit}": _to_unit(unit)
    for unit in ("microseconds", "milliseconds", "seconds", "minutes", "hours", "days", "weeks", "months", "quarters",
                 "years", "decades", "centuries")
}  # fmt: skip
"""The functions that make an interval of a number, by name."""

HANDLERS: dict[type[exp.Expr], Handler] = {exp.Interval: bind_interval, exp.ToDays: TO_UNITS["to_days"]}
