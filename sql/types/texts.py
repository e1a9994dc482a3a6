"""Text to values and values to text, as DuckDB's casts read and write them."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from functools import partial
from typing import Any

from ivm.catalog.calendar import DAY, date_text, day_of, last_of_month, time_text, timestamp_text
from ivm.catalog.intervals import NANOS, interval_text
from ivm.catalog.types import TIMESTAMP, TIMESTAMP_MS, TIMESTAMP_S, TIMESTAMPS, Kind, SqlType
from ivm.catalog.uuids import uuid_of
from ivm.catalog.zones import UTC
from ivm.sql.ir.blobs import bytes_of
from ivm.sql.ir.limits import is_exact, limits, moment_as
from ivm.sql.types.calendar import interval
from ivm.sql.types.zones import ahead

_CONTEXT = Context(prec=400, Emax=10**6, Emin=-(10**6))
_NUMBER = re.compile(r"[+-]?(\d+(_\d+)*\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_BASES = ((re.compile(r"0[xX][0-9a-fA-F]+"), 16), (re.compile(r"0[bB][01]+"), 2))
_DATE = re.compile(r"(-?\d{1,7})([-/ \\])(\d{1,2})\2(\d{1,2})( \([Bb][Cc]\))?", re.ASCII)
_ZONE = r"(Z|[+-]\d\d(?::?\d\d(?::\d\d)?)?| [A-Za-z+-][\w+/:-]*)?"
"""A time zone; it is read and, as DuckDB does for a time without one, dropped."""
_OFFSET = re.compile(r"([+-])(\d\d)(?::?(\d\d)(?::(\d\d))?)?", re.ASCII)
_CLOCK = re.compile(rf"(\d{{1,9}}):(?:(\d{{1,2}})(?::(?:(\d{{1,2}})(?:\.(\d*))?)?)?)?{_ZONE}", re.ASCII)
_CLOCK_ALONE = re.compile(r"(\d{1,9}):(?:(\d{1,2})(?::(?:(\d{1,2})(?:\.(\d*))?.*)?)?)?", re.ASCII | re.DOTALL)
"""Behind the seconds of a time of day that has no date before it, DuckDB reads nothing, whatever it is."""
_INFINITY = re.compile(r"-?inf(inity)?", re.IGNORECASE)
_TRUTH = {
    **dict.fromkeys(("true", "t", "1", "yes", "y"), True),
    **dict.fromkeys(("false", "f", "0", "no", "n"), False),
}
_SPACES = " \t\n\v\f\r"
_MOST_EXPONENT = (1 << 15) - 1
"""DuckDB reads no number with a greater exponent."""
_MOST_DAYS = (1 << 31) - 1
_MOST_UNITS = (1 << 63) - 1
"""A date of as many days, and a timestamp of as many microseconds or nanoseconds, is infinity in DuckDB."""


class InfinityError(ValueError):
    """A text is the infinite date or timestamp of DuckDB's, which is no value here: neither a NULL, nor another."""

    def __init__(self) -> None:
        super().__init__("infinity is no value here; write the first or the last day that you have, or NULL")


Reader = Callable[[str], Any]


def reader(type_: SqlType) -> Reader | None:
    """The function from text to the engine form of `type_`, whose ValueErrors say what is wrong with a text; None for
    types that no text writes.
    """
    if type_.kind is Kind.ENUM:
        return _positions(type_)
    exact = (lambda text: _exact(text, type_)) if is_exact(type_) else None
    return _READERS.get(type_.kind, exact)


def writer(type_: SqlType) -> Callable[[Any], str] | None:
    """The function that writes one value in engine form; None for types whose values have no text here."""
    if type_.kind is Kind.DECIMAL:
        return lambda value: _decimal_text(int(value), type_)
    if type_.kind is Kind.ENUM:
        return lambda value: type_.labels[value]
    return _WRITERS.get(type_.kind, str if type_.is_integer else None)


def _decimal_text(value: int, type_: SqlType) -> str:
    scale = type_.scale
    if scale == 0:
        return str(value)
    # As DuckDB does, no zero before the point where the type has no digit there.
    digits = str(abs(value)).rjust(scale + (type_.precision > scale), "0")
    return f"{'-' if value < 0 else ''}{digits[:-scale]}.{digits[-scale:]}"


def _positions(type_: SqlType) -> Reader:
    positions = {label: position for position, label in enumerate(type_.labels)}

    def position(text: str) -> int:
        if text not in positions:
            raise ValueError(f"{text!r} is none of its labels")
        return positions[text]

    return position


def _exact(text: str, type_: SqlType) -> int:
    bare = text.strip(_SPACES)
    base = next((base for form, base in _BASES if form.fullmatch(bare)), None)
    if type_.kind is not Kind.DECIMAL and base is not None:
        value = int(bare, base)
    elif written := _NUMBER.fullmatch(bare):
        if _is_cut_short(bare, type_):
            raise _out_of_range(text, type_)
        if written[3] and not -_MOST_EXPONENT <= int(written[3][1:]) <= _MOST_EXPONENT:
            raise _wrong(text, "a number")
        number = _CONTEXT.create_decimal(bare.replace("_", ""))
        if number and number.adjusted() > 60:
            raise _out_of_range(text, type_)
        value = int(number.scaleb(type_.scale, _CONTEXT).quantize(Decimal(1), ROUND_HALF_UP, _CONTEXT))
    else:
        raise _wrong(text, "a number")
    low, high = limits(type_)
    if not low <= value <= high:
        raise _out_of_range(text, type_)
    return value


def _is_cut_short(number: str, type_: SqlType) -> bool:
    """Whether DuckDB says out of range of a number that is not: one with a sign and a fraction, or an exponent, for a
    type without signs; one with more digits before the point than its type has there, whatever the exponent.
    """
    if type_.is_unsigned:
        return number.startswith("-") and not number[1:].replace("_", "").isdecimal()
    mantissa = re.split("[eE]", number)[0]
    whole = mantissa.partition(".")[0].lstrip("+-").replace("_", "").lstrip("0")
    return type_.kind is Kind.DECIMAL and len(whole) > type_.precision - type_.scale


def _wrong(text: str, what: str) -> ValueError:
    return ValueError(f"{text!r} is not {what}")


def _out_of_range(text: str, type_: SqlType | str) -> ValueError:
    return ValueError(f"{text!r} is out of the range of {type_}")


def _double(text: str) -> float:
    bare = text.strip(_SPACES)
    if not _NUMBER.fullmatch(bare) and bare.lower().lstrip("+-") not in ("inf", "infinity", "nan"):
        raise _wrong(text, "a number")
    return float(bare)


def _float(text: str) -> float:
    value, bare = _double(text), text.strip(_SPACES).replace("_", "")
    return nearest_single(value, Fraction(bare)) if value and math.isfinite(value) else value


def _boolean(text: str) -> bool:
    found = _TRUTH.get(text.lower())
    if found is None:
        raise _wrong(text, "true or false")
    return found


def _days(match: re.Match[str]) -> int:
    year, month, day = int(match[1]), int(match[3]), int(match[4])
    if match[5] and year == 0:
        raise _no_day(match[0])
    if match[5]:
        year = 1 - year
    if not 1 <= month <= 12:
        raise _no_day(match[0])
    first = day_of(year, month, 1)
    if not 1 <= day <= last_of_month(first) - first + 1:
        raise _no_day(match[0])
    days: int = first + day - 1
    if abs(days) >= _MOST_DAYS:
        raise _out_of_range(match[0], "DATE")
    return days


def _no_day(text: str) -> ValueError:
    return ValueError(f"{text!r} is not a date: there is no such day")


def _date(text: str) -> int:
    return _moment(text.rstrip(_SPACES), "a date; write it as YYYY-MM-DD")[0]


def _timestamp(text: str) -> int:
    days, nanos, _ = _moment(text)
    return _within(days * DAY + nanos // NANOS, text)


def _nanos(text: str) -> int:
    days, nanos, _ = _moment(text)
    return _within(days * DAY * NANOS + nanos, text, "TIMESTAMP_NS")


def _in_units(type_: SqlType) -> Reader:
    """Of a TIMESTAMP of larger units, of which what a TIMESTAMP holds is rounded."""
    return lambda text: moment_as(_timestamp(text), TIMESTAMP, type_)


def _within(units: int, text: str, type_: str = "TIMESTAMP") -> int:
    if abs(units) >= _MOST_UNITS:
        raise _out_of_range(text, type_)
    return units


def instant(text: str, zone: str = UTC) -> int:
    """A timestamp with its time zone, or without one by the clocks of `zone`, as the same moment in UTC. ValueError."""
    days, nanos, written = _moment(text)
    local = days * DAY + nanos // NANOS
    return _within(local - _offset(written.strip(" ") or zone, local), text)


def _offset(zone: str, local: int) -> int:
    """The microseconds by which a zone is ahead of UTC at a local time."""
    if zone in (UTC, "Z"):
        return 0
    if written := _OFFSET.fullmatch(zone):
        hours, minutes, seconds = (int(part or 0) for part in written.groups()[1:])
        return (hours * 3600 + minutes * 60 + seconds) * (-1_000_000 if written[1] == "-" else 1_000_000)
    return ahead(zone, local)


def _time(text: str) -> int:
    clock = _CLOCK_ALONE.fullmatch(text.lstrip(_SPACES))
    if clock is not None:
        return _of_day(clock, text) // NANOS
    if _INFINITY.fullmatch(text.strip(_SPACES)):
        raise _wrong(text, "a time")
    days, nanos, _ = _moment(text, "a time; write it as HH:MM:SS")
    return _within(days * DAY + nanos // NANOS, text) % DAY


def _moment(text: str, what: str = "a timestamp; write it as YYYY-MM-DD HH:MM:SS") -> tuple[int, int, str]:
    """The day, the nanoseconds of the time of day after it, and its time zone as it is written."""
    bare = text.strip(_SPACES)
    if bare.lower() == "epoch":
        return 0, 0, ""
    match = _DATE.match(text.lstrip(_SPACES))
    if match is None:
        raise InfinityError if _INFINITY.fullmatch(bare) else _wrong(text, what)
    rest = match.string[match.end() :]
    if not rest:
        return _days(match), 0, ""
    clock = _CLOCK.fullmatch(rest[1:].strip(_SPACES)) if rest[0] in f"{_SPACES}T" else None
    if clock is None:
        raise _wrong(text, what)
    return _days(match), _of_day(clock, text), clock[5] or ""


def _of_day(clock: re.Match[str], text: str) -> int:
    hour, minute, second = int(clock[1]), int(clock[2] or 0), int(clock[3] or 0)
    nanos = (hour * 3600 + minute * 60 + second) * 1_000_000_000 + int((clock[4] or "0").ljust(9, "0")[:9])
    if nanos // NANOS > DAY or minute > 59 or second > 59:  # 24:00:00 is the next day's beginning
        raise _no_time(text)
    return nanos


def _no_time(text: str) -> ValueError:
    return ValueError(f"{text!r} holds a time of day that does not exist")


_READERS: dict[Kind, Reader] = {
    Kind.FLOAT: _float,
    Kind.DOUBLE: _double,
    Kind.BOOLEAN: _boolean,
    Kind.DATE: _date,
    Kind.TIMESTAMP: _timestamp,
    Kind.TIMESTAMPTZ: instant,
    Kind.TIMESTAMP_S: _in_units(TIMESTAMP_S),
    Kind.TIMESTAMP_MS: _in_units(TIMESTAMP_MS),
    Kind.TIMESTAMP_NS: _nanos,
    Kind.TIME: _time,
    Kind.BLOB: bytes_of,
    Kind.UUID: uuid_of,
    Kind.INTERVAL: lambda text: interval(text).value,
}

_WRITERS: dict[Kind, Callable[[Any], str]] = {
    Kind.BOOLEAN: lambda value: "true" if value else "false",
    Kind.DATE: date_text,
    **{type_.kind: partial(timestamp_text, per_day=type_.per_day) for type_ in TIMESTAMPS},
    Kind.TIMESTAMPTZ: lambda micros: f"{timestamp_text(micros)}+00",
    Kind.TIME: time_text,
    Kind.UUID: str,
    Kind.JSON: str,
    Kind.INTERVAL: interval_text,
}


def single(value: float) -> float:
    """The nearest number that 32 bits hold; infinite beyond their range."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def nearest_single(value: float, exact: Fraction) -> float:
    """The FLOAT nearest to a number, whose nearest DOUBLE is `value`, not zero: what that lost may decide a half."""
    if math.isfinite(value) and value != exact:
        cut = value if abs(value) < abs(exact) else math.nextafter(value, 0.0)
        bits = struct.unpack("<q", struct.pack("<d", cut))[0]
        value = struct.unpack("<d", struct.pack("<q", bits | 1))[0]
    return single(value)
