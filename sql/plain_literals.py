"""Literals as values, without a parser and without a second engine: what DuckDB assigns to a column of a type.

Whatever is not certain (a value that has to be rounded or does not fit) is left to DuckDB.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta

from ivm.catalog.types import FLOAT, MAX_DIGITS, VARCHAR, Kind, SqlType, integer_range
from ivm.catalog.uuids import uuid_of
from ivm.sql.ir.scalar import Literal, Value
from ivm.sql.types.literals import convert, number

Written = tuple[str | None, str | None, str | None, str | None]
"""A literal: the digits of a number, or a type, if one is named, and what stands in quotes, or NULL, TRUE, FALSE."""
NULL: Written = (None, None, None, "NULL")


def value_of(written: Written, type_: SqlType) -> Value:
    """What DuckDB assigns to a column of a type, in physical form; ValueError where that is not certain."""
    make, word = _MAKE.get(type_.kind), written[3]
    if make is None:
        raise ValueError(written)
    return None if word is not None and word.upper() == "NULL" else make(written, type_)


def is_exact(cast: str, digits: int, scale: int) -> bool:
    """Whether what is cast to DECIMAL(digits, scale) is that number as it is written."""
    match = _DECIMAL.fullmatch(cast)
    if match is None or not 0 < digits <= MAX_DIGITS or scale > digits:
        return False
    whole, fraction = match[1].lstrip("-0"), match[2] or ""
    return len(fraction) == scale and len(whole) + scale <= digits


def decimal_of(scale: int, bound: int, digits: str) -> int:
    """A number that is written without an exponent, as one of so many decimals; ValueError where it would have to be
    rounded, or reaches the bound.
    """
    whole, _, fraction = digits.partition(".")
    if len(fraction) > scale:
        raise ValueError(digits)
    value = int(whole + fraction.ljust(scale, "0"))
    if abs(value) >= bound:
        raise ValueError(digits)
    return value


_WHOLE = re.compile(r"-?\d+", re.ASCII)
_DECIMAL = re.compile(r"(-?\d+)(?:\.(\d+))?", re.ASCII)
_FLOAT = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?", re.ASCII)
_AS_TEXT = re.compile(r"(?!-0(?:\.0*)?$)-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?", re.ASCII)
_CLOCK = r"(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6})?"
_TIME = re.compile(_CLOCK, re.ASCII)
_MOMENT = re.compile(rf"\d{{4}}-\d\d-\d\d[ T]{_CLOCK}", re.ASCII)
_ZONED = re.compile(rf"{_MOMENT.pattern}(?:Z|[-+](?:0\d|1[0-4])(?::[0-5]\d)?)", re.ASCII)
_EXACT_DIGITS = 15
_FEW, _NEAR = 1e12, 1e-3
_HUGE = (1 - 10**MAX_DIGITS, 10**MAX_DIGITS - 1)  # what Arrow's decimals hold
_EPOCH, _FIRST_DAY = datetime(1970, 1, 1), date(1970, 1, 1).toordinal()
_EPOCH_UTC = _EPOCH.replace(tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def _digits(written: Written, pattern: re.Pattern[str]) -> re.Match[str]:
    """The number that is written, with quotes or without, if it has this form; ValueError if not."""
    number, typed, quoted, _ = written
    match = pattern.fullmatch(number or quoted or "")
    if match is None or typed not in (None, "DECIMAL"):
        raise ValueError(written)
    return match


def _integer(written: Written, type_: SqlType) -> int:
    value = int(written[0] or _digits(written, _WHOLE)[0])
    bounds = _HUGE if type_.kind is Kind.HUGEINT else integer_range(type_.kind)
    if not bounds[0] <= value <= bounds[1]:
        raise ValueError(written)
    return value


def _decimal(written: Written, type_: SqlType) -> int:
    if written[0] is not None and ("e" in written[0] or "E" in written[0]):
        return _rounded(float(written[0]), type_)
    return decimal_of(type_.scale, 10**type_.precision, written[0] or _digits(written, _DECIMAL)[0])


def _rounded(value: float, type_: SqlType) -> int:
    """A DOUBLE as a DECIMAL; ValueError where it is large, or about half-way between two: that is left to DuckDB."""
    scaled = value * 10.0**type_.scale
    if abs(scaled) >= _FEW:
        raise ValueError(value)
    whole = math.floor(scaled + 0.5)
    if abs(abs(scaled - whole) - 0.5) < _NEAR or abs(whole) >= 10**type_.precision:
        raise ValueError(value)
    return whole


def _double(written: Written, type_: SqlType) -> float:
    text = _digits(written, _FLOAT)[0]
    value = float(text)
    # A number without quotes and exponent is a DECIMAL first: it has no sign at zero, and is rounded twice if long.
    exact = (written[0] is None and written[1] is None) or (
        value != 0 and ("e" in text.lower() or len(text) <= _EXACT_DIGITS)
    )
    if value in (float("inf"), float("-inf")) or not (exact or text == "0"):
        raise ValueError(written)
    return value


def _float(written: Written, type_: SqlType) -> Value:
    if written[1] is not None:
        raise ValueError(written)
    text = _digits(written, _FLOAT)[0]
    literal = number(text.removeprefix("-")) if written[0] is not None else Literal(text, VARCHAR)
    found = convert(literal, FLOAT)
    if found is None or not isinstance(found.value, float) or (written[0] is not None and found.value == 0):
        raise ValueError(written)
    return -found.value if written[0] is not None and text[0] == "-" else found.value


def _text(written: Written, type_: SqlType) -> str:
    number, typed, quoted, _ = written
    if quoted is not None and typed is None:
        return quoted
    if number is None or _AS_TEXT.fullmatch(number) is None:
        raise ValueError(written)
    return number


def _boolean(written: Written, type_: SqlType) -> bool:
    word = written[3] or (written[2] if written[1] is None else None) or ""
    if word.lower() not in ("true", "false"):
        raise ValueError(written)
    return word.lower() == "true"


def _days(written: Written, type_: SqlType) -> int:
    text = _quoted(written, type_)
    if len(text) != 10 or text[4] != "-" or text[7] != "-":
        raise ValueError(written)
    return days_of(date.fromisoformat(text))


def days_of(value: date) -> int:
    """The days from 1970 to a day."""
    return value.toordinal() - _FIRST_DAY


def _micros(written: Written, type_: SqlType) -> int:
    text = _quoted(written, type_)
    if _MOMENT.fullmatch(text) is None:
        raise ValueError(written)
    return micros_of(datetime.fromisoformat(text))


def _micros_utc(written: Written, type_: SqlType) -> int:
    text = _quoted(written, type_)
    return moment_of(text) if _ZONED.fullmatch(text) else _micros(written, type_)


def moment_of(text: str) -> int:
    """The microseconds from 1970 to a moment that is written with its distance from UTC; ValueError if it is not."""
    if _ZONED.fullmatch(text) is None:
        raise ValueError(text)
    return micros_of(datetime.fromisoformat(text))


def micros_of(value: datetime) -> int:
    """The microseconds from 1970 to a moment; ValueError if it has a time zone, and Python does not have it in UTC."""
    if value.tzinfo is None:
        return (value - _EPOCH) // _MICROSECOND
    try:
        return (value.astimezone(UTC) - _EPOCH_UTC) // _MICROSECOND
    except OverflowError as error:
        raise ValueError(f"{value} is in another year in UTC") from error


def _micros_of_day(written: Written, type_: SqlType) -> int:
    text = _quoted(written, type_)
    if _TIME.fullmatch(text) is None:
        raise ValueError(written)
    return micros_of_day(time.fromisoformat(text))


def micros_of_day(value: time) -> int:
    """The microseconds since midnight."""
    return ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond


def _uuid(written: Written, type_: SqlType) -> str:
    return uuid_of(_quoted(written, type_))


def _label(written: Written, type_: SqlType) -> int:
    return type_.labels.index(_quoted(written, type_))


def _quoted(written: Written, type_: SqlType) -> str:
    """What stands in quotes; ValueError if nothing does, or another type is named before it."""
    _, typed, text, _ = written
    if text is None or (typed is not None and typed.upper() != type_.kind.name):
        raise ValueError(written)
    return text


_MAKE: dict[Kind, Callable[[Written, SqlType], Value]] = {
    **{kind: _integer for kind in Kind if kind.bits},
    Kind.DECIMAL: _decimal,
    Kind.FLOAT: _float,
    Kind.DOUBLE: _double,
    Kind.VARCHAR: _text,
    Kind.JSON: _text,
    Kind.BOOLEAN: _boolean,
    Kind.DATE: _days,
    Kind.TIMESTAMP: _micros,
    Kind.TIMESTAMPTZ: _micros_utc,
    Kind.TIME: _micros_of_day,
    Kind.UUID: _uuid,
    Kind.ENUM: _label,
}
