"""INTERVAL: months, days and microseconds, each with a sign of its own, in one integer of 128 bits.

That is laid out as Arrow's month_day_nano_interval: in the low word the months, then the days, of 32 bits each, in the
high word the time as nanoseconds. What is compared is an interval's length, of which a month has 30 days and a day 24
hours, so that different intervals may be equal, as in DuckDB.
"""

from __future__ import annotations

from ivm.catalog.calendar import DAY, time_text

MONTH_DAYS = 30
"""Days that a month counts for where intervals are compared."""
NANOS = 1000
"""Nanoseconds of a microsecond."""
MOST_MICROS = ((1 << 63) - 1) // NANOS
"""The longest time within an interval, some 292 years, since Arrow counts it in nanoseconds."""
TOO_LONG = "its time is beyond 292 years, which an INTERVAL does not hold; write it in days or months"

_HALF, _WORD = 1 << 32, 1 << 64
_MOST = (1 << 31) - 1


def packed(months: int, days: int, micros: int) -> int:
    """The interval of these parts; ValueError where one is out of its range."""
    if not (-_MOST - 1 <= months <= _MOST and -_MOST - 1 <= days <= _MOST):
        raise ValueError("it is out of the range of INTERVAL; write a shorter one")
    if abs(micros) > MOST_MICROS:
        raise ValueError(TOO_LONG)
    return micros * NANOS * _WORD + days % _HALF * _HALF + months % _HALF


def parts(value: int) -> tuple[int, int, int]:
    """The months, days and microseconds of an interval."""
    low = value % _WORD
    return _signed(low % _HALF), _signed(low // _HALF), value // _WORD // NANOS


def _signed(half: int) -> int:
    return half - _HALF if half > _MOST else half


def length(value: int) -> int:
    """The microseconds that an interval counts for where intervals are compared."""
    months, days, micros = parts(value)
    return (months * MONTH_DAYS + days) * DAY + micros


def interval_text(value: int) -> str:
    """An interval as DuckDB writes it, such as 1 year 2 months -3 days 00:00:01.5."""
    months, days, micros = parts(value)
    years = int(months / 12)
    named = ((years, "year"), (months - years * 12, "month"), (days, "day"))
    words = [f"{count} {unit}{'' if abs(count) == 1 else 's'}" for count, unit in named if count]
    if micros or not words:
        words.append(f"{'-' if micros < 0 else ''}{time_text(abs(micros))}")
    return " ".join(words)
