"""Dates, timestamps and intervals as literals: reading, adding and writing them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from catalog.calendar import CLOCK, DAY, MONTHS, shift_months
from sql.ir.limits import TIMESTAMP_RANGE

_MONTH_DAYS = 30
_MOST = 1 << 31
"""Months of an interval are below that, and its days and microseconds together below twice its square."""

_PART = re.compile(r"\s*(-?)(\d+)(?:\.(\d+))?\s*([A-Za-z]+)(?![A-Za-z])", re.ASCII)
_CLOCK = re.compile(r"\s*(-?)(\d+):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,6}))?)?\s*", re.ASCII)
_AGO = re.compile(r"\s+ago\s*", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Interval:
    """A constant interval; its parts are added months first, then days, then microseconds.

    ValueError for one that is longer than all dates and times.
    """

    months: int = 0
    days: int = 0
    micros: int = 0

    def __post_init__(self) -> None:
        if abs(self.months) >= _MOST or abs(self.days * DAY + self.micros) >= _MOST**2 * 2:
            raise ValueError("it is out of the range of intervals; write a shorter one")

    def times(self, factor: int) -> Interval:
        """Each part times `factor`."""
        return Interval(self.months * factor, self.days * factor, self.micros * factor)

    def plus(self, other: Interval) -> Interval:
        """The sum of each part."""
        return Interval(self.months + other.months, self.days + other.days, self.micros + other.micros)


_UNITS = {
    **{name: Interval(micros=size) for name, size in reversed(CLOCK.items())},
    "day": Interval(days=1),
    "week": Interval(days=7),
    **{name: Interval(months=size) for name, size in MONTHS.items()},
}
ABBREVIATED = {
    "y": "year", "yr": "year", "mon": "month", "w": "week", "d": "day", "h": "hour", "hr": "hour", "m": "minute",
    "min": "minute", "s": "second", "sec": "second", "ms": "millisecond", "msec": "millisecond", "us": "microsecond",
    "usec": "microsecond", "dec": "decade", "c": "century", "cent": "century", "centuries": "century",
    "mil": "millennium", "millennia": "millennium",
}  # fmt: skip
"""Shorter names of parts of a date, and plurals without an s."""


def interval(text: str) -> Interval:
    """The interval that `text` writes: numbers with units and a time, such as '1 year -2 days 02:30' or '1 day ago'.

    Of a fraction of a month, days are made, 30 of a month, and of a fraction of a day a time. ValueError if it is none.
    """
    wrong = ValueError(f"{text!r} is not an interval; write for instance '3 months'")
    total, at = Interval(), 0
    while part := _PART.match(text, at):
        sign, whole, fraction, unit = part.groups()
        amount = Fraction(f"{sign}{whole}.{fraction or 0}")
        total, at = total.plus(_fractional(unit_of(unit), amount, text)), part.end()
    rest = text[at:]
    clock = _CLOCK.fullmatch(rest)
    if clock is not None:
        total = total.plus(Interval(micros=_time_of(clock)))
    elif at and _AGO.fullmatch(rest):
        total = total.times(-1)
    elif not at or rest.strip():
        raise wrong
    return total


def _fractional(unit: Interval, amount: Fraction, text: str) -> Interval:
    months, days, micros = unit.months * amount, unit.days * amount, unit.micros * amount
    days += (months - int(months)) * _MONTH_DAYS
    micros += (days - int(days)) * DAY
    if micros != int(micros):
        raise ValueError(f"{text!r} has parts of a microsecond; write whole ones")
    return Interval(int(months), int(days), int(micros))


def _time_of(clock: re.Match[str]) -> int:
    sign, hours, minutes, seconds, fraction = clock.groups()
    if int(minutes) > 59 or int(seconds or 0) > 59:
        raise ValueError(f"{clock[0].strip()!r} holds a time that does not exist")
    whole = (int(hours) * 60 + int(minutes)) * 60 + int(seconds or 0)
    micros = whole * 1_000_000 + int((fraction or "").ljust(6, "0"))
    return -micros if sign else micros


def unit_of(name: str) -> Interval:
    """One `name`, such as 'day' or 'DAYS'; ValueError if there is no such unit."""
    lower = name.lower()
    singular = lower if lower in ABBREVIATED or lower in _UNITS else lower.removesuffix("s")
    found = _UNITS.get(ABBREVIATED.get(singular, singular))
    if found is None:
        raise ValueError(f"{name!r} is not a unit of time; units are {', '.join(_UNITS)}")
    return found


def add_interval(micros: int, added: Interval) -> int:
    """A timestamp plus an interval; a day beyond its month becomes the last. ValueError beyond the range of both."""
    days, time = divmod(micros, DAY)
    moved: int = _within(shift_months(days, added.months) * DAY)
    return _within(moved + added.days * DAY + time + added.micros)


def _within(micros: int) -> int:
    if not TIMESTAMP_RANGE[0] <= micros <= TIMESTAMP_RANGE[1]:
        raise ValueError("the result is beyond the range of TIMESTAMP, which ends in the year 294247")
    return micros
