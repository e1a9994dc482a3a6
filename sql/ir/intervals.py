"""Expressions that are INTERVALs: made of parts, taken apart again where they were, and as their length.

An expression that makes an interval only so that it is added or compared makes none: its parts are used.
"""

from __future__ import annotations

from collections.abc import Iterable

from ivm.catalog.calendar import DAY
from ivm.catalog.intervals import MONTH_DAYS, length, packed, parts
from ivm.catalog.types import BIGINT, HUGEINT, INTEGER, INTERVAL, SqlType
from ivm.sql.ir.scalar import Call, Literal, Scalar

Parts = tuple[Scalar, Scalar, Scalar]
"""Months, days and microseconds, of which the first two are INTEGER and the last is BIGINT."""
PART_TYPES = (INTEGER, INTEGER, BIGINT)
_GETTERS = ("interval_months", "interval_days", "interval_micros")


def interval_of(given: Parts) -> Scalar:
    """The interval of these parts: a literal if they are, NULL where one is. ValueError if one is out of range."""
    values = [part.value if isinstance(part, Literal) else None for part in given]
    if all(isinstance(part, Literal) for part in given):
        known = [int(value) for value in values if value is not None]
        return Literal(packed(*known) if len(known) == len(given) else None, INTERVAL)
    return Call("interval", given, INTERVAL, any(part.nullable for part in given))


def days_and_time(micros: Scalar) -> Scalar:
    """The interval of so many microseconds, in days and time."""
    return Call("days_and_time", (micros,), INTERVAL, micros.nullable)


def parts_of(interval: Scalar) -> Parts:
    """The parts, each of which is NULL where the interval is."""
    typed = zip(_GETTERS, PART_TYPES, strict=True)
    if isinstance(interval, Literal):
        values = (None,) * len(PART_TYPES) if interval.value is None else parts(int(interval.value))
        return _three(Literal(value, type_) for value, type_ in zip(values, PART_TYPES, strict=True))
    made = interval.args if isinstance(interval, Call) and interval.function == "interval" else ()
    if made and all(part.nullable == interval.nullable for part in made):
        return _three(made)
    return _three(Call(getter, (interval,), type_, interval.nullable) for getter, type_ in typed)


def made_of(interval: Scalar) -> Parts:
    """The parts, one of which is NULL where the interval is."""
    if isinstance(interval, Call) and interval.function == "interval":
        return _three(interval.args)
    return parts_of(interval)


def _three(given: Iterable[Scalar]) -> Parts:
    months, days, micros = given
    return months, days, micros


def steps_of(interval: Scalar) -> tuple[Scalar | None, Scalar | None]:
    """What is added to a moment: the months, then the microseconds; None for what is zero, if the other is not."""
    if isinstance(interval, Call) and interval.function == "days_and_time":
        return None, interval.args[0]
    months, days, micros = (None if is_zero(part) else part for part in made_of(interval))
    if days is not None:
        time = _times(_cast(days, BIGINT), DAY, BIGINT)
        micros = time if micros is None else _plus(time, micros)
    return months, micros


def length_of(interval: Scalar) -> Scalar:
    """The microseconds that an interval counts for where it is compared: a BIGINT if that holds them, or a HUGEINT."""
    if isinstance(interval, Literal):
        if interval.value is None:
            return Literal(None, BIGINT)
        found = length(int(interval.value))
        return Literal(found, BIGINT if abs(found) < 1 << 63 else HUGEINT)
    if isinstance(interval, Call) and interval.function == "days_and_time":
        return interval.args[0]
    if isinstance(interval, Call) and interval.function == "interval":
        months, days, micros = interval.args
        if is_zero(months) and is_zero(days):
            return micros
    return Call("interval_length", (interval,), HUGEINT, interval.nullable)


def average_of(sums: Parts, count: Scalar) -> Scalar:
    """The average, by the sums of each part and how many there are.

    As in DuckDB, what does not divide goes to the next part: a month as 30 days, a day as 24 hours; of the time what is
    left of microseconds is added to them.
    """
    months, days, micros = (_cast(part, BIGINT) for part in sums)
    of_month = _times(_op("mod", months, count), MONTH_DAYS, BIGINT)
    left = _op("add", _op("mod", days, count), _op("mod", of_month, count))
    time = _op("add", _op("idiv", micros, count), _op("mod", micros, count))
    found = (
        _op("idiv", months, count),
        _op("add", _op("idiv", days, count), _op("idiv", of_month, count)),
        _op("add", time, _op("idiv", _times(left, DAY, BIGINT), count)),
    )
    return interval_of(_three(_cast(each, type_) for each, type_ in zip(found, PART_TYPES, strict=True)))


def _op(function: str, left: Scalar, right: Scalar) -> Scalar:
    return Call(function, (left, right), BIGINT, left.nullable or right.nullable)


def is_zero(part: Scalar) -> bool:
    """Whether this is nothing, on every row."""
    return isinstance(part, Literal) and part.value == 0


def _plus(left: Scalar, right: Scalar) -> Scalar:
    return Call("add", (left, right), left.type, left.nullable or right.nullable)


def _times(factor: Scalar, size: int, type_: SqlType) -> Scalar:
    if isinstance(factor, Literal):
        return Literal(None if factor.value is None else int(factor.value) * size, type_)
    return Call("mul", (factor, Literal(size, type_)), type_, factor.nullable)


def _cast(scalar: Scalar, type_: SqlType) -> Scalar:
    if scalar.type == type_:
        return scalar
    return (
        Literal(scalar.value, type_) if isinstance(scalar, Literal) else Call("cast", (scalar,), type_, scalar.nullable)
    )
