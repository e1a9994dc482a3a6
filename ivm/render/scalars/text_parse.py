"""Text to values, as DuckDB's casts read it; ValueError for text that is no such value."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from catalog.calendar import DAY, day_of, last_of_month
from catalog.types import Kind, SqlType
from catalog.uuids import uuid_of
from sql.ir.blobs import bytes_of
from sql.ir.limits import limits
from sql.types.single import nearest_single

_CONTEXT = Context(prec=400, Emax=10**6, Emin=-(10**6))
_NUMBER = re.compile(r"[+-]?(\d+(_\d+)*\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_BASES = ((re.compile(r"0[xX][0-9a-fA-F]+"), 16), (re.compile(r"0[bB][01]+"), 2))
_DATE = re.compile(r"(-?\d{1,7})([-/ \\])(\d{1,2})\2(\d{1,2})( \(BC\))?", re.ASCII)
_ZONE = r"(Z|[+-]\d\d(?::?\d\d(?::\d\d)?)?| +[A-Za-z+-][\w+/:-]*)?"
"""A time zone; it is read and, as DuckDB does for a time without one, dropped."""
_OFFSET = re.compile(r"([+-])(\d\d)(?::?(\d\d)(?::(\d\d))?)?", re.ASCII)
_CLOCK = re.compile(rf"(\d{{1,2}}):(\d{{1,2}})(?::(\d{{1,2}})(?:\.(\d*))?)?{_ZONE}", re.ASCII)
_TRUE = ("true", "t", "1", "yes", "y")
_FALSE = ("false", "f", "0", "no", "n")
_SPACES = " \t\n\v\f\r"
_MOST_EXPONENT = (1 << 15) - 1
"""DuckDB reads no number with a greater exponent."""
_MOST_DAYS = (1 << 31) - 1
_MOST_MICROS = (1 << 63) - 1
"""A date of as many days, and a timestamp of as many microseconds, is infinity in DuckDB."""


def parser(type_: SqlType) -> Callable[[str], Any]:
    """The function from text to the engine form of `type_`."""
    if type_.kind is Kind.FLOAT:
        return lambda text: nearest_single(_double(text), text.strip(_SPACES))
    if type_.is_float:
        return _double
    if type_.kind is Kind.BOOLEAN:
        return _boolean
    if type_.kind is Kind.DATE:
        return _date
    if type_.kind is Kind.TIMESTAMP:
        return _timestamp
    if type_.kind is Kind.BLOB:
        return bytes_of
    if type_.kind is Kind.UUID:
        return uuid_of
    if type_.kind is Kind.ENUM:
        return _positions(type_)
    if type_.kind is Kind.TIMESTAMPTZ:
        return _instant
    if type_.kind is Kind.TIME:
        return _time
    return lambda text: _exact(text, type_)


def _positions(type_: SqlType) -> Callable[[str], int]:
    positions = {label: position for position, label in enumerate(type_.labels)}

    def position(text: str) -> int:
        if text not in positions:
            raise ValueError(text)
        return positions[text]

    return position


def _exact(text: str, type_: SqlType) -> int:
    text = text.strip(_SPACES)
    base = next((base for form, base in _BASES if form.fullmatch(text)), None)
    if type_.kind is not Kind.DECIMAL and base is not None:
        value = int(text, base)
    elif written := _NUMBER.fullmatch(text):
        if written[3] and not -_MOST_EXPONENT <= int(written[3][1:]) <= _MOST_EXPONENT:
            raise ValueError(text)
        number = _CONTEXT.create_decimal(text.replace("_", ""))
        if number and number.adjusted() > 60:
            raise ValueError(text)
        value = int(number.scaleb(type_.scale, _CONTEXT).quantize(Decimal(1), ROUND_HALF_UP, _CONTEXT))
    else:
        raise ValueError(text)
    low, high = limits(type_)
    if not low <= value <= high:
        raise ValueError(text)
    return value


def _double(text: str) -> float:
    text = text.strip(_SPACES)
    if not _NUMBER.fullmatch(text) and text.lower().lstrip("+-") not in ("inf", "infinity", "nan"):
        raise ValueError(text)
    return float(text)


def _boolean(text: str) -> bool:
    lowered = text.lower()
    if lowered not in _TRUE + _FALSE:
        raise ValueError(text)
    return lowered in _TRUE


def _days(match: re.Match[str]) -> int:
    year, month, day = int(match[1]), int(match[3]), int(match[4])
    if match[5]:
        year = 1 - year
    if not 1 <= month <= 12:
        raise ValueError(match[0])
    first = day_of(year, month, 1)
    if not 1 <= day <= last_of_month(first) - first + 1:
        raise ValueError(match[0])
    days: int = first + day - 1
    if abs(days) >= _MOST_DAYS:
        raise ValueError(match[0])
    return days


def _date(text: str) -> int:
    text = text.strip(_SPACES)
    return _moment(text)[0]


def _timestamp(text: str) -> int:
    days, time, _ = _moment(text.strip(_SPACES))
    return _within(days * DAY + time, text)


def _within(micros: int, text: str) -> int:
    if abs(micros) >= _MOST_MICROS:
        raise ValueError(text)
    return micros


def _instant(text: str) -> int:
    """A timestamp with its time zone, or without one in UTC, as the same moment in UTC."""
    days, time, zone = _moment(text.strip(_SPACES))
    local = days * DAY + time
    return _within(local - _offset(zone.strip(" "), local) * 1_000_000, text)


def _offset(zone: str, local: int) -> int:
    """The seconds by which a zone is ahead of UTC at a local time, of two that it may be the fewer, as in DuckDB."""
    if zone in ("", "Z"):
        return 0
    if written := _OFFSET.fullmatch(zone):
        hours, minutes, seconds = (int(part or 0) for part in written.groups()[1:])
        return (hours * 3600 + minutes * 60 + seconds) * (-1 if written[1] == "-" else 1)
    name = next((name for name in available_timezones() if name.lower() == zone.lower()), None)
    if name is None:
        raise ValueError(zone)
    naive = datetime(1970, 1, 1) + timedelta(microseconds=local)
    offsets = [ZoneInfo(name).utcoffset(naive.replace(fold=fold)) for fold in (0, 1)]
    return min(int(offset.total_seconds()) for offset in offsets if offset is not None)


def _time(text: str) -> int:
    clock = _CLOCK.fullmatch(text)
    micros = _of_day(clock, text) if clock is not None else _moment(text)[1]
    if micros >= DAY:
        raise ValueError(text)
    return micros


def _moment(text: str) -> tuple[int, int, str]:
    """The day, the microseconds of the time of day after it, and its time zone as it is written."""
    if text == "epoch":
        return 0, 0, ""
    match = _DATE.match(text)
    if match is None:
        raise ValueError(text)
    rest = text[match.end() :]
    if not rest:
        return _days(match), 0, ""
    clock = _CLOCK.fullmatch(rest[1:].lstrip(" ")) if rest[0] in " T" else None
    if clock is None:
        raise ValueError(text)
    return _days(match), _of_day(clock, text), clock[5] or ""


def _of_day(clock: re.Match[str], text: str) -> int:
    hour, minute, second = int(clock[1]), int(clock[2]), int(clock[3] or 0)
    micros = (hour * 3600 + minute * 60 + second) * 1_000_000 + int((clock[4] or "0").ljust(6, "0")[:6])
    if micros > DAY or minute > 59 or second > 59:  # 24:00:00 is the next day's beginning
        raise ValueError(text)
    return micros
