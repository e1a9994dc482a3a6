"""Intervals: constants, those made of numbers, and arithmetic among them; that with moments is in `shifts`."""

from __future__ import annotations

from contextlib import suppress
from math import isfinite

from sqlglot import exp

from ivm.catalog.types import BIGINT, DOUBLE, INTEGER, INTERVAL, NULL, SqlType
from ivm.sql.bind.expressions.binder import Binder, Handler
from ivm.sql.bind.expressions.operand import Operand
from ivm.sql.ir.intervals import PART_TYPES, interval_of, is_zero, made_of
from ivm.sql.ir.scalar import Call, Literal, Scalar
from ivm.sql.types.calendar import Interval, interval, unit_of
from ivm.sql.types.unify import fits

_FRACTIONAL = {"second": "to_seconds", "millisecond": "to_milliseconds"}
"""The units of which a fraction is taken, and DuckDB's functions that do it."""


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
            return constant(node, _so_many(amount.name, one))
    except ValueError as error:
        binder.fail(node, f"cannot read this interval: {error}")
    factor = binder.bind(amount)
    if factor.type.is_numeric and not factor.type.is_integer and one not in map(unit_of, _FRACTIONAL):
        whole = Call("trunc", (binder.cast(factor, DOUBLE), Literal(0, INTEGER)), DOUBLE, factor.scalar.nullable)
        factor = Operand(amount, binder.cast(Operand(amount, whole), INTEGER if one.months or one.days else BIGINT))
    return multiple(binder, node, one, factor)


def _so_many(text: str, unit: Interval) -> Interval:
    """A number of units; a fraction counts of seconds and less alone, as in DuckDB."""
    value = float(text)
    if not isfinite(value):
        raise ValueError(f"{text} is not finite; write a number")
    if value == int(value) or not 0 < unit.micros <= unit_of("second").micros:
        return unit.times(int(value))
    return Interval(micros=round(value * unit.micros))


def constant(node: exp.Expr, value: Interval) -> Operand:
    """A constant interval."""
    return Operand(node, Literal(value.value, INTERVAL))


def multiple(binder: Binder, node: exp.Expr, unit: Interval, factor: Operand) -> Operand:
    """A constant interval times a number of integers."""
    if factor.integer is not None:
        try:
            return constant(node, unit.times(factor.integer))
        except ValueError as error:
            binder.fail(node, f"cannot read this interval: {error}")
    if factor.type == NULL:
        return Operand(node, Literal(None, INTERVAL))
    if factor.type.is_numeric and not factor.type.is_integer:
        known = next((name for name in _FRACTIONAL if unit_of(name) == unit), None)
        if known is not None:
            return binder.call(node, f"{_FRACTIONAL[known]} of DOUBLE", (binder.cast(factor, DOUBLE),), INTERVAL)
    if not factor.type.is_integer:
        binder.mismatch(node, f"an INTERVAL times a {factor.type} is not supported; cast the factor to INTEGER")
    sizes = (unit.months, unit.days, unit.micros)
    months, days, micros = (
        _times(binder.cast(factor, type_), size, type_) for size, type_ in zip(sizes, PART_TYPES, strict=True)
    )
    return Operand(node, interval_of((months, days, micros)))


def _times(factor: Scalar, size: int, type_: SqlType) -> Scalar:
    if size == 0:
        return Literal(0, type_)
    return factor if size == 1 else Call("mul", (factor, Literal(size, type_)), type_, factor.nullable)


def negative(operand: Operand) -> Operand:
    """Minus an interval."""
    if operand.interval is not None:
        with suppress(ValueError):
            return constant(operand.node, operand.interval.times(-1))
    scalar = operand.scalar
    if isinstance(scalar, Call) and scalar.function == "days_and_time":
        return Operand(operand.node, Call(scalar.function, (_negative(scalar.args[0]),), INTERVAL, scalar.nullable))
    months, days, micros = map(_negative, made_of(scalar))
    return Operand(operand.node, interval_of((months, days, micros)))


def _negative(scalar: Scalar) -> Scalar:
    if isinstance(scalar, Literal) and (scalar.value is None or fits(-int(scalar.value), scalar.type)):
        return Literal(None if scalar.value is None else -int(scalar.value), scalar.type)
    return Call("neg", (scalar,), scalar.type, scalar.nullable)


def sum_of(node: exp.Expr, left: Operand, right: Operand) -> Operand:
    """The sum of two intervals, part by part."""
    if left.interval is not None and right.interval is not None:
        with suppress(ValueError):  # of one that is too long; then it is the sum that raises
            return constant(node, left.interval.plus(right.interval))
    months, days, micros = map(_plus, made_of(left.scalar), made_of(right.scalar))
    return Operand(node, interval_of((months, days, micros)))


def _plus(left: Scalar, right: Scalar) -> Scalar:
    for zero, other in ((left, right), (right, left)):
        if is_zero(zero):
            return other
    return Call("add", (left, right), left.type, left.nullable or right.nullable)


def product(binder: Binder, node: exp.Expr, of: Operand, factor: Operand) -> Operand:
    """An interval times a number: part by part of an integer; of any other what is left goes to the next part."""
    if of.interval is not None and factor.integer is not None:
        return multiple(binder, node, of.interval, factor)
    if NULL in (of.type, factor.type):
        return Operand(node, Literal(None, INTERVAL))
    if not factor.type.is_numeric:
        binder.mismatch(node, f"cannot compute INTERVAL * {factor.type}; cast to a number")
    if not factor.type.is_integer:
        return binder.call(node, "INTERVAL * DOUBLE", (of.scalar, binder.cast(factor, DOUBLE)), INTERVAL)
    times = binder.cast(factor, BIGINT)
    given = made_of(of.scalar)
    months, days, micros = (part if is_zero(part) else _part_times(part, times) for part in given)
    if all(map(is_zero, given)):  # but where the factor is NULL
        micros = _part_times(micros, times)
    return Operand(node, interval_of((months, days, micros)))


def _part_times(part: Scalar, factor: Scalar) -> Scalar:
    nullable = part.nullable or factor.nullable
    if part.type == BIGINT:
        return Call("mul", (part, factor), BIGINT, nullable)
    wide = Literal(part.value, BIGINT) if isinstance(part, Literal) else Call("cast", (part,), BIGINT, part.nullable)
    return Call("cast", (Call("mul", (wide, factor), BIGINT, nullable),), part.type, nullable)


def quotient(binder: Binder, node: exp.Expr, of: Operand, divisor: Operand) -> Operand:
    """An interval divided by a number."""
    if divisor.type == NULL:
        return Operand(node, Literal(None, INTERVAL))
    if not divisor.type.is_numeric:
        binder.mismatch(node, f"cannot compute INTERVAL / {divisor.type}; divide epoch(..) of both")
    return binder.call(node, "INTERVAL / DOUBLE", (of.scalar, binder.cast(divisor, DOUBLE)), INTERVAL)


def as_interval(binder: Binder, node: exp.Expr) -> Operand:
    """An operand that must be an INTERVAL, or the text of one."""
    operand = binder.bind(node)
    if operand.type not in (INTERVAL, NULL) and not operand.is_text_literal:
        binder.mismatch(node, f"an INTERVAL is needed here, not {operand.type}; write INTERVAL (n) DAY")
    return Operand(node, binder.cast(operand, INTERVAL))


def _to_unit(unit: str) -> Handler:
    def bind(binder: Binder, node: exp.Expr) -> Operand:
        amount = node.expressions[0] if isinstance(node, exp.Anonymous) else node.this
        return multiple(binder, node, unit_of(unit), binder.bind(amount))

    return bind


TO_UNITS = {
    f"to_{unit}": _to_unit(unit)
    for unit in ("microseconds", "milliseconds", "seconds", "minutes", "hours", "days", "weeks", "months", "quarters",
                 "years", "decades", "centuries", "millennia")
}  # fmt: skip
"""The functions that make an interval of a number, by name."""

HANDLERS: dict[type[exp.Expr], Handler] = {exp.Interval: bind_interval, exp.ToDays: TO_UNITS["to_days"]}
