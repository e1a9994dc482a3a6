"""Values as DuckDB prints them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from catalog.types import Kind, SqlType
from sql.types.calendar import date_text, time_text, timestamp_text


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


_FORMATTERS: dict[Kind, Callable[[Any], str]] = {
    Kind.FLOAT: _single,
    Kind.DOUBLE: _double,
    Kind.BOOLEAN: _boolean,
    Kind.DATE: date_text,
    Kind.TIMESTAMP: timestamp_text,
    Kind.TIMESTAMPTZ: lambda micros: f"{timestamp_text(micros)}+00",
    Kind.TIME: time_text,
}
