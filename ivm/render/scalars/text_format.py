"""Values as DuckDB prints them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from catalog.calendar import DAY, civil
from catalog.types import Kind, SqlType


def to_text(value: Any, type_: SqlType) -> str:
    """One value in engine form (not NULL, not text) as DuckDB's cast to VARCHAR prints it."""
    return formatter(type_)(value)


def formatter(type_: SqlType) -> Callable[[Any], str]:
    """The function that prints one value in engine form."""
    if type_.kind is Kind.DECIMAL:
        return lambda value: _decimal(int(value), type_)
    if type_.kind is Kind.ENUM:
        return lambda value: type_.labels[value]
    return _FORMATTERS.get(type_.kind, lambda value: str(int(value)))


def _decimal(value: int, type_: SqlType) -> str:
    scale = type_.scale
    if scale == 0:
        return str(value)
    # As DuckDB does, no zero before the point where the type has no digit there.
    digits = str(abs(value)).rjust(scale + (type_.precision > scale), "0")
    return f"{'-' if value < 0 else ''}{digits[:-scale]}.{digits[-scale:]}"


def _double(value: float) -> str:
    return repr(float(value))


def _single(value: float) -> str:
    return str(np.float32(value))


def _boolean(value: bool) -> str:
    return "true" if value else "false"


def _date(days: int) -> str:
    text, before_christ = _day(int(days))
    return text + before_christ


def _timestamp(micros: int) -> str:
    days, rest = divmod(int(micros), DAY)
    text, before_christ = _day(days)
    return f"{text}{before_christ} {_time(rest)}"


def _instant(micros: int) -> str:
    return f"{_timestamp(micros)}+00"


def _time(micros: int) -> str:
    seconds, fraction = divmod(int(micros), 1_000_000)
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return clock + f".{fraction:06d}".rstrip("0") if fraction else clock


def _day(days: int) -> tuple[str, str]:
    year, month, day = civil(days)
    if year > 0:
        return f"{year:04d}-{month:02d}-{day:02d}", ""
    return f"{1 - year:04d}-{month:02d}-{day:02d}", " (BC)"


_FORMATTERS: dict[Kind, Callable[[Any], str]] = {
    Kind.FLOAT: _single,
    Kind.DOUBLE: _double,
    Kind.BOOLEAN: _boolean,
    Kind.DATE: _date,
    Kind.TIMESTAMP: _timestamp,
    Kind.TIMESTAMPTZ: _instant,
    Kind.TIME: _time,
}
