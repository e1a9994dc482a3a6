"""Literals: the type of a number as written, and conversions of literals from type to type."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal

from catalog.calendar import DAY
from catalog.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    HUGEINT,
    INTEGER,
    MAX_DIGITS,
    NULL,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    TRAITS,
    UUID,
    VARCHAR,
    Kind,
    SqlType,
    decimal,
)
from catalog.uuids import uuid_of
from sql.ir.blobs import bytes_of
from sql.ir.scalar import Literal, Value
from sql.types.calendar import date_text, days_of, is_plain, micros_of, time_text, timestamp_text
from sql.types.operand_type import SIGNED, fits
from sql.types.single import nearest_single, single

_WIDE = Context(prec=100)
_PLAIN = re.compile(r"-?\d{1,60}(\.\d{1,60})?([eE][+-]?\d{1,2})?", re.ASCII)
_DATED = re.compile(r"\d[-/ \\]\d\d?[-/ \\]\d", re.ASCII)
_ZONED = re.compile(r"(.*:\d\d(?:\.\d+)?)(?:Z|([+-])(\d\d)(?::?(\d\d))?)", re.ASCII)
_TIME = re.compile(r"(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,6})?)?", re.ASCII)
_DIGIT = re.compile(r"\d", re.ASCII)
_NUMBER = re.compile(r"(\d*)(?:\.(\d*))?([eE][+-]?\d+)?", re.ASCII)


def number(text: str) -> Literal:
    """The literal that digits write: the smallest of INTEGER, BIGINT, HUGEINT; DECIMAL with a point; else DOUBLE.

    ValueError if `text` is not a number, or an integer that no type holds.
    """
    text = text.replace("_", "")
    match = _NUMBER.fullmatch(text)
    if match is None or not (match[1] or match[2]):
        raise ValueError(f"{text!r} is not a number")
    whole, fraction, exponent = match.groups()
    if exponent is None and fraction is None:
        value = int(whole)
        for type_ in (INTEGER, BIGINT, HUGEINT):
            if fits(value, type_):
                return Literal(value, type_)
        raise ValueError(f"{text} is out of the range of HUGEINT; write {text}e0 for a DOUBLE")
    elif exponent is None and fraction is not None and len(whole) + len(fraction) <= MAX_DIGITS:
        return Literal(int(whole + fraction), decimal(len(whole) + len(fraction), len(fraction)))
    return Literal(float(text), DOUBLE)


def negated(literal: Literal, written: bool = True) -> Literal:
    """Minus the literal; -2147483648 is an INTEGER although its digits alone are a BIGINT.

    One that is not `written` as digits keeps its type, or takes the next in which minus its value fits. ValueError
    where no type holds it.
    """
    value = literal.value
    assert isinstance(value, int | float), "a number"
    if not literal.type.is_integer:
        return Literal(-value, literal.type)
    types: tuple[SqlType, ...] = (INTEGER, BIGINT, HUGEINT)
    if not written:
        types = (literal.type,) if literal.type.is_unsigned else SIGNED[SIGNED.index(literal.type) :]
    found = next((t for t in types if fits(int(-value), t)), None)
    if found is None:
        raise ValueError(f"{-value} is out of the range of {types[-1]}")
    return Literal(-value, found)


def convert(literal: Literal, target: SqlType) -> Literal | None:
    """The literal as a `target`; None if that is to be left to run time. ValueError if it has no such value."""
    if literal.type == target:
        return literal
    if literal.value is None:
        return Literal(None, target)
    make = _TO.get(target.kind)
    value = make(literal, target) if make else None
    return None if value is None else Literal(value, target)


def exactly(literal: Literal, target: SqlType) -> Literal | None:
    """The literal as a `target` if that is the same value, so that comparing with either is the same; else None."""
    numbers = all(type_.is_numeric and not type_.is_float for type_ in (literal.type, target))
    moments = (literal.type, target) in ((TIMESTAMP, DATE), (TIMESTAMPTZ, DATE), (TIMESTAMPTZ, TIMESTAMP))
    if literal.value is None or not (numbers or moments):
        return None
    if literal.type == target:
        return literal
    try:
        converted = convert(literal, target)
        back = convert(converted, literal.type) if converted else None
    except ValueError:
        return None
    return converted if back == literal else None


def _exact(literal: Literal) -> Decimal | None:
    """The number that the literal stands for; None if it is none."""
    value, type_ = literal.value, literal.type
    if type_ == VARCHAR:
        return Decimal(str(value).strip(" ")) if _is_plain(str(value), "a number") else None
    if type_ == BOOLEAN:
        return Decimal(bool(value))
    if type_.is_integer and isinstance(value, int):
        return Decimal(value)
    if type_.kind is Kind.DECIMAL and isinstance(value, int):
        return Decimal(value).scaleb(-type_.scale, _WIDE)
    return None


def _is_plain(text: str, what: str) -> bool:
    """Whether a text is a number as most write it; others, such as 0x1F and 1_000, are read at run time.

    ValueError for a text without any digit, which is none.
    """
    if not _DIGIT.search(text):
        raise ValueError(f"{text!r} is not {what}")
    return _PLAIN.fullmatch(text.strip(" ")) is not None


def _is_moment(text: str, what: str) -> bool:
    """The same for a date or timestamp: years BC, time zones and others are read at run time."""
    if not _DATED.search(text) and text.strip(" ") != "epoch":
        raise ValueError(f"{text!r} is not {what}")
    return is_plain(text)


def _to_integer(literal: Literal, target: SqlType) -> Value:
    if literal.type.is_float and isinstance(literal.value, float) and math.isfinite(literal.value):
        value = round(literal.value)  # half to even, as DuckDB rounds a DOUBLE
    else:
        exact = _exact(literal)
        if exact is None:
            return None
        if not exact.is_finite():
            raise ValueError(f"{literal.value!r} is not an integer")
        value = int(exact.to_integral_value(ROUND_HALF_UP, _WIDE))
    if not fits(value, target):
        raise ValueError(f"{value} is out of the range of {target}")
    return value


def _to_decimal(literal: Literal, target: SqlType) -> Value:
    exact = _exact(literal)
    if exact is None:
        return None
    if not exact.is_finite():
        raise ValueError(f"{literal.value!r} is not a {target}")
    value = int(exact.scaleb(target.scale, _WIDE).to_integral_value(ROUND_HALF_UP, _WIDE))
    if abs(value) >= 10**target.precision:
        raise ValueError(f"{exact} is out of the range of {target}")
    return value


def _to_double(literal: Literal, target: SqlType) -> Value:
    if literal.type == VARCHAR:
        text = str(literal.value).strip(" ")
        known = text.lower().lstrip("+-") in ("nan", "inf", "infinity") or _is_plain(text, "a number")
        return float(text) if known else None
    if literal.type.is_float:
        return literal.value
    exact = _exact(literal)
    # Of longer decimals, DuckDB converts the whole part and the fraction one by one.
    long = literal.type.kind is Kind.DECIMAL and isinstance(literal.value, int) and abs(literal.value) >= 1 << 53
    return None if exact is None or long else float(exact)


def _to_single(literal: Literal, target: SqlType) -> Value:
    value, type_ = literal.value, literal.type
    if type_ == VARCHAR:
        double = _to_double(literal, target)
        return nearest_single(double, str(value).strip(" ")) if isinstance(double, float) else None
    if type_.kind is Kind.DECIMAL:  # of longer ones, DuckDB converts the whole part and the fraction one by one
        small = isinstance(value, int) and abs(value) <= 1 << 24
        return single(value / single(10.0**type_.scale)) if small and isinstance(value, int) else None
    if type_.is_integer:
        return single(float(value)) if isinstance(value, int) and abs(value) < 1 << 53 else None
    if type_.is_float and isinstance(value, float):
        nearest = single(value)
        if math.isinf(nearest) and not math.isinf(value):
            raise ValueError(f"{value} is out of the range of {target}")
        return nearest
    return None


_TRUTH = {"true": True, "t": True, "1": True, "yes": True, "y": True}
_TRUTH |= {"false": False, "f": False, "0": False, "no": False, "n": False}


def _to_boolean(literal: Literal, target: SqlType) -> Value:
    if literal.type == VARCHAR:
        found = _TRUTH.get(str(literal.value).strip().lower())
        if found is None:
            raise ValueError(f"{literal.value!r} is not true or false")
        return found
    exact = _exact(literal)
    return None if exact is None else bool(exact)


def _to_date(literal: Literal, target: SqlType) -> Value:
    if literal.type == VARCHAR:
        text = str(literal.value)
        return days_of(text) if _is_moment(text, "a date; write it as YYYY-MM-DD") else None
    if literal.type in (TIMESTAMP, TIMESTAMPTZ) and isinstance(literal.value, int):
        return literal.value // DAY
    return None


def _to_timestamp(literal: Literal, target: SqlType) -> Value:
    if literal.type == VARCHAR:
        text = str(literal.value)
        return micros_of(text) if _is_moment(text, "a timestamp; write it as YYYY-MM-DD HH:MM:SS") else None
    if literal.type == DATE and isinstance(literal.value, int):
        return literal.value * DAY
    return literal.value if literal.type == TIMESTAMPTZ else None


def _to_instant(literal: Literal, target: SqlType) -> Value:
    if literal.type == TIMESTAMP:
        return literal.value
    zoned = _ZONED.fullmatch(str(literal.value)) if literal.type == VARCHAR else None
    if zoned is None:
        return _to_timestamp(literal, target)
    local, sign, hours, minutes = zoned.groups()
    if not is_plain(local):
        return None
    ahead = (int(hours or 0) * 60 + int(minutes or 0)) * 60_000_000
    return micros_of(local) + (ahead if sign == "-" else -ahead)


def _to_time(literal: Literal, target: SqlType) -> Value:
    if literal.type == TIMESTAMP and isinstance(literal.value, int):
        return literal.value % DAY
    plain = literal.type == VARCHAR and _TIME.fullmatch(str(literal.value))
    return micros_of(f"1970-01-01 {literal.value}") if plain else None


def _to_bytes(literal: Literal, target: SqlType) -> Value:
    return bytes_of(str(literal.value)) if literal.type == VARCHAR else None


def _to_uuid(literal: Literal, target: SqlType) -> Value:
    return uuid_of(str(literal.value)) if literal.type == VARCHAR else None


def _to_enum(literal: Literal, target: SqlType) -> Value:
    if literal.type != VARCHAR:
        return None
    if literal.value not in target.labels:
        raise ValueError(f"{literal.value!r} is none of its labels")
    return target.labels.index(str(literal.value))


def _to_text(literal: Literal, target: SqlType) -> Value:
    value, type_ = literal.value, literal.type
    if type_ == BOOLEAN:
        return "true" if value else "false"
    if type_ == UUID:
        return value
    if type_.kind is Kind.ENUM and isinstance(value, int):
        return type_.labels[value]
    if type_ == DATE and isinstance(value, int):
        return date_text(value)
    if type_ == TIMESTAMP and isinstance(value, int):
        return timestamp_text(value)
    if type_ == TIMESTAMPTZ and isinstance(value, int):
        return f"{timestamp_text(value)}+00"
    if type_ == TIME and isinstance(value, int):
        return time_text(value)
    exact = _exact(literal)
    if exact is None:
        return None
    text = f"{exact:f}"
    # A DECIMAL without digits before its point has none in its text either.
    return text.replace("0.", ".", 1) if type_.kind is Kind.DECIMAL and type_.precision == type_.scale else text


_TO: dict[Kind, Callable[[Literal, SqlType], Value]] = {
    **{kind: _to_integer for kind, traits in TRAITS.items() if traits.bits},
    Kind.DECIMAL: _to_decimal,
    Kind.FLOAT: _to_single,
    Kind.DOUBLE: _to_double,
    Kind.BOOLEAN: _to_boolean,
    Kind.DATE: _to_date,
    Kind.TIMESTAMP: _to_timestamp,
    Kind.TIMESTAMPTZ: _to_instant,
    Kind.TIME: _to_time,
    Kind.VARCHAR: _to_text,
    Kind.BLOB: _to_bytes,
    Kind.UUID: _to_uuid,
    Kind.ENUM: _to_enum,
}

NULL_LITERAL = Literal(None, NULL)
