"""Intervals of the model: a struct of months, days and nanoseconds, as Arrow lays it out; texts are DuckDB's."""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import timedelta

import duckdb

from ivm.catalog.errors import NumericError
from ivm.sql.ir.scalar import Call, Value

_LAYOUT = "<iiq"
_DUCK = duckdb.connect()


def made(months: int, days: int, micros: int) -> int:
    """The engine form; NumericError out of range."""
    try:
        return int.from_bytes(struct.pack(_LAYOUT, months, days, micros * 1000), "little", signed=True)
    except struct.error as error:
        raise NumericError(str(error)) from error


def taken_apart(value: int) -> tuple[int, int, int]:
    """Months, days and microseconds."""
    months, days, nanos = struct.unpack(_LAYOUT, value.to_bytes(16, "little", signed=True))
    return months, days, nanos // 1000


def length(value: int) -> int:
    """In microseconds."""
    months, days, micros = taken_apart(value)
    return (30 * months + days) * 86_400_000_000 + micros


def from_text(text: str) -> int:
    """What DuckDB reads."""
    try:
        parts = "datepart('year', i) * 12 + datepart('month', i), datepart('day', i), i"
        months, days, whole = _DUCK.execute(f"SELECT {parts} FROM (SELECT $1::INTERVAL AS i)", [text]).fetchall()[0]
    except duckdb.Error as error:
        raise NumericError(str(error)) from error
    return made(months, days, (whole - timedelta(30 * months + days)) // timedelta(microseconds=1))


def to_text(value: int) -> str:
    """What DuckDB prints."""
    months, days, micros = taken_apart(value)
    query = "SELECT (to_months($1::INT) + to_days($2::INT) + to_microseconds($3::BIGINT))::VARCHAR"
    return str(_DUCK.execute(query, [months, days, micros]).fetchall()[0][0])


def _days_and_time(call: Call, args: list[int]) -> Value:
    days = int(abs(args[0]) // 86_400_000_000) * (-1 if args[0] < 0 else 1)
    return made(0, days, args[0] - days * 86_400_000_000)


FUNCTIONS: dict[str, Callable[[Call, list], Value]] = {  # type: ignore[type-arg]
    "interval": lambda call, args: made(*args),
    "days_and_time": _days_and_time,
    "interval_months": lambda call, args: taken_apart(args[0])[0],
    "interval_days": lambda call, args: taken_apart(args[0])[1],
    "interval_micros": lambda call, args: taken_apart(args[0])[2],
    "interval_length": lambda call, args: length(args[0]),
    "epoch_us of INTERVAL": lambda call, args: length(args[0]),
}
