"""Intervals, constant ones and those that vary, and arithmetic with them on dates and timestamps."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from math import isfinite

from sqlglot import exp

from catalog.calendar import DAY
from catalog.types import BIGINT, DATE, INTEGER, INTERVAL, NULL, TIME, TIMESTAMP, TIMESTAMPTZ, SqlType
from sql.bind.expressions.binder import Binder, Handler
from sql.bind.expressions.operand import Operand, Span
from sql.ir.limits import DATE_RANGE
from sql.ir.scalar import Call, Literal, Scalar
from sql.types.calendar import Interval, add_interval, interval, unit_of
from sql.types.unify import holds

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
    if not isfinite(value):
        raise ValueError(f"{text} is not finite; write a number")
    if value != int(value) and unit.micros:
        raise ValueError(f"{text} is no whole number; write the next smaller unit")
    return int(value)


def constant(node: exp.Expr, value: Interval) -> Operand:
    """A constant interval."""
    return Operand(node, _NONE, value)


def multiple(binder: Binder, node: exp.Expr, unit: Interval, factor: Operand) -> Operand:
    """A constant interval times a number of integers."""
    if factor.integer is not None:
        try:
            return constant(node, unit.times(factor.integer))
        except ValueError as error:
            binder.fail(node, f"cannot read this interval: {error}")
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
        with suppress(ValueError):  # of one that is too long; then it is the sum that raises
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


def add_moment(binder: Binder, node: exp.Expr, moment: Operand, added: Operand, sign: int) -> Operand:
    """A DATE or TIMESTAMP plus (`sign` 1) or minus (-1) an interval, a DATE and a number of days or a TIME.

    With an interval the result is a TIMESTAMP, as in DuckDB, with time zone if `moment` has one; and a TIME goes on at
    midnight.
    """
    if added.type == INTERVAL:
        span = added if sign > 0 else negative(added)
        if moment.type == TIME:
            return _time_of_day(binder, node, moment, span)
        shifted = Operand(node, _shifted(binder, node, moment, span))
        return Operand(node, binder.cast(shifted, TIMESTAMPTZ)) if moment.type == TIMESTAMPTZ else shifted
    if {moment.type, added.type} == {DATE, TIME} and sign > 0:
        date, time = (moment, added) if moment.type == DATE else (added, moment)
        midnight, since = binder.cast(date, TIMESTAMP), _micros(time.scalar)
        return binder.call(node, "add_micros", (midnight, since), TIMESTAMP)
    if added.type == NULL and (moment.type != TIME or sign < 0):
        return Operand(node, Literal(None, moment.type))
    if moment.type != DATE or not (added.type.is_integer and holds(INTEGER, added.type)):
        what = f"{moment.type} {'+' if sign > 0 else '-'} {added.type}"
        binder.mismatch(node, f"cannot compute {what}; add an INTERVAL, or to a DATE an INTEGER number of days")
    days = binder.cast(added, INTEGER)
    if isinstance(days, Literal) and isinstance(days.value, int):
        days = Literal(days.value * sign, INTEGER)
        if isinstance(moment.scalar, Literal) and isinstance(moment.scalar.value, int):
            day = moment.scalar.value + int(days.value or 0)
            if DATE_RANGE[0] <= day <= DATE_RANGE[1]:
                return Operand(node, Literal(day, DATE))
    elif sign < 0:
        days = Call("neg", (days,), INTEGER, days.nullable)
    return binder.call(node, "add_days", (moment.scalar, days), DATE)


def subtract_moment(binder: Binder, node: exp.Expr, left: Operand, right: Operand) -> Operand:
    """DATE - DATE, a BIGINT number of days; of a TIMESTAMP, an interval; or minus an interval or a number of days."""
    if left.type == DATE and (right.type == DATE or right.is_text_literal):
        return binder.call(node, "days_between", (left.scalar, binder.cast(right, DATE)), BIGINT)
    if left.type.is_moment and (right.type.is_moment or right.is_text_literal):
        return difference(binder, node, left, right)
    return add_moment(binder, node, left, right, -1)


def _shifted(binder: Binder, node: exp.Expr, moment: Operand, added: Operand) -> Scalar:
    base = without_zone(binder, moment)
    if added.interval is not None and isinstance(base, Literal) and isinstance(base.value, int):
        try:
            return Literal(add_interval(base.value, added.interval), TIMESTAMP)
        except ValueError as error:
            binder.fail(node, f"cannot add the interval: {error}")
    return _added(base, span_of(added))


def _time_of_day(binder: Binder, node: exp.Expr, time: Operand, added: Operand) -> Operand:
    """A TIME plus the hours and less of an interval, its days and months left out, around midnight."""
    if added.interval is not None:
        micros: Scalar = Literal(added.interval.micros % DAY, BIGINT)
    else:
        micros = _whole_day("mod", span_of(added).micros or Literal(0, BIGINT))
    nullable = time.scalar.nullable or micros.nullable
    total = _whole_day("mod", _whole_day("add", Call("add", (_micros(time.scalar), micros), BIGINT, nullable)))
    return Operand(node, Call("cast", (total,), TIME, nullable))


def _whole_day(function: str, micros: Scalar) -> Scalar:
    return Call(function, (micros, Literal(DAY, BIGINT)), BIGINT, micros.nullable)


def _micros(time: Scalar) -> Scalar:
    """The microseconds since midnight."""
    return Call("cast", (time,), BIGINT, time.nullable)


def _added(result: Scalar, span: Span) -> Scalar:
    for function, part in (("add_months", span.months), ("add_micros", span.micros)):
        if part is not None:
            result = Call(function, (result, part), TIMESTAMP, result.nullable or part.nullable)
    return result
