"""Dates made of parts, and the parts that lie between two of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from catalog.errors import NumericError
from catalog.types import Kind
from ivm.render.scalars.columns import all_valid, both
from ivm.render.scalars.dates import DAY, first_of, iso_year, month_of, part_of, toward_zero
from ivm.render.scalars.failures import check, first_bad
from ivm.render.scalars.functions import Apply, Build, Context, Evaluate
from ivm.render.scalars.numeric import checked, describe
from ivm.render.scalars.rows import Rows
from ivm.trace.column import Column, Ints
from sql.ir.limits import TIMESTAMP_RANGE, limits
from sql.ir.scalar import Call

MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200, "millennium": 12000}
"""The parts of a date that are whole months."""

CLOCK = {"hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000, "millisecond": 1000, "microsecond": 1}
"""The parts of a day, in microseconds."""


def _words(column: Column) -> Any:
    return column.values.astype(np.int64)


def _months(days: Any) -> Ints:
    """Months since January of the year 0."""
    months: Ints = month_of(days) + 1970 * 12
    return months


def _period(days: Any, size: int) -> Any:
    """The number of the period of `size` months; those of years count from the year 0, toward it."""
    months = _months(days)
    return toward_zero(months, size) if size < 12 else toward_zero(months // 12, size // 12)


def _periods(size: int) -> Callable[[Any], Any]:
    return lambda days: _period(days, size)


_NUMBER: dict[str, Callable[[Any], Any]] = {
    **{part: _periods(size) for part, size in MONTHS.items()},
    "day": lambda days: days,
    "isoyear": iso_year,
}


def date_diff(call: Call, context: Context, build: Build) -> Evaluate:
    """date_diff(part, a, b): the boundaries of the part that lie between a and b."""
    part = part_of(call)
    first, second = build(call.args[1]), build(call.args[2])
    of_day = call.args[1].type.kind is Kind.DATE

    def number(column: Column) -> Any:
        values: Any = column.values.astype(np.int64)
        if part in CLOCK:
            return values * (DAY // CLOCK[part]) if of_day else values // CLOCK[part]
        return _NUMBER[part](values if of_day else values // DAY)

    def weeks(a: Column, b: Column) -> Any:
        x, y = (_words(c) if of_day else _words(c) // DAY for c in (a, b))
        return toward_zero(y - x, 7)

    def evaluate(rows: Rows) -> Column:
        a, b = first(rows), second(rows)
        return Column(weeks(a, b) if part == "week" else number(b) - number(a), both(a.valid, b.valid))

    return evaluate


def date_sub(call: Call, context: Context, build: Build) -> Evaluate:
    """date_sub(part, a, b): the whole parts between two timestamps."""
    part = part_of(call)
    first, second = build(call.args[1]), build(call.args[2])

    def evaluate(rows: Rows) -> Column:
        a, b = first(rows), second(rows)
        if part in MONTHS or part == "isoyear":
            values = toward_zero(_whole_months(a.values, b.values), MONTHS.get(part, 12))
        else:
            values = toward_zero(_words(b) - _words(a), {"day": DAY, "week": 7 * DAY, **CLOCK}[part])
        return Column(values, both(a.valid, b.valid))

    return evaluate


def _whole_months(a: Any, b: Any) -> Any:
    """Whole months from a to b; from the end of a month to the end of a shorter one counts as whole."""
    low, high = np.minimum(a, b), np.maximum(a, b)
    (from_month, from_day, from_clock), (to_month, to_day, to_clock) = _taken_apart(low), _taken_apart(high)
    last = first_of(to_month + 1) - first_of(to_month)
    at_end = (to_day == last) & ((from_day > last) | ((from_day == last) & (from_clock < to_clock)))
    day = np.where(at_end, last, from_day)
    months = to_month - from_month - ((to_day < day) | ((to_day == day) & (to_clock < from_clock)))
    return np.where(b < a, -months, months)


def _taken_apart(micros: Any) -> tuple[Any, Any, Any]:
    days = micros // DAY
    months = month_of(days)
    return months, days - first_of(months) + 1, micros % DAY


def last_day(call: Call, context: Context) -> Apply:
    """last_day(DATE)."""

    def apply(a: Column) -> Column:
        values = first_of(month_of(a.values.astype(np.int64)) + 1) - 1
        check(values, a.valid, limits(call.type), describe(call, (a,)), call.type)
        return Column(values.astype(np.int32), a.valid)

    return apply


_MOST_YEARS = 5_877_641
"""Years that a DATE reaches."""


def make_date(call: Call, context: Context) -> Apply:
    """make_date(year, month, day)."""

    def apply(*columns: Column) -> Column:
        valid = all_valid(columns)
        return Column(_days(call, columns, valid).astype(np.int32), valid)

    return apply


def _days(call: Call, columns: tuple[Column, ...], valid: Any) -> Any:
    year, month, day = (c.values.astype(np.int64) for c in columns[:3])
    bad = (month < 1) | (month > 12) | (np.abs(year) > _MOST_YEARS) | (day < 1) | (day > 31)
    months = (np.where(bad, 1970, year) - 1970) * 12 + np.where(bad, 1, month) - 1
    first = first_of(months)
    days = first + np.where(bad, 1, day) - 1
    low, high = limits(call.type) if call.type.kind is Kind.DATE else (-(2**31), 2**31)
    row = first_bad(bad | (days >= first_of(months + 1)) | (days < low) | (days > high), valid)
    if row is not None:
        raise NumericError(f"cannot compute {describe(call, columns)(row)}: there is no such date")
    return days


def make_timestamp(call: Call, context: Context) -> Apply:
    """make_timestamp(year, month, day, hour, minute, seconds)."""

    def apply(*columns: Column) -> Column:
        valid = all_valid(columns)
        days = _days(call, columns, valid)
        hour, minute = (c.values.astype(np.int64) for c in columns[3:5])
        seconds: Any = columns[5].values
        bad = (hour < 0) | (hour > 24) | (minute < 0) | (minute > 59) | ~((seconds >= 0) & (seconds <= 60))
        row = first_bad(bad | (np.abs(days) > TIMESTAMP_RANGE[1] // DAY - 1), valid)
        if row is not None:
            raise NumericError(f"cannot compute {describe(call, columns)(row)}: there is no such time")
        micros = np.rint(np.where(bad, 0.0, seconds) * 1e6).astype(np.int64)
        clock = (np.where(bad, 0, hour) * 60 + np.where(bad, 0, minute)) * 60_000_000 + micros
        return Column(days * DAY + clock, valid)

    return apply


def same_word(call: Call, context: Context) -> Apply:
    """to_micros(a): the microseconds are what a TIMESTAMP is."""
    return lambda a: a


STRICT = {
    "last_day": last_day,
    "make_date": make_date,
    "make_timestamp": make_timestamp,
    "from_micros": lambda call, context: checked(call, np.positive),
    "to_micros": same_word,
    "micros_between": lambda call, context: checked(call, np.subtract),
}
LAZY = {"date_diff": date_diff, "date_sub": date_sub}
