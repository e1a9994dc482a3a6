"""Text to values, as DuckDB's casts read it; ValueError for text that is no such value."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import numpy as np

from catalog.types import Kind, SqlType
from ivm.analysis.ranges import limits

_CONTEXT = Context(prec=400, Emax=10**6, Emin=-(10**6))
_NUMBER = re.compile(r"[+-]?(\d+(_\d+)*\.?\d*|\.\d+)([eE][+-]?\d+)?")
_HEX = re.compile(r"0[xX][0-9a-fA-F]+")
_DATE = re.compile(r"(\d{1,7})([-/ \\])(\d{1,2})\2(\d{1,2})( \(BC\))?")
_CLOCK = re.compile(r"(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d+))?)?\s*(Z|[+-]00(?::?00)?)?")
_TRUE = ("true", "t", "1", "yes", "y")
_FALSE = ("false", "f", "0", "no", "n")
_SPACES = " \t\n\v\f\r"
_DAY = 86_400_000_000


def parser(type_: SqlType) -> Callable[[str], Any]:
    """The function from text to the engine form of `type_`."""
    if type_.kind is Kind.DOUBLE:
        return _double
    if type_.kind is Kind.BOOLEAN:
        return _boolean
    if type_.kind is Kind.DATE:
        return _date
    if type_.kind is Kind.TIMESTAMP:
        return _timestamp
    return lambda text: _exact(text, type_)


def _exact(text: str, type_: SqlType) -> int:
    text = text.strip(_SPACES)
    if type_.kind is not Kind.DECIMAL and _HEX.fullmatch(text):
        value = int(text, 16)
    elif _NUMBER.fullmatch(text):
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
    months = (year - 1970) * 12 + month - 1
    first, next_first = (
        int(np.datetime64(m, "M").astype("datetime64[D]").astype(np.int64)) for m in (months, months + 1)
    )
    if not 1 <= day <= next_first - first:
        raise ValueError(match[0])
    return first + day - 1


def _date(text: str) -> int:
    text = text.strip(_SPACES)
    match = _DATE.match(text)
    # A time of day after the date is read and dropped.
    if match is None or ((rest := text[match.end() :]) and not _CLOCK.fullmatch(rest.lstrip(" T"))):
        raise ValueError(text)
    return _days(match)


def _timestamp(text: str) -> int:
    text = text.strip(_SPACES)
    match = _DATE.match(text)
    if match is None:
        raise ValueError(text)
    micros = _days(match) * _DAY
    rest = text[match.end() :]
    if not rest:
        return micros
    clock = _CLOCK.fullmatch(rest[1:].lstrip(" ")) if rest[0] in " T" else None
    if clock is None:
        raise ValueError(text)
    hour, minute, second = int(clock[1]), int(clock[2]), int(clock[3] or 0)
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError(text)
    return micros + (hour * 3600 + minute * 60 + second) * 1_000_000 + int((clock[4] or "0").ljust(6, "0")[:6])
