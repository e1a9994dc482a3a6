"""Dates, timestamps and intervals: arithmetic, EXTRACT and DATE_TRUNC."""

from __future__ import annotations

from sqlglot import exp

from catalog.types import BIGINT, DATE, INTEGER, INTERVAL, NULL, SMALLINT, TIMESTAMP, TINYINT, VARCHAR
from sql.bind.binder import Binder, Handler
from sql.bind.operand import Operand
from sql.ir.scalar import Call, Literal, Scalar
from sql.types.calendar import DAY_MICROS, Interval, add_interval, interval, unit_of


def bind_interval(binder: Binder, node: exp.Expr) -> Operand:
    """INTERVAL '3' MONTH, INTERVAL 3 MONTH, INTERVAL '1 year 2 days', INTERVAL (3) MONTH: constants."""
    amount, unit = node.this.unnest(), node.args.get("unit")
    if isinstance(amount, exp.Neg):
        amount = exp.Literal.string(f"-{amount.this.name}") if isinstance(amount.this, exp.Literal) else amount
    if not isinstance(amount, exp.Literal):
        binder.refuse(node, "an INTERVAL of a varying length is not supported; add an integer number of days to a DATE")
    try:
        if unit is None:
            return constant(node, interval(amount.name))
        return constant(node, unit_of(unit.name).times(int(float(amount.name))))
    except ValueError as error:
        binder.fail(node, f"cannot read this interval: {error}")


def constant(node: exp.Expr, value: Interval) -> Operand:
    """A constant interval."""
    return Operand(node, Literal(None, INTERVAL), value)


def add_interval_constants(node: exp.Expr, left: Operand, right: Operand, sign: int) -> Operand:
    """The sum (`sign` 1) or difference (-1) of two constant intervals."""
    assert left.interval is not None and right.interval is not None, "the caller has looked"  # noqa: PT018
    return constant(node, left.interval.plus(right.interval.times(sign)))


def add_moment(binder: Binder, node: exp.Expr, moment: Operand, added: Operand, sign: int) -> Operand:
    """A DATE or TIMESTAMP plus (`sign` 1) or minus (-1) an interval, or a DATE and a number of days.

    With an interval the result is a TIMESTAMP, as in DuckDB.
    """
    if added.interval:
        return Operand(node, _add_interval(binder, node, moment, added.interval.times(sign)))
    if added.type == NULL:
        return Operand(node, Literal(None, moment.type))
    if moment.type != DATE or added.type not in (TINYINT, SMALLINT, INTEGER):
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
    """DATE - DATE, a BIGINT number of days; or a moment minus an interval or a number of days."""
    if left.type == DATE and (right.type == DATE or right.is_text_literal):
        return binder.call(node, "days_between", (left.scalar, binder.cast(right, DATE)), BIGINT)
    if right.type in (DATE, TIMESTAMP):
        binder.refuse(node, "the difference of timestamps is an INTERVAL, which is not supported; cast both to DATE")
    return add_moment(binder, node, left, right, -1)


def _add_interval(binder: Binder, node: exp.Expr, moment: Operand, added: Interval) -> Scalar:
    result = binder.cast(moment, TIMESTAMP)
    if isinstance(result, Literal) and isinstance(result.value, int):
        try:
            return Literal(add_interval(result.value, added), TIMESTAMP)
        except ValueError as error:
            binder.fail(node, f"cannot add the interval: {error}")
    if added.months:
        result = Call("add_months", (result, Literal(added.months, INTEGER)), TIMESTAMP, result.nullable)
    micros = added.days * DAY_MICROS + added.micros
    if micros:
        result = Call("add_micros", (result, Literal(micros, BIGINT)), TIMESTAMP, result.nullable)
    return result


_PARTS = (
    "year", "month", "day", "quarter", "week", "dow", "isodow", "doy", "hour", "minute", "second", "millisecond",
    "microsecond", "decade", "century", "millennium", "era", "isoyear", "yearweek",
)  # fmt: skip
_PART_NAMES = {
    "dayofweek": "dow", "weekday": "dow", "dayofyear": "doy", "weekofyear": "week", "dayofmonth": "day",
    "centuries": "century", "millennia": "millennium",
}  # fmt: skip


def bind_extract(binder: Binder, node: exp.Expr) -> Operand:
    """EXTRACT(part FROM x)."""
    return extract(binder, node, node.this.name, node.expression)


def extract(binder: Binder, node: exp.Expr, part: str, of: exp.Expr) -> Operand:
    """The `part` of a DATE or TIMESTAMP, a BIGINT."""
    name = _part(part)
    if name not in _PARTS:
        binder.refuse(node, f"the part {part!r} of a date is not supported; parts are {', '.join(_PARTS)}")
    moment = _moment(binder, node, of, "extract")
    return binder.call(node, "extract", (Literal(name, VARCHAR), moment.scalar), BIGINT)


def bind_date_trunc(binder: Binder, node: exp.Expr) -> Operand:
    """DATE_TRUNC('part', x), a TIMESTAMP."""
    unit = node.args.get("unit")
    name = _part(unit.name if unit else "")
    try:
        unit_of(name)
    except ValueError as error:
        binder.fail(node, f"date_trunc: {error}")
    moment = _moment(binder, node, node.this, "date_trunc")
    return binder.call(node, "date_trunc", (Literal(name, VARCHAR), moment.scalar), TIMESTAMP)


def _part(name: str) -> str:
    lower = name.lower()
    lower = _PART_NAMES.get(lower, lower)
    return lower if lower in _PARTS else lower.removesuffix("s")


def _moment(binder: Binder, node: exp.Expr, of: exp.Expr, function: str) -> Operand:
    operand = binder.value(of)
    if operand.type not in (DATE, TIMESTAMP):
        binder.mismatch(node, f"{function} needs a DATE or TIMESTAMP, not a {operand.type}; cast it")
    return operand


def _part_function(part: str) -> Handler:
    def bind(binder: Binder, node: exp.Expr) -> Operand:
        return extract(binder, node, part, node.this)

    return bind


HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.Interval: bind_interval,
    exp.Extract: bind_extract,
    exp.TimestampTrunc: bind_date_trunc,
    exp.DateTrunc: bind_date_trunc,
    exp.Year: _part_function("year"),
    exp.Quarter: _part_function("quarter"),
    exp.Month: _part_function("month"),
    exp.Week: _part_function("week"),
    exp.WeekOfYear: _part_function("week"),
    exp.Day: _part_function("day"),
    exp.DayOfMonth: _part_function("day"),
    exp.DayOfWeek: _part_function("dow"),
    exp.DayOfYear: _part_function("doy"),
    exp.Hour: _part_function("hour"),
    exp.Minute: _part_function("minute"),
    exp.Second: _part_function("second"),
}
