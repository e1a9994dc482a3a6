"""Parts of intervals, which are taken toward zero, each of what is left of the next longer one."""

from __future__ import annotations

from sqlglot import exp

from ivm.catalog.calendar import CLOCK, MONTHS
from ivm.catalog.types import BIGINT, DOUBLE, INTERVAL, VARCHAR
from ivm.sql.bind.expressions.binder import Binder
from ivm.sql.bind.expressions.operand import Operand
from ivm.sql.ir.intervals import parts_of
from ivm.sql.ir.scalar import Call, Literal, Scalar

_YEAR = MONTHS["year"]
_WITHIN = {
    "minute": CLOCK["hour"],
    **dict.fromkeys(("second", "millisecond", "microsecond"), CLOCK["minute"]),
}
"""What a part of the time is counted within, but for hours, which are of all of it."""
PARTS = ("epoch", "day", *MONTHS, *CLOCK)
_SECONDS = {"year": 31_557_600, "month": 2_592_000, "day": 86_400}
"""What epoch counts for them; a year has 365.25 days, a month 30."""


def of_interval(binder: Binder, node: exp.Expr, part: str, operand: Operand) -> Operand:
    """The `part` of an INTERVAL, a BIGINT; epoch, its seconds, is a DOUBLE."""
    if part not in PARTS:
        binder.refuse(node, f"an INTERVAL has no part {part!r}; its parts are {', '.join(PARTS)}")
    interval = operand.scalar
    if part == "epoch" and isinstance(interval, Call) and interval.function == "days_and_time":
        return Operand(node, _in_seconds(interval.args[0]))
    months, days, micros = parts_of(interval)
    months, days = _wide(months), _wide(days)
    if part == "epoch":
        counted = ((_op("idiv", months, _YEAR), "year"), (_op("mod", months, _YEAR), "month"), (days, "day"))
        first, *others = (_op("mul", number, _SECONDS[unit]) for number, unit in counted)
        for other in others:
            first = Call("add", (first, other), BIGINT, interval.nullable)
        seconds = Call("cast", (first,), DOUBLE, interval.nullable)
        return Operand(node, Call("add", (seconds, _in_seconds(micros)), DOUBLE, interval.nullable))
    if part == "day":
        return Operand(node, days)
    if part in CLOCK:
        rest = _op("mod", micros, _WITHIN[part]) if part in _WITHIN else micros
        return Operand(node, _op("idiv", rest, CLOCK[part]))
    if part in ("month", "quarter"):
        rest = _op("mod", months, _YEAR)
        return Operand(node, rest if part == "month" else _op("add", _op("idiv", rest, MONTHS["quarter"]), 1))
    return Operand(node, _op("idiv", months, MONTHS[part]))


def truncated(binder: Binder, node: exp.Expr, part: str, operand: Operand) -> Operand:
    """DATE_TRUNC('part', INTERVAL)."""
    return binder.call(node, "date_trunc of INTERVAL", (Literal(part, VARCHAR), operand.scalar), INTERVAL)


def _wide(part: Scalar) -> Scalar:
    if isinstance(part, Literal):
        return Literal(part.value, BIGINT)
    return Call("cast", (part,), BIGINT, part.nullable)


def _op(function: str, of: Scalar, number: int) -> Scalar:
    return Call(function, (of, Literal(number, BIGINT)), BIGINT, of.nullable)


def _in_seconds(micros: Scalar) -> Scalar:
    of = Call("cast", (micros,), DOUBLE, micros.nullable)
    return Call("div", (of, Literal(1e6, DOUBLE)), DOUBLE, micros.nullable)
