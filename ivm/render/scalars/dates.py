"""Calendar functions: DATE as days, TIMESTAMP as microseconds, in the proleptic Gregorian calendar."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from catalog.types import Kind
from ivm.render.scalars.columns import both
from ivm.render.scalars.failures import check
from ivm.render.scalars.functions import Apply, Build, Context, Evaluate
from ivm.render.scalars.numeric import checked, describe
from ivm.render.scalars.rows import Rows
from ivm.trace.column import DTYPES, Column, Ints
from sql.ir.limits import limits
from sql.ir.scalar import Call, Literal

DAY = 86_400_000_000
_UNITS = {"day": DAY, "hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000, "millisecond": 1000}
SYNONYMS = {
    "milliseconds": "millisecond", "microseconds": "microsecond", "dayofweek": "dow", "weekday": "dow",
    "dayofyear": "doy", "weekofyear": "week", "dayofmonth": "day",
}  # fmt: skip


def part_of(call: Call) -> str:
    """The literal part of an extract or date_trunc, by its one name."""
    literal = call.args[0]
    assert isinstance(literal, Literal)
    part = str(literal.value).lower()
    part = SYNONYMS.get(part, part)
    if part.endswith("s") and part[:-1] in (*_UNITS, "year", "month", "week", "quarter", "decade", "microsecond"):
        part = part[:-1]
    return {"centuries": "century", "millennia": "millennium"}.get(part, part)


def month_of(days: Any) -> Ints:
    """Months since January 1970."""
    months: Ints = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    return months


def first_of(months: Any) -> Ints:
    """The day that a month (counted from January 1970) starts on."""
    days: Ints = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    return days


def toward_zero(a: Any, b: int) -> Any:
    """Integers divided by a positive one, truncating."""
    return np.sign(a) * (np.abs(a) // b)


def _year(days: Any) -> Any:
    return month_of(days) // 12 + 1970


def iso_year(days: Any) -> Any:
    """The year that the week's Thursday lies in."""
    return _year(days - (days + 3) % 7 + 3)


def _iso_week(days: Any) -> Any:
    thursday = days - (days + 3) % 7 + 3
    return (thursday - first_of((_year(thursday) - 1970) * 12)) // 7 + 1


def _century(years: Any, length: int) -> Any:
    """Centuries and millennia count from 1, and before the year 1 from -1."""
    return np.where(years > 0, (years - 1) // length + 1, toward_zero(years, length) - 1)


_OF_DAYS: dict[str, Callable[[Any], Any]] = {
    "year": _year,
    "month": lambda d: month_of(d) % 12 + 1,
    "day": lambda d: d - first_of(month_of(d)) + 1,
    "quarter": lambda d: month_of(d) % 12 // 3 + 1,
    "dow": lambda d: (d + 4) % 7,
    "isodow": lambda d: (d + 3) % 7 + 1,
    "doy": lambda d: d - first_of((_year(d) - 1970) * 12) + 1,
    "week": _iso_week,
    "isoyear": iso_year,
    "yearweek": lambda d: iso_year(d) * 100 + np.where(iso_year(d) > 0, 1, -1) * _iso_week(d),
    "decade": lambda d: toward_zero(_year(d), 10),
    "century": lambda d: _century(_year(d), 100),
    "millennium": lambda d: _century(_year(d), 1000),
    "era": lambda d: np.where(_year(d) > 0, 1, 0),
}

_OF_CLOCK: dict[str, Callable[[Any], Any]] = {
    "hour": lambda m: m // _UNITS["hour"],
    "minute": lambda m: m // _UNITS["minute"] % 60,
    "second": lambda m: m // _UNITS["second"] % 60,
    "millisecond": lambda m: m // 1000 % 60_000,
    "microsecond": lambda m: m % 60_000_000,
}

_JULIAN = 2440588
"""The Julian day number of 1970-01-01."""


def extract(call: Call, context: Context, build: Build) -> Evaluate:
    """extract(part, DATE | TIMESTAMP); 'epoch' and 'julian' are DOUBLE."""
    part, argument = part_of(call), build(call.args[1])
    of_day = call.args[1].type.kind is Kind.DATE
    dtype = DTYPES[call.type.physical]

    def evaluate(rows: Rows) -> Column:
        column = argument(rows)
        values: Any = column.values.astype(np.int64)
        if part == "epoch":
            result = values * 86400.0 if of_day else values / 1e6
        elif part == "julian":
            result = values + float(_JULIAN) if of_day else values // DAY + float(_JULIAN) + values % DAY / DAY
        elif part in _OF_DAYS:
            result = _OF_DAYS[part](values if of_day else values // DAY)
        else:
            result = np.zeros_like(values) if of_day else _OF_CLOCK[part](values % DAY)
        return Column(result.astype(dtype), column.valid)

    return evaluate


_MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200, "millennium": 12000}


def truncate_days(part: str, days: Any) -> Any:
    """The first day of the part's period that each day lies in."""
    if part in _MONTHS:
        # Years count from 0 here: centuries are 2000 to 2099, as DuckDB truncates (but does not extract) them.
        size = _MONTHS[part]
        since_zero = month_of(days) + 1970 * 12
        whole = since_zero // size if size <= 12 else toward_zero(since_zero // 12, size // 12)
        return first_of(whole * size - 1970 * 12)
    if part == "isoyear":
        thursday = days - (days + 3) % 7 + 3
        january_fourth = first_of((_year(thursday) - 1970) * 12) + 3
        return january_fourth - (january_fourth + 3) % 7
    return days - (days + 3) % 7 if part in ("week", "yearweek") else days


def date_trunc(call: Call, context: Context, build: Build) -> Evaluate:
    """date_trunc(part, DATE | TIMESTAMP)."""
    part, argument = part_of(call), build(call.args[1])
    of_day, to_day = call.args[1].type.kind is Kind.DATE, call.type.kind is Kind.DATE

    def text(columns: tuple[Column, ...]) -> Callable[[int], str]:
        return lambda row: f"date_trunc('{part}', {describe(Call('', call.args[1:], call.type), columns)(row)})"

    def evaluate(rows: Rows) -> Column:
        column = argument(rows)
        values: Any = column.values.astype(np.int64)
        if not of_day and part in (*_UNITS, "microsecond"):
            unit = _UNITS.get(part, 1)
            return Column(values - values % unit, column.valid)
        days = truncate_days(part, values if of_day else values // DAY)
        if to_day:
            return Column(days.astype(np.int32), column.valid)
        low, high = limits(call.type)
        check(days, column.valid, (-(-low // DAY), high // DAY), text((column,)), call.type)
        return Column(days * DAY, column.valid)

    return evaluate


def add_days(call: Call, context: Context) -> Apply:
    """add_days(DATE, INTEGER)."""
    return checked(call, np.add)


def add_micros(call: Call, context: Context) -> Apply:
    """add_micros(TIMESTAMP, BIGINT)."""
    return checked(call, np.add)


def days_between(call: Call, context: Context) -> Apply:
    """days_between(a, b): a - b."""
    return lambda a, b: Column(np.subtract(a.values, b.values, dtype=np.int64), both(a.valid, b.valid))


def add_months(call: Call, context: Context) -> Apply:
    """add_months(DATE | TIMESTAMP, INTEGER): the same day of the month, or its last."""
    of_day, allowed = call.type.kind is Kind.DATE, limits(call.type)
    low, high = allowed if of_day else (-(-allowed[0] // DAY), allowed[1] // DAY)

    def apply(a: Column, b: Column) -> Column:
        valid, values = both(a.valid, b.valid), a.values.astype(np.int64)
        days = values if of_day else values // DAY
        shifted = shift_months(days, b.values)
        check(shifted, valid, (low, high), describe(call, (a, b)), call.type)
        if of_day:
            return Column(shifted.astype(np.int32), valid)
        result = shifted * DAY + values % DAY
        check(result, valid, allowed, describe(call, (a, b)), call.type)
        return Column(result, valid)

    return apply


def shift_months(days: Any, months: Any) -> Any:
    """Each day moved by a number of months."""
    month = month_of(days)
    target = month + months
    first = first_of(target)
    last = first_of(target + 1) - 1
    return np.minimum(first + (days - first_of(month)), last)


STRICT = {
    "add_days": add_days, "add_micros": add_micros, "days_between": days_between, "add_months": add_months,
}  # fmt: skip
LAZY = {"extract": extract, "date_trunc": date_trunc}
