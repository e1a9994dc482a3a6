"""Arithmetic with moments: dates and timestamps and times of day, plus and minus intervals, days and each other."""

from __future__ import annotations

from sqlglot import exp

from ivm.catalog.calendar import DAY
from ivm.catalog.types import BIGINT, DATE, INTEGER, INTERVAL, NULL, TIME, TIMESTAMP, TIMESTAMPS, TIMESTAMPTZ
from ivm.sql.bind.expressions.binder import Binder
from ivm.sql.bind.expressions.operand import Operand
from ivm.sql.bind.functions.computed import computed_of
from ivm.sql.bind.functions.intervals import negative
from ivm.sql.ir.functions.nested import places_of
from ivm.sql.ir.intervals import days_and_time, is_zero, made_of, parts_of, steps_of
from ivm.sql.ir.limits import DATE_RANGE
from ivm.sql.ir.scalar import Call, Literal, Scalar
from ivm.sql.types.calendar import add_interval
from ivm.sql.types.unify import holds


def arithmetic(function: str, left: Scalar, right: Scalar) -> Scalar:
    """A function of two BIGINTs that gives one."""
    return Call(function, (left, right), BIGINT, left.nullable or right.nullable)


def moment_of(binder: Binder, node: exp.Expr, operand: Operand, function: str) -> Operand:
    """The operand, which must be a DATE or TIMESTAMP: one of another unit as TIMESTAMP, with time zone in UTC."""
    if not operand.type.is_moment:
        binder.mismatch(node, f"{function} needs a DATE or TIMESTAMP, not a {operand.type}; cast it")
    return operand if operand.type == DATE else Operand(operand.node, binder.cast(operand, TIMESTAMP))


def add_moment(binder: Binder, node: exp.Expr, moment: Operand, added: Operand, sign: int) -> Operand:
    """A DATE or TIMESTAMP plus (`sign` 1) or minus (-1) an interval, a DATE and a number of days or a TIME.

    With an interval the result is a TIMESTAMP, as in DuckDB, with time zone if `moment` has one; and a TIME goes on at
    midnight.
    """
    if added.type == INTERVAL:
        span = added if sign > 0 else negative(added)
        if moment.type == TIME:
            return _time_of_day(binder, node, moment, span)
        if binder.tells_in_zone(moment.type) and not all(map(is_zero, made_of(span.scalar)[:2])):
            return computed_of(node, "{} + {}".format(*places_of(2)), (moment.scalar, span.scalar), TIMESTAMPTZ)
        shifted = Operand(node, _shifted(binder, node, moment, span))
        return Operand(node, binder.by_utc(shifted, TIMESTAMPTZ)) if moment.type == TIMESTAMPTZ else shifted
    if {moment.type, added.type} == {DATE, TIME} and sign > 0:
        date, time = (moment, added) if moment.type == DATE else (added, moment)
        midnight, since = binder.cast(date, TIMESTAMP), _micros(time.scalar)
        return binder.call(node, "add_micros", (midnight, since), TIMESTAMP)
    if added.type == NULL and (moment.type != TIME or sign < 0):
        return Operand(node, Literal(None, TIMESTAMP if moment.type in TIMESTAMPS else moment.type))
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


def difference(binder: Binder, node: exp.Expr, left: Operand, right: Operand) -> Operand:
    """TIMESTAMP - TIMESTAMP, an interval of days and time; a DATE counts from its midnight, and moments by the days of
    their zone, which clocks make longer and shorter.
    """
    if binder.tells_in_zone(left.type, right.type):
        moments = [binder.cast(operand, TIMESTAMPTZ) for operand in (left, right)]
        return computed_of(node, "{} - {}".format(*places_of(2)), moments, INTERVAL)
    zoned = TIMESTAMPTZ in (left.type, right.type)
    args = tuple(without_zone(binder, operand, zoned) for operand in (left, right))
    micros = Call("micros_between", args, BIGINT, any(arg.nullable for arg in args))
    return Operand(node, days_and_time(micros))


def without_zone(binder: Binder, operand: Operand, zoned: bool = False) -> Scalar:
    """A moment as a TIMESTAMP, in UTC; a text as one with time zone if it is beside such a one."""
    if zoned and operand.is_text_literal:
        operand = Operand(operand.node, binder.cast(operand, TIMESTAMPTZ))
    return binder.by_utc(operand, TIMESTAMP)


def _shifted(binder: Binder, node: exp.Expr, moment: Operand, added: Operand) -> Scalar:
    result = without_zone(binder, moment)
    try:
        if added.interval is not None and isinstance(result, Literal) and isinstance(result.value, int):
            return Literal(add_interval(result.value, added.interval), TIMESTAMP)
        steps = steps_of(added.scalar)
    except ValueError as error:
        binder.fail(node, f"cannot add the interval: {error}")
    for function, part in zip(("add_months", "add_micros"), steps, strict=True):
        if part is not None:
            result = Call(function, (result, part), TIMESTAMP, result.nullable or part.nullable)
    return result


def _time_of_day(binder: Binder, node: exp.Expr, time: Operand, added: Operand) -> Operand:
    """A TIME plus the hours and less of an interval, its days and months left out, around midnight."""
    if added.interval is not None:
        micros: Scalar = Literal(added.interval.micros % DAY, BIGINT)
    else:
        micros = _whole_day("mod", parts_of(added.scalar)[-1])
    nullable = time.scalar.nullable or micros.nullable
    total = _whole_day("mod", _whole_day("add", Call("add", (_micros(time.scalar), micros), BIGINT, nullable)))
    return Operand(node, Call("cast", (total,), TIME, nullable))


def _whole_day(function: str, micros: Scalar) -> Scalar:
    return Call(function, (micros, Literal(DAY, BIGINT)), BIGINT, micros.nullable)


def _micros(time: Scalar) -> Scalar:
    """The microseconds since midnight."""
    return Call("cast", (time,), BIGINT, time.nullable)
