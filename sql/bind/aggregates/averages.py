"""avg() of moments, times of day and intervals: of what is no number, an expression of sums and a count."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ivm.catalog.types import BIGINT, HUGEINT, INTERVAL, TIME, TIMESTAMP, TIMESTAMPTZ
from ivm.sql.bind.aggregates.calls import AggregateCall
from ivm.sql.bind.expressions.binder import Binder
from ivm.sql.bind.expressions.operand import Operand
from ivm.sql.ir.aggregate import Aggregate
from ivm.sql.ir.conditions import comparison
from ivm.sql.ir.intervals import average_of, parts_of
from ivm.sql.ir.scalar import Call, Literal, Scalar

_EPOCH = Literal(0, TIMESTAMP)


@dataclass(frozen=True, slots=True)
class Average:
    """What an average is made of, by what each part is called, and the average by the values of these."""

    parts: dict[str, Aggregate]
    whole: Callable[..., Scalar]


def average(binder: Binder, call: AggregateCall) -> Average | None:
    """Of what is no number; None for what is one, and for all other aggregates."""
    if call.function != "avg":
        return None
    operand = binder.bind(call.args[0])
    if operand.type == INTERVAL:
        return _of_intervals(binder, call, operand.scalar)
    return _of_moments(binder, call, operand) if operand.type.is_moment or operand.type == TIME else None


def _of_intervals(binder: Binder, call: AggregateCall, interval: Scalar) -> Average:
    if call.distinct:
        binder.refuse(call.node, "avg(DISTINCT ..) of INTERVALs is not supported; write avg(DISTINCT epoch(..))")
    found = {
        f"{what}s": Aggregate("sum", part, HUGEINT)
        for what, part in zip(("month", "day", "microsecond"), parts_of(interval), strict=True)
    }
    found["count"] = Aggregate("count", interval, BIGINT, nullable=False)
    return Average(found, lambda months, days, micros, count: average_of((months, days, micros), count))


def _of_moments(binder: Binder, call: AggregateCall, operand: Operand) -> Average:
    """As in DuckDB, in microseconds, to the nearest one; half of one, and before 1970 any fraction, is towards 1970."""
    if operand.type == TIME:
        micros = Call("cast", (operand.scalar,), BIGINT, operand.scalar.nullable)
    else:
        moment = binder.by_utc(operand, TIMESTAMP)
        micros = Call("micros_between", (moment, _EPOCH), BIGINT, moment.nullable)
    found = {
        "microseconds": Aggregate("sum", micros, HUGEINT, distinct=call.distinct),
        "count": Aggregate("count", micros, BIGINT, nullable=False, distinct=call.distinct),
    }

    def whole(total: Scalar, count: Scalar) -> Scalar:
        number = Call("cast", (count,), HUGEINT, count.nullable)
        left = _op("mod", total, number)
        more = comparison("gt", left, _op("sub", number, left))
        up = Call("case", (more, Literal(1, HUGEINT), Literal(0, HUGEINT)), HUGEINT, nullable=False)
        mean = Call("cast", (_op("add", _op("idiv", total, number), up),), BIGINT, total.nullable)
        if operand.type == TIME:
            return Call("cast", (mean,), TIME, mean.nullable)
        moment = Operand(call.node, Call("add_micros", (_EPOCH, mean), TIMESTAMP, mean.nullable))
        return binder.by_utc(moment, TIMESTAMPTZ if operand.type == TIMESTAMPTZ else TIMESTAMP)

    return Average(found, whole)


def _op(function: str, left: Scalar, right: Scalar) -> Scalar:
    return Call(function, (left, right), HUGEINT, left.nullable or right.nullable)
