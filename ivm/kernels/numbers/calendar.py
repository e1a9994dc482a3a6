"""The proleptic Gregorian calendar over days since 1970-01-01, for compiled loops; integer arithmetic only.

Years are counted from March and eras of 400 years from the year 0, so that leap days come last and every division is of
numbers that are not negative.
"""

from __future__ import annotations

from typing import Any

from ivm.kernels.compiling.part import part

Word = Any  # an int64, as compiled code has it


@part()
def civil(days: Word) -> tuple[Word, Word, Word]:
    """(year, month, day of the month) of a day."""
    shifted = days + 719468
    era = shifted // 146097
    day_of_era = shifted - era * 146097
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    from_march = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * from_march + 2) // 5 + 1
    month = from_march + 3 if from_march < 10 else from_march - 9
    year = year_of_era + era * 400
    return (year + 1 if month <= 2 else year), month, day


@part()
def day_of(year: Word, month: Word, day: Word) -> Word:
    """The day of a date; month 1 to 12, day at least 1."""
    counted = year - 1 if month <= 2 else year
    era = counted // 400
    year_of_era = counted - era * 400
    from_march = month - 3 if month > 2 else month + 9
    day_of_year = (153 * from_march + 2) // 5 + day - 1
    return era * 146097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719468


@part()
def shift_months(days: Word, months: Word) -> Word:
    """The same day of the month that many months later, or that month's last day."""
    year, month, day = civil(days)
    target = year * 12 + month - 1 + months
    first = day_of(target // 12, target % 12 + 1, 1)
    following = day_of((target + 1) // 12, (target + 1) % 12 + 1, 1)
    return min(first + day - 1, following - 1)


@part()
def year_of(days: Word) -> Word:
    """The year."""
    return civil(days)[0]


@part()
def month_of(days: Word) -> Word:
    """The month, 1 to 12."""
    return civil(days)[1]


@part()
def day_of_month(days: Word) -> Word:
    """The day of the month, from 1."""
    return civil(days)[2]


@part()
def day_of_year(days: Word) -> Word:
    """The day of the year, from 1."""
    return days - day_of(civil(days)[0], 1, 1) + 1


@part()
def thursday(days: Word) -> Word:
    """The Thursday of the ISO week: it says which year the week belongs to."""
    return days - (days + 3) % 7 + 3


@part()
def iso_year(days: Word) -> Word:
    """The year that the ISO week belongs to."""
    return civil(thursday(days))[0]


@part()
def iso_week(days: Word) -> Word:
    """The ISO week, 1 to 53."""
    return (day_of_year(thursday(days)) - 1) // 7 + 1


@part()
def first_of_period(days: Word, months: Word) -> Word:
    """The first day of the period of 1, 3, 12, 120, 1200 or 12000 months that a day lies in.

    Periods of more than a year count years from 0, toward it.
    """
    year, month, _ = civil(days)
    if months <= 12:
        return day_of(year, (month - 1) // months * months + 1, 1)
    years = months // 12
    return day_of(abs(year) // years * years * (1 if year > 0 else -1), 1, 1)


@part()
def last_of_month(days: Word) -> Word:
    """The last day of the month that a day lies in."""
    year, month, _ = civil(days)
    following = year * 12 + month
    return day_of(following // 12, following % 12 + 1, 1) - 1


@part()
def period_of(days: Word, months: Word) -> Word:
    """The number of the period of 1, 3, 12, 120, 1200 or 12000 months that a day lies in, counted from 0, toward it."""
    year, month, _ = civil(days)
    number = year * 12 + month - 1 if months < 12 else year
    size = months if months < 12 else months // 12
    return number // size if number >= 0 else -(-number // size)
