"""The formats of printf() and format(): a text with places, at each of which an argument is written.

A place becomes a format of Python's, which writes numbers and text as DuckDB does; what would differ is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

MOST_WIDE = 1000
"""A place is that wide at most, and has so many digits."""

_FMT = re.compile(r"(?:(.)?([<>^]))?([+\- ])?(0)?([1-9]\d*)?([,_])?(?:\.(\d+))?([a-zA-Z%]?)", re.DOTALL)
_PLACE = re.compile(r"\{(\d*)(?::([^{}]*))?\}")
_PRINTF = re.compile(r"%([-+ 0,]*)([1-9]\d*)?(?:\.(\d+))?(?:hh|h|ll|l|z|j|t|L)?([a-zA-Z])")


@dataclass(frozen=True, slots=True)
class Place:
    """Where argument `argument`, counted from 0, is written; how is in the parts of Python's formats."""

    argument: int
    written: str
    fill: str = ""
    align: str = ""
    sign: str = ""
    zero: bool = False
    width: str = ""
    separator: str = ""
    precision: str = ""
    letter: str = ""

    @property
    def is_plain(self) -> bool:
        """Whether the argument is written as it is."""
        return not (self.align or self.sign or self.zero or self.width or self.separator or self.precision)

    def of_integer(self) -> str:
        """Python's format for an integer; ValueError if there is none that writes the same."""
        self._check(self.letter in ("", *"dxXob") and not self.precision, "an integer")
        self._check(not self.separator or self.letter in ("", "d"), "an integer")
        return self._spec("d" if self.letter == "" else self.letter)

    def of_double(self) -> str:
        """As `of_integer`, for a DOUBLE."""
        self._check(self.letter in ("", *"feEgG") and not (self.precision and not self.letter), "a DOUBLE")
        self._check(not self.separator or self.letter == "f", "a DOUBLE")
        return self._spec(self.letter)

    def of_text(self) -> str:
        """As `of_integer`, for a text."""
        self._check(self.letter in ("", "s") and not (self.sign or self.zero or self.separator), "a text")
        return self._spec("s")

    def _spec(self, letter: str) -> str:
        self._check(not (self.zero and (self.align or self.separator)), "a number")
        self._check(max(int(self.width or 0), int(self.precision or 0)) <= MOST_WIDE, "anything")
        precision = f".{self.precision}" if self.precision else ""
        zero = "0" if self.zero else ""
        return f"{self.fill}{self.align}{self.sign}{zero}{self.width}{self.separator}{precision}{letter}"

    def _check(self, known: bool, what: str) -> None:
        if not known:
            raise ValueError(f"{self.written!r} is not supported for {what}")


def printf_pieces(form: str) -> list[str | Place]:
    """The texts and places of a format of printf(). ValueError for what is no such format or is not supported."""
    return _pieces(form, "%", _printf_place)


def _pieces(form: str, signs: str, place: Callable[[str, int, int], tuple[Place, int]]) -> list[str | Place]:
    """The pieces of a format in which a sign begins a place, and two stand for one.

    `place` reads the place that begins somewhere, of which some stand before it, and says where it ends.
    """
    pieces: list[str | Place] = []
    at = places = 0
    for start, sign in enumerate(form):
        if start < at or sign not in signs:
            continue
        pieces.append(form[at:start])
        if form[start : start + 2] == sign * 2:
            pieces.append(sign)
            at = start + 2
        else:
            found, at = place(form, start, places)
            pieces.append(found)
            places += 1
    return [piece for piece in (*pieces, form[at:]) if piece != ""]


def _printf_place(form: str, start: int, number: int) -> tuple[Place, int]:
    found = _PRINTF.match(form, start)
    flags, width, precision, letter = found.groups("") if found else ("", "", "", "")
    if found is None or letter not in "disfeEgG" or len(set(flags)) < len(flags):
        raise ValueError(f"{form[start : start + 8]!r} is not supported; write %d, %s, %f, %e or %g, or use format()")
    if letter == "s" and ("+" in flags or " " in flags):
        raise ValueError(f"{found[0]!r} is not supported for a text")
    align = "<" if "-" in flags else ">" if width and "0" not in flags else ""
    sign = "+" if "+" in flags else " " if " " in flags else ""
    separator = "," if "," in flags else ""
    letter = "d" if letter == "i" else letter
    place = Place(number, found[0], "", align, sign, "0" in flags, width, separator, precision, letter)
    return place, found.end()


def format_pieces(form: str) -> list[str | Place]:
    """The texts and places of a format of format(), as `printf_pieces`."""
    pieces = _pieces(form, "{}", _format_place)
    numbered = [piece.written[1:2].isdigit() for piece in pieces if isinstance(piece, Place)]
    if any(numbered) and not all(numbered):
        raise ValueError("some places have a number and some have none; number all of them, or none")
    return pieces


def _format_place(form: str, start: int, number: int) -> tuple[Place, int]:
    found = _PLACE.match(form, start)
    if found is None:
        raise ValueError(
            f"{form[start : start + 8]!r} is no place such as {{}} or {{:>8.2f}}; double a brace that is text"
        )
    parts = _FMT.fullmatch(found[2] or "")
    if parts is None:
        raise ValueError(f"{found[0]!r} is not supported; write an alignment, a width, a precision and a letter")
    fill, align, sign, zero, width, separator, precision, letter = parts.groups("")
    sign = "" if sign == "-" else sign
    number = int(found[1] or number)
    place = Place(number, found[0], fill, align, sign, bool(zero), width, separator, precision, letter)
    return place, found.end()


WRITTEN = frozenset("YymdHIMSpfgnjUWVGuwaAbhB%cxXT")
"""The letters that strftime knows here."""

READ = frozenset("YymdHIMSpfgnjaAbhB%cxXT")
"""The letters that strptime knows here."""

_SHORTENED = frozenset("ymdHIMSj")
_SPECIFIER = re.compile(r"%-?.?", re.DOTALL)


def unknown_specifier(form: str, letters: frozenset[str]) -> str | None:
    """The first specifier of the format whose letter is not one of `letters`, or that takes no -; else None."""
    for found in _SPECIFIER.findall(form):
        letter = found[-1]
        if len(found) == 1 or letter not in letters or (len(found) == 3 and letter not in _SHORTENED):
            return str(found)
    return None
