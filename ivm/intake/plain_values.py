"""Plain values of Python: of which classes they are for a type, and how values of each are stored.

A value is plain if it is certain what a column has in its place, whichever way it comes: in a dict, where a float
counts as the shortest decimal that prints it and texts are read strictly, or as a parameter, which DuckDB would cast.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

from ivm.catalog.types import Kind, SqlType
from ivm.catalog.uuids import uuid_of
from ivm.sql.plain_literals import days_of, micros_of, micros_of_day, moment_of, value_of

Makers = Mapping[type, "Callable[[Any], Any] | None"]
"""By the class of a value what makes its stored form, None where it is that form; ValueError where it is not plain."""

_DAY = 86_400_000_000
_MOST_DIGITS = 40
_EXACT = 1 << 53
"""Up to here a DOUBLE holds every integer."""
_CERTAIN = 10**15
"""Below this the nearest number that a DOUBLE is times a power of ten is the one that it prints."""
_EXACT_SINGLE, _LARGEST_SINGLE = 1 << 24, 3.4028234e38


def makers_of(type_: SqlType) -> Makers | None:
    """For a type whose stored form is a number, or a text; None for any other."""
    if type_.kind.bits and type_.kind is not Kind.HUGEINT:
        return _INTEGERS
    if type_.kind is Kind.DECIMAL:
        return _decimals(type_)
    if type_.kind is Kind.ENUM:
        return {str: {label: place for place, label in enumerate(type_.labels)}.__getitem__}
    found = _MAKERS.get(type_.kind)
    if found is None or type_.kind not in _WRITTEN:
        return found
    return {**found, str: lambda text: value_of((None, None, text, None), type_)}


def stored(value: Any, type_: SqlType) -> Any:
    """The stored form of a value, as Arrow gives one of this type to Python; ValueError where that is not certain."""
    make = (makers_of(type_) or {}).get(type(value), _none)
    return value if value is None or make is None else make(value)


def _none(value: Any) -> Any:
    raise ValueError(f"there is no plain {type(value).__name__} of this type")


def _decimals(type_: SqlType) -> Makers:
    scale = 10**type_.scale

    def scaled(value: Decimal) -> int:
        if not -_MOST_DIGITS < value.adjusted() < _MOST_DIGITS:
            raise ValueError("it takes long to write it out")
        number, parts = value.as_integer_ratio()
        found, rest = divmod(number * scale, parts)
        if rest:
            raise ValueError("it has more decimals")
        return int(found)

    def from_float(value: float) -> int:
        found = scaled(Decimal(repr(value)))
        if not -_CERTAIN < found < _CERTAIN:
            raise ValueError("casts may round it otherwise")
        return found

    return {
        int: lambda value: value * scale,
        Decimal: scaled,
        float: from_float,
        str: lambda text: value_of((None, None, text, None), type_),
    }


def _whole(value: float) -> int:
    if not (value.is_integer() and -_EXACT <= value <= _EXACT):
        raise ValueError("it is no whole number, or may not be exact")
    return int(value)


def _double(value: int) -> float:
    if not -_EXACT <= value <= _EXACT:
        raise ValueError("a DOUBLE may not hold it")
    return float(value)


def single(value: float) -> float:
    """A number for a FLOAT, which rounds it; ValueError if it may be beyond its range."""
    if _LARGEST_SINGLE < abs(value) < float("inf"):
        raise ValueError("a FLOAT may not hold it")
    return value


def _single_integer(value: int) -> float:
    if not -_EXACT_SINGLE <= value <= _EXACT_SINGLE:
        raise ValueError("a FLOAT may not hold it")
    return float(value)


def moment(value: datetime) -> int:
    """A moment of no time zone as a TIMESTAMP; ValueError if it has one."""
    if value.tzinfo is not None:
        raise ValueError("it has a time zone")
    return micros_of(value)


def _of_unit(micros: int, unit: int) -> int:
    whole, rest = divmod(micros, unit)
    if rest:
        raise ValueError("it is finer than the column")
    return whole


def _moment_utc(value: datetime) -> int:
    if value.tzinfo is None:
        raise ValueError("it has no time zone")
    return micros_of(value)


def _of_day(value: time) -> int:
    if value.tzinfo is not None:
        raise ValueError("it has a time zone")
    return micros_of_day(value)


_INTEGERS: Makers = {int: None, float: _whole}
_WRITTEN = (Kind.DATE, Kind.TIMESTAMP, Kind.TIME)
"""What is read as a literal is, strictly."""
_MAKERS: Mapping[Kind, Makers] = {
    Kind.HUGEINT: {int: None},
    Kind.DOUBLE: {float: None, int: _double},
    Kind.FLOAT: {float: single, int: _single_integer},
    Kind.DATE: {date: days_of},
    Kind.TIMESTAMP: {datetime: moment, date: lambda value: days_of(value) * _DAY},
    Kind.TIMESTAMP_S: {datetime: lambda value: _of_unit(moment(value), 1_000_000)},
    Kind.TIMESTAMP_MS: {datetime: lambda value: _of_unit(moment(value), 1000)},
    Kind.TIMESTAMP_NS: {datetime: lambda value: moment(value) * 1000},
    Kind.TIMESTAMPTZ: {datetime: _moment_utc, str: moment_of},
    Kind.TIME: {time: _of_day},
    Kind.VARCHAR: {str: None},
    Kind.JSON: {str: None},
    Kind.BLOB: {bytes: None},
    Kind.UUID: {str: uuid_of, UUID: str},
}
