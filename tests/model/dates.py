"""Dates of the model by the standard library's calendar (years 1 to 9999)."""

from __future__ import annotations

import calendar
from collections.abc import Callable
from datetime import date, datetime, timedelta

from ivm.catalog.types import Kind, SqlType
from ivm.sql.ir.scalar import Call, Value
from tests.model.values import DAY, from_engine, to_engine

_TRUNCATED = {"hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000, "millisecond": 1000, "microsecond": 1}


def _moment(value: int, type_: SqlType) -> datetime:
    found = from_engine(value, type_)
    return found if isinstance(found, datetime) else datetime(found.year, found.month, found.day)


def _extract(call: Call, args: list[Value]) -> Value:
    part = str(args[0]).lower()
    moment = _moment(int(args[1]), call.args[1].type)  # type: ignore[arg-type]
    iso = moment.isocalendar()
    parts = {
        "year": moment.year,
        "month": moment.month,
        "day": moment.day,
        "quarter": (moment.month + 2) // 3,
        "dow": moment.isoweekday() % 7,
        "isodow": moment.isoweekday(),
        "doy": moment.timetuple().tm_yday,
        "week": iso.week,
        "isoyear": iso.year,
        "yearweek": iso.year * 100 + iso.week,
        "decade": moment.year // 10,
        "century": (moment.year + 99) // 100,
        "millennium": (moment.year + 999) // 1000,
        "hour": moment.hour,
        "minute": moment.minute,
        "second": moment.second,
        "millisecond": moment.second * 1000 + moment.microsecond // 1000,
        "microsecond": moment.second * 1_000_000 + moment.microsecond,
        "epoch": (moment - datetime(1970, 1, 1)) / timedelta(seconds=1),
        "julian": 2440588 + (moment - datetime(1970, 1, 1)) / timedelta(days=1),
    }
    if part not in parts:
        raise NotImplementedError(f"the model does not know EXTRACT({part})")
    return parts[part]


def _date_trunc(call: Call, args: list[Value]) -> Value:
    part, value, type_ = str(args[0]).lower(), int(args[1]), call.args[1].type  # type: ignore[arg-type]
    micros = value if type_.kind is Kind.TIMESTAMP else value * DAY
    if part in _TRUNCATED:
        micros -= micros % _TRUNCATED[part]
    else:
        micros = (_first_day(_moment(value, type_).date(), part) - date(1970, 1, 1)).days * DAY
    return micros if call.type.kind is Kind.TIMESTAMP else micros // DAY


def _first_day(day: date, part: str) -> date:
    if part == "day":
        return day
    if part == "week":
        return day - timedelta(days=day.weekday())
    months = {"month": day.month, "quarter": (day.month - 1) // 3 * 3 + 1}
    years = {"year": 1, "decade": 10, "century": 100, "millennium": 1000}  # DuckDB's: 2000 begins a millennium
    if part in months:
        return date(day.year, months[part], 1)
    return date(max(day.year // years[part] * years[part], 1), 1, 1)


def _add_months(call: Call, args: list[int]) -> Value:
    type_ = call.args[0].type
    moment = from_engine(args[0], type_)
    months = moment.year * 12 + moment.month - 1 + args[1]
    year, month = divmod(months, 12)
    last = calendar.monthrange(year, month + 1)[1]
    return to_engine(moment.replace(year=year, month=month + 1, day=min(moment.day, last)), type_)


FUNCTIONS: dict[str, Callable[[Call, list], Value]] = {  # type: ignore[type-arg]
    "extract": _extract,
    "date_trunc": _date_trunc,
    "add_days": lambda call, args: args[0] + args[1],
    "add_micros": lambda call, args: args[0] + args[1],
    "days_between": lambda call, args: args[0] - args[1],
    "add_months": _add_months,
}
