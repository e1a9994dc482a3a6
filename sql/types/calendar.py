"""Dates, timestamps and intervals as literals: reading, adding and writing them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from ivm.catalog.calendar import CLOCK, DAY, MONTHS, shift_months
from ivm.catalog.intervals import MONTH_DAYS, packed
from ivm.sql.ir.limits import TIMESTAMP_RANGE

_PART = re.compile(r"\s*(-?)(\d+)(?:\.(\d*))?\s*([A-Za-z]+)(?![A-Za-z])", re.ASCII)
_CLOCK = re.compile(r"\s*(-?)(\d+):(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?)?\s*", re.ASCII)
_SECONDS = re.compile(r"\s*(-?)(\d+)(?:\.(\d*))?\s*", re.ASCII)
_AGO = re.compile(r"\s+ago\s*", re.ASCII | re.IGNORECASE)
_AT = re.compile(r"\s*@")
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Interval:
    """A constant interval; its parts are added months first, then days, then microseconds.

    ValueError for one that is longer than INTERVAL holds.
    """

    months: int = 0
    days: int = 0
    micros: int = 0

    def __post_init__(self) -> None:
        packed(self.months, self.days, self.micros)

    @property
    def value(self) -> int:
        """Its engine form."""
        return packed(self.months, self.days, self.micros)

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

    As in DuckDB a number alone is seconds; of a fraction of a month days are made, 30 of a month, of one of a day a
    time, and of one of a year months. What is below a microsecond is cut off. ValueError if it is none.
    """
    wrong = ValueError(f"{text!r} is not an interval; write for instance '3 months'")
    sign = _AT.match(text)
    total, at = Interval(), sign.end() if sign else 0
    begin = at
    while part := _PART.match(text, at):
        if part[4].lower() == "ago":
            break
        total, at = total.plus(_fractional(unit_of(part[4]), part)), part.end()
    rest = text[at:]
    clock = _CLOCK.fullmatch(rest)
    if clock is not None:
        return total.plus(Interval(micros=_time_of(clock)))
    if at > begin and _AGO.fullmatch(rest):
        return total.times(-1)
    if at == begin and (seconds := _SECONDS.fullmatch(rest)):
        return _fractional(unit_of("second"), seconds)
    if at == begin or rest.strip():
        raise wrong
    return total


def _fractional(unit: Interval, number: re.Match[str]) -> Interval:
    """So many of a unit; the number is a sign, digits and decimals."""
    sign, whole, decimals = number.groups()[:3]
    exact, rest = unit.times(int(whole)), Fraction(_micros(decimals), 10**_DIGITS)
    months = unit.months * rest
    days = unit.days * rest + (0 if unit.months >= MONTHS["year"] else months - int(months)) * MONTH_DAYS
    micros = unit.micros * rest + (days - int(days)) * DAY
    found = exact.plus(Interval(int(months), int(days), round(micros) if unit.micros > 1 else int(micros)))
    return found.times(-1 if sign else 1)


def _micros(decimals: str | None) -> int:
    """The first decimals of a number, as millionths."""
    return int((decimals or "").ljust(_DIGITS, "0")[:_DIGITS])


def _time_of(clock: re.Match[str]) -> int:
    sign, hours, minutes, seconds, decimals = clock.groups()
    if int(minutes) > 59 or int(seconds or 0) > 59:
        raise ValueError(f"{clock[0].strip()!r} holds a time that does not exist")
    whole = (int(hours) * 60 + int(minutes)) * 60 + int(seconds or 0)
    micros = whole * 1_000_000 + _micros(decimals)
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
