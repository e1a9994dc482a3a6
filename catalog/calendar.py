"""The proleptic Gregorian calendar over days since 1970-01-01, the only one that the engine has.

A DATE is days, a TIMESTAMP microseconds. Every function is integer arithmetic without a branch on its values, so it is
one and the same for Python's integers (constants), for numpy's int64 arrays (the interpreter of expressions) and within
compiled loops, which `ivm.kernels.numbers.elementwise` makes parts of. Years are counted from March and eras of 400
years from the year 0, so that leap days come last and every division is of numbers that are not negative.
"""

from __future__ import annotations

from typing import Any

Word = Any  # an integer, an int64 array, or an int64 as compiled code has it

DAY = 86_400_000_000
"""Microseconds of a day."""


def civil(days: Word) -> tuple[Word, Word, Word]:
    """(year, month, day of the month) of a day."""
    year, day_of_year = _from_march(days)
    from_march = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * from_march + 2) // 5 + 1
    month = from_march + 3 - 12 * (from_march >= 10)
    return year + (month <= 2), month, day


def _from_march(days: Word) -> tuple[Word, Word]:
    """The year that began with the last March, and the day of it, from 0."""
    shifted = days + 719468
    era = shifted // 146097
    day_of_era = shifted - era * 146097
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    return year_of_era + era * 400, day_of_year


def day_of(year: Word, month: Word, day: Word) -> Word:
    """The day of a date; month 1 to 12, day at least 1."""
    counted = year - 1 * (month <= 2)
    era = counted // 400
    year_of_era = counted - era * 400
    from_march = month - 3 + 12 * (month <= 2)
    day_of_year = (153 * from_march + 2) // 5 + day - 1
    return era * 146097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719468


def month_number(days: Word) -> Word:
    """The months from January of the year 0 to the month that a day lies in."""
    year, month, _ = civil(days)
    return year * 12 + month - 1


def first_of_month(number: Word) -> Word:
    """The first day of the month that many months after January of the year 0."""
    return day_of(number // 12, number % 12 + 1, 1)


def shift_months(days: Word, months: Word) -> Word:
    """The same day of the month that many months later, or that month's last day."""
    year, month, day = civil(days)
    target = year * 12 + month - 1 + months
    wanted = first_of_month(target) + day - 1
    last = first_of_month(target + 1) - 1
    return wanted - (wanted - last) * (wanted > last)


def last_of_month(days: Word) -> Word:
    """The last day of the month that a day lies in."""
    return first_of_month(month_number(days) + 1) - 1


def toward_zero(number: Word, size: Word) -> Word:
    """The quotient by a positive number, truncated."""
    return abs(number) // size * (1 - 2 * (number < 0))


def period_of(days: Word, months: Word) -> Word:
    """The number of the period of 1, 3, 12, 120, 1200 or 12000 months that a day lies in, counted from 0, toward it."""
    return toward_zero(month_number(days), months) if months < 12 else toward_zero(year_of(days), months // 12)


def first_of_period(days: Word, months: Word) -> Word:
    """The first day of the period of 1, 3, 12, 120, 1200 or 12000 months that a day lies in.

    Periods of more than a year count years from 0, toward it.
    """
    if months <= 12:
        year, month, _ = civil(days)
        return day_of(year, (month - 1) // months * months + 1, 1)
    return day_of(toward_zero(year_of(days), months // 12) * (months // 12), 1, 1)


def year_of(days: Word) -> Word:
    """The year."""
    year, day_of_year = _from_march(days)
    return year + (day_of_year >= 306)


def month_of(days: Word) -> Word:
    """The month, 1 to 12."""
    return civil(days)[1]


def day_of_month(days: Word) -> Word:
    """The day of the month, from 1."""
    return civil(days)[2]


def quarter_of(days: Word) -> Word:
    """The quarter, 1 to 4."""
    return (month_of(days) - 1) // 3 + 1


def day_of_week(days: Word) -> Word:
    """The day of the week; Sunday is 0."""
    return (days + 4) % 7


def iso_day_of_week(days: Word) -> Word:
    """The day of the week; Monday is 1."""
    return (days + 3) % 7 + 1


def day_of_year(days: Word) -> Word:
    """The day of the year, from 1."""
    return days - day_of(year_of(days), 1, 1) + 1


def monday(days: Word) -> Word:
    """The Monday of the week that a day lies in."""
    return days - (days + 3) % 7


def iso_year(days: Word) -> Word:
    """The year that the ISO week belongs to: that of its Thursday."""
    return year_of(monday(days) + 3)


def iso_week(days: Word) -> Word:
    """The ISO week, 1 to 53."""
    return (day_of_year(monday(days) + 3) - 1) // 7 + 1


def first_of_iso_year(days: Word) -> Word:
    """The first day of the year that the ISO week belongs to."""
    return monday(day_of(iso_year(days), 1, 4))


def year_and_week(days: Word) -> Word:
    """The ISO year and week, as in 202301; before the year 1 both are subtracted."""
    year = iso_year(days)
    return year * 100 + (1 - 2 * (year <= 0)) * iso_week(days)


def decade_of(days: Word) -> Word:
    """The decade, counted from the year 0, toward it."""
    return toward_zero(year_of(days), 10)


def century_of(days: Word) -> Word:
    """The century, from 1; before the year 1 from -1."""
    return _counted_from_one(year_of(days), 100)


def millennium_of(days: Word) -> Word:
    """The millennium, from 1; before the year 1 from -1."""
    return _counted_from_one(year_of(days), 1000)


def _counted_from_one(year: Word, length: Word) -> Word:
    after = year > 0
    return after * ((year - 1) // length + 1) + (1 - after) * (-(abs(year) // length) - 1)


def era_of(days: Word) -> Word:
    """1, and 0 before the year 1."""
    return 1 * (year_of(days) > 0)


def whole_months(start: Word, end: Word) -> Word:
    """The whole months from one TIMESTAMP to another; from the end of a month to the end of a shorter one is whole."""
    backwards = end < start
    low, high = start + (end - start) * backwards, end + (start - end) * backwards
    from_year, from_month, from_day = civil(low // DAY)
    to_year, to_month, to_day = civil(high // DAY)
    from_clock, to_clock = low % DAY, high % DAY
    last = day_of_month(last_of_month(high // DAY))
    at_end = (to_day == last) & ((from_day > last) | ((from_day == last) & (from_clock < to_clock)))
    day = from_day + (last - from_day) * at_end
    short = (to_day < day) | ((to_day == day) & (to_clock < from_clock))
    months = (to_year - from_year) * 12 + to_month - from_month - 1 * short
    return months * (1 - 2 * backwards)


def date_text(days: int) -> str:
    """A date as DuckDB writes it."""
    year, month, day = civil(days)
    return f"{year:04}-{month:02}-{day:02}" if year > 0 else f"{1 - year:04}-{month:02}-{day:02} (BC)"


def timestamp_text(units: int, per_day: int = DAY) -> str:
    """A timestamp as DuckDB writes it, in units of which a day has so many."""
    days, clock = divmod(units, per_day)
    return f"{date_text(days)} {time_text(clock, per_day)}"


def time_text(clock: int, per_day: int = DAY) -> str:
    """A time of day as DuckDB writes it: the fraction only where there is one, without trailing zeros."""
    seconds, fraction = divmod(clock, per_day // 86_400)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{text}.{fraction * 86_400_000_000_000 // per_day:09}".rstrip("0") if fraction else text


PARTS_OF_DAY = {
    "year": year_of, "month": month_of, "day": day_of_month, "quarter": quarter_of, "dow": day_of_week,
    "isodow": iso_day_of_week, "doy": day_of_year, "week": iso_week, "isoyear": iso_year, "yearweek": year_and_week,
    "decade": decade_of, "century": century_of, "millennium": millennium_of, "era": era_of,
}  # fmt: skip
"""The parts that EXTRACT takes of a day."""

MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200, "millennium": 12000}
"""The periods that are whole months."""

CLOCK = {"hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000, "millisecond": 1000, "microsecond": 1}
"""The parts of a day, in microseconds."""

AROUND_CLOCK = {**dict.fromkeys(CLOCK, 60_000_000), "hour": DAY, "minute": 3_600_000_000}
"""What EXTRACT counts each of them within: milliseconds and microseconds are those of the minute."""
