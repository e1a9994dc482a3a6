"""Dates written and read by a format, and the names of days and months.

A timestamp is an int of microseconds since 1970-01-01, a date an int of days. Formats are DuckDB's: % and a letter, a -
between them for no leading zero.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from ivm.catalog.calendar import DAY, civil, day_of, day_of_year, iso_week, iso_year, last_of_month

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
          "December")  # fmt: skip
_WHOLE = {"%c": "%Y-%m-%d %H:%M:%S", "%x": "%Y-%m-%d", "%X": "%H:%M:%S", "%T": "%H:%M:%S"}
_SPECIFIER = re.compile(r"%-?.", re.DOTALL)


class Moment:
    """A timestamp taken apart."""

    __slots__ = ("clock", "day", "days", "month", "year")

    def __init__(self, micros: int) -> None:
        self.days: int = micros // DAY
        self.clock: int = micros % DAY
        self.year, self.month, self.day = _civil(self.days)

    @property
    def weekday(self) -> int:
        """Monday is 0."""
        return (self.days + 3) % 7

    @property
    def day_of_year(self) -> int:
        """From 1."""
        return int(day_of_year(self.days))


_civil: Callable[[int], tuple[int, int, int]] = lru_cache(maxsize=1 << 16)(civil)


_WRITE: dict[str, Callable[[Moment], str]] = {
    "Y": lambda m: f"{m.year:04d}",
    "y": lambda m: f"{m.year % 100:02d}",
    "m": lambda m: f"{m.month:02d}",
    "d": lambda m: f"{m.day:02d}",
    "H": lambda m: f"{m.clock // 3_600_000_000:02d}",
    "I": lambda m: f"{(m.clock // 3_600_000_000 + 11) % 12 + 1:02d}",
    "M": lambda m: f"{m.clock // 60_000_000 % 60:02d}",
    "S": lambda m: f"{m.clock // 1_000_000 % 60:02d}",
    "p": lambda m: "AM" if m.clock < DAY // 2 else "PM",
    "f": lambda m: f"{m.clock % 1_000_000:06d}",
    "g": lambda m: f"{m.clock % 1_000_000 // 1000:03d}",
    "n": lambda m: f"{m.clock % 1_000_000 * 1000:09d}",
    "j": lambda m: f"{m.day_of_year:03d}",
    "U": lambda m: f"{(m.day_of_year + 6 - (m.weekday + 1) % 7) // 7:02d}",
    "W": lambda m: f"{(m.day_of_year + 6 - m.weekday) // 7:02d}",
    "V": lambda m: f"{iso_week(m.days):02d}",
    "G": lambda m: f"{iso_year(m.days):04d}",
    "u": lambda m: str(m.weekday + 1),
    "w": lambda m: str((m.weekday + 1) % 7),
    "a": lambda m: DAYS[m.weekday][:3],
    "A": lambda m: DAYS[m.weekday],
    "b": lambda m: MONTHS[m.month - 1][:3],
    "h": lambda m: MONTHS[m.month - 1][:3],
    "B": lambda m: MONTHS[m.month - 1],
    "%": lambda m: "%",
}


def strftime(micros: int, form: str) -> str:
    """The timestamp as the format writes it."""
    moment = Moment(micros)
    return "".join(piece if isinstance(piece, str) else piece(moment) for piece in _writers(form))


@lru_cache(maxsize=256)
def _writers(form: str) -> tuple[str | Callable[[Moment], str], ...]:
    form = _spelled(form)
    pieces: list[str | Callable[[Moment], str]] = []
    at = 0
    for found in _SPECIFIER.finditer(form):
        pieces.append(form[at : found.start()])
        at = found.end()
        pieces.append(_writer(found[0]))
    return (*pieces, form[at:])


def _writer(specifier: str) -> Callable[[Moment], str]:
    write = _WRITE[specifier[-1]]
    return write if len(specifier) == 2 else lambda moment: write(moment).lstrip("0") or "0"


def _spelled(form: str) -> str:
    """The format with %c, %x, %X and %T written out."""
    return _SPECIFIER.sub(lambda found: _WHOLE.get(found[0], found[0]), form)


_NAMES = {
    "a": [name[:3] for name in DAYS],
    "A": list(DAYS),
    "b": [name[:3] for name in MONTHS],
    "h": [name[:3] for name in MONTHS],
    "B": list(MONTHS),
    "p": ["AM", "PM"],
}
_DIGITS = {"Y": 4, "y": 2, "m": 2, "d": 2, "H": 2, "I": 2, "M": 2, "S": 2, "f": 6, "g": 3, "n": 9, "j": 3}


def strptime(text: str, form: str) -> int:
    """The timestamp that the text writes by the format; parts that are missing are those of 1900-01-01 00:00:00.

    ValueError if the text does not follow the format or there is no such date.
    """
    pattern, letters = _reader(form)
    match = pattern.fullmatch(text)
    if match is None:
        raise ValueError(f"it is not written as {form!r}")
    parts = {letter: _part(letter, match[i + 1]) for i, letter in enumerate(letters)}
    return _day(parts) * DAY + _clock(parts)


def try_strptime(text: str, form: str) -> int | None:
    """`strptime`, None instead of an error."""
    try:
        return strptime(text, form)
    except ValueError:
        return None


@lru_cache(maxsize=256)
def _reader(form: str) -> tuple[re.Pattern[str], str]:
    pattern, letters, at = r"\s*", "", 0
    form = _spelled(form)
    for found in _SPECIFIER.finditer(form):
        pattern += _literally(form[at : found.start()])
        at, letter = found.end(), found[0][-1]
        if letter == "%":
            pattern += "%"
            continue
        letters += letter
        named = "|".join(_NAMES.get(letter, ()))
        pattern += f"({named})" if named else f"((?>[0-9]{{1,{_DIGITS[letter]}}}))"
    return re.compile(pattern + _literally(form[at:]) + r"\s*", re.IGNORECASE), letters


def _literally(text: str) -> str:
    return "".join(r"\s+" if part.isspace() else re.escape(part) for part in re.split(r"(\s+)", text))


def _part(letter: str, text: str) -> int:
    names = _NAMES.get(letter)
    if names is not None:
        return [name.lower() for name in names].index(text.lower())
    return int(text.ljust(_DIGITS[letter], "0") if letter in "fgn" else text)


def _day(parts: dict[str, int]) -> int:
    year, month, day = parts.get("Y", 1900), parts.get("m", 1), parts.get("d", 1)
    if "y" in parts:
        year = parts["y"] + (1900 if parts["y"] >= 69 else 2000)
    for letter in "bhB":
        month = parts.get(letter, month - 1) + 1
    if not 1 <= month <= 12 or not 1 <= day <= 31:
        raise ValueError("there is no such date")
    first = day_of(year, month, 1)
    if "j" in parts:
        if not 1 <= parts["j"] <= 366:
            raise ValueError("there is no such day of a year")
        return day_of(year, 1, 1) + parts["j"] - 1
    if first + day > last_of_month(first) + 1:
        raise ValueError("there is no such date")
    return first + day - 1


def _clock(parts: dict[str, int]) -> int:
    hour, minute, second = parts.get("H", 0), parts.get("M", 0), parts.get("S", 0)
    if "I" in parts:
        if not 1 <= parts["I"] <= 12:
            raise ValueError("there is no such hour")
        hour = parts["I"] % 12 + 12 * parts.get("p", 0)
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError("there is no such time of day")
    fraction = parts.get("f", 0) + parts.get("g", 0) * 1000 + (parts.get("n", 0) + 500) // 1000
    return ((hour * 60 + minute) * 60 + second) * 1_000_000 + fraction
