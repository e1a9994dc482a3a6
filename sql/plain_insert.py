"""INSERT ... VALUES of plain literals, read without a parser and without a second engine: some 10 us a row of ten.

What is read here means what DuckDB takes it for, each value cast to the type of its column. Whatever is not certain to
(an expression, a comment, a value that has to be rounded or does not fit) is left to the parser and to DuckDB.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import NamedTuple

from catalog.types import FLOAT, MAX_DIGITS, VARCHAR, Kind, SqlType, integer_range
from catalog.uuids import uuid_of
from sql.ir.scalar import Literal, Value
from sql.types.literals import convert, number

Written = tuple[str | None, str | None, str | None, str | None]
"""A literal: the digits of a number, or a type, if one is named, and what stands in quotes, or NULL, TRUE, FALSE."""
NULL: Written = (None, None, None, "NULL")


class PlainInsert(NamedTuple):
    """INSERT INTO `table`: `columns` (empty: all) of rows of `width` literals each.

    `values` has one row after the other, `text` is the statement as it was written.
    """

    table: str
    columns: tuple[str, ...]
    values: tuple[Written, ...]
    width: int
    text: str


_NAME = r'(\w+|"(?:[^"]|"")+")'
_INTO = rf"\s*INSERT\s+INTO\s+{_NAME}\s*(?:\(([^()']*)\)\s*)?VALUES\s*"
_HEAD = re.compile(rf"{_INTO}\(", re.ASCII | re.IGNORECASE)
_COLUMN = re.compile(rf"\s*{_NAME}\s*(,|$)", re.ASCII)
_TYPED = "DATE|TIMESTAMPTZ|TIMESTAMP|TIME|UUID"
_VALUE = re.compile(
    rf"\s*(?:(-?\d+(?:\.\d+)?(?:E[-+]?\d+)?)|(?:({_TYPED})\s*)?'([^']*(?:''[^']*)*)'|(NULL|TRUE|FALSE)"
    rf"|\((-\d+(?:\.\d+)?(?:E[-+]?\d+)?)\)|CAST\('([^']*)' AS ({_TYPED}|(DECIMAL)\((\d+), (\d+)\))\))"
    r"\s*(,|\)\s*(?:(,)\s*\()?)",
    re.ASCII | re.IGNORECASE,
)
"""The forms of the second line are those in which parameters are written (see `sql.parameters`)."""
_END = re.compile(r"\s*(?:;|$)")


def plain_inserts(text: str) -> tuple[PlainInsert, ...] | None:
    """The statements of a text that holds nothing but INSERTs of plain literals; None for any other text."""
    found = []
    at = 0
    while at < len(text):
        head = _HEAD.match(text, at)
        if head is None or (names := _names(head[2])) is None:
            return None
        values: list[Written] = []
        end, width = _values(text, head.end(), values)
        closed = None if end is None else _END.match(text, end)
        if closed is None:
            return None
        begun, at = at, closed.end()
        found.append(PlainInsert(_name(head[1]), names, tuple(values), width, text[begun:at]))
        if at == len(text) or not text[at:].strip():
            return tuple(found)
    return None


class UsualRow:
    """One row of all columns of a table, of these `types`, whose literals are written as they mostly are."""

    def __init__(self, types: Sequence[SqlType]) -> None:
        usual = [_USUAL[type_.kind] for type_ in types if type_.kind in _USUAL]
        row = r"\s*,\s*".join(written for written, _ in usual)
        self._row = re.compile(rf"\s*{row}\s*\)\s*;?\s*", re.ASCII) if len(usual) == len(types) else None
        self._makes = [(make, type_) for (_, make), type_ in zip(usual, types, strict=False)]

    def values(self, text: str, at: int) -> list[tuple[Value]] | None:
        """The values in physical form, a column each, if the text from `at` on is such a row and nothing else."""
        found = None if self._row is None else self._row.fullmatch(text, at)
        try:
            makes = zip(self._makes, found.groups(), strict=True) if found is not None else ()
            return [(make(written, type_),) for (make, type_), written in makes] or None
        except ValueError:
            return None


def usual_head(text: str) -> tuple[str, int] | None:
    """The table of an INSERT that names no columns, and where its first row begins; None for any other text."""
    head = _HEAD.match(text)
    return None if head is None or head[2] is not None else (_name(head[1]), head.end())


class OpenInsert(NamedTuple):
    """INSERT INTO `table`: `columns` (empty: all) of `rows` rows of `width` values each, all of which are parameters.

    Nothing else stands in the text.
    """

    table: str
    columns: tuple[str, ...]
    width: int
    rows: int


_PLACES = r"\(\s*\?\s*(?:,\s*\?\s*)*\)"
_OPEN = re.compile(rf"{_INTO}({_PLACES}\s*(?:,\s*{_PLACES}\s*)*)(?:;\s*)?", re.ASCII | re.IGNORECASE)


@lru_cache(512)
def open_insert(text: str) -> OpenInsert | None:
    """The INSERT that a text is, if it has a ? for each value; None for any other text."""
    found = _OPEN.fullmatch(text)
    names = None if found is None else _names(found[2])
    if found is None or names is None:
        return None
    widths = [row.count("?") for row in found[3].split("(")[1:]]
    if len(set(widths)) != 1:
        return None
    return OpenInsert(_name(found[1]), names, widths[0], len(widths))


def columns_of(insert: PlainInsert, types: list[SqlType]) -> list[list[Value]] | None:
    """The values of each of the statement's columns, of these types, in physical form; None if it is not certain what
    DuckDB makes of one of them.
    """
    columns = []
    for place, type_ in enumerate(types):
        try:
            columns.append([value_of(each, type_) for each in insert.values[place :: insert.width]])
        except ValueError:
            return None
    return columns


def value_of(written: Written, type_: SqlType) -> Value:
    """What DuckDB assigns to a column of a type, in physical form; ValueError where that is not certain."""
    make, word = _MAKE.get(type_.kind), written[3]
    if make is None:
        raise ValueError(written)
    return None if word is not None and word.upper() == "NULL" else make(written, type_)


def _name(written: str) -> str:
    return written[1:-1].replace('""', '"') if written[0] == '"' else written


def _names(listed: str | None) -> tuple[str, ...] | None:
    """The columns in a list of names; none of them where there is no list, None where it holds anything else."""
    if listed is None:
        return ()
    names, at = [], 0
    while True:
        match = _COLUMN.match(listed, at)
        if match is None:
            return None
        names.append(_name(match[1]))
        at = match.end()
        if not match[2]:
            return tuple(names)


def _values(text: str, at: int, values: list[Written]) -> tuple[int | None, int]:
    """Append the literals from `at` on; where the last row ends and how many each has, None if that is not so."""
    width = row = 0
    for match in _VALUE.finditer(text, at):
        if match.start() != at:
            break
        at = match.end()
        number, typed, quoted, word, negative, cast, kind, decimal, digits, scale, after, more = match.groups()
        if number is not None:
            values.append((number, None, None, None))
        elif quoted is not None:
            values.append((None, typed, quoted.replace("''", "'"), None))
        elif decimal is not None and not is_exact(cast, int(digits), int(scale)):
            break
        else:
            values.append((negative, decimal or kind, cast, word))
        row += 1
        if after != ",":
            width = width or row
            if row != width:
                break
            if not more:
                return at, width
            row = 0
    return None, 0


def is_exact(cast: str, digits: int, scale: int) -> bool:
    """Whether what is cast to DECIMAL(digits, scale) is that number as it is written."""
    match = _DECIMAL.fullmatch(cast)
    if match is None or not 0 < digits <= MAX_DIGITS or scale > digits:
        return False
    whole, fraction = match[1].lstrip("-0"), match[2] or ""
    return len(fraction) == scale and len(whole) + scale <= digits


_WHOLE = re.compile(r"-?\d+", re.ASCII)
_DECIMAL = re.compile(r"(-?\d+)(?:\.(\d+))?", re.ASCII)
_FLOAT = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?", re.ASCII)
_AS_TEXT = re.compile(r"(?!-0(?:\.0*)?$)-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?", re.ASCII)
_CLOCK = r"(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6})?"
_TIME = re.compile(_CLOCK, re.ASCII)
_MOMENT = re.compile(rf"\d{{4}}-\d\d-\d\d[ T]{_CLOCK}", re.ASCII)
_ZONED = re.compile(rf"{_MOMENT.pattern}(?:Z|[-+](?:0\d|1[0-4])(?::[0-5]\d)?)", re.ASCII)
_DAYS_AND_TIMES = (Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ, Kind.TIME)
_EXACT_DIGITS = 15
_FEW, _NEAR = 1e12, 1e-3
_HUGE = (1 - 10**MAX_DIGITS, 10**MAX_DIGITS - 1)  # what Arrow's decimals hold
_EPOCH, _FIRST_DAY = datetime(1970, 1, 1), date(1970, 1, 1).toordinal()
_EPOCH_UTC = _EPOCH.replace(tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def _digits(written: Written, pattern: re.Pattern[str]) -> re.Match[str]:
    """The number that is written, with quotes or without, if it has this form; ValueError if not."""
    number, typed, quoted, _ = written
    match = pattern.fullmatch(number or quoted or "")
    if match is None or typed not in (None, "DECIMAL"):
        raise ValueError(written)
    return match


def _integer(written: Written, type_: SqlType) -> int:
    value = int(written[0] or _digits(written, _WHOLE)[0])
    bounds = _HUGE if type_.kind is Kind.HUGEINT else integer_range(type_.kind)
    if not bounds[0] <= value <= bounds[1]:
        raise ValueError(written)
    return value


def _decimal(written: Written, type_: SqlType) -> int:
    if written[0] is not None and ("e" in written[0] or "E" in written[0]):
        return _rounded(float(written[0]), type_)
    whole, _, fraction = (written[0] or _digits(written, _DECIMAL)[0]).partition(".")
    if len(fraction) > type_.scale:
        raise ValueError(written)
    value = int(whole + fraction.ljust(type_.scale, "0"))
    if abs(value) >= 10**type_.precision:
        raise ValueError(written)
    return value


def _rounded(value: float, type_: SqlType) -> int:
    """A DOUBLE as a DECIMAL; ValueError where it is large, or about half-way between two: that is left to DuckDB."""
    scaled = value * 10.0**type_.scale
    if abs(scaled) >= _FEW:
        raise ValueError(value)
    whole = math.floor(scaled + 0.5)
    if abs(abs(scaled - whole) - 0.5) < _NEAR or abs(whole) >= 10**type_.precision:
        raise ValueError(value)
    return whole


def _double(written: Written, type_: SqlType) -> float:
    text = _digits(written, _FLOAT)[0]
    value = float(text)
    # A number without quotes and exponent is a DECIMAL first: it has no sign at zero, and is rounded twice if long.
    exact = (written[0] is None and written[1] is None) or (
        value != 0 and ("e" in text.lower() or len(text) <= _EXACT_DIGITS)
    )
    if value in (float("inf"), float("-inf")) or not (exact or text == "0"):
        raise ValueError(written)
    return value


def _float(written: Written, type_: SqlType) -> Value:
    if written[1] is not None:
        raise ValueError(written)
    text = _digits(written, _FLOAT)[0]
    literal = number(text.removeprefix("-")) if written[0] is not None else Literal(text, VARCHAR)
    found = convert(literal, FLOAT)
    if found is None or not isinstance(found.value, float) or (written[0] is not None and found.value == 0):
        raise ValueError(written)
    return -found.value if written[0] is not None and text[0] == "-" else found.value


def _text(written: Written, type_: SqlType) -> str:
    number, typed, quoted, _ = written
    if quoted is not None and typed is None:
        return quoted
    if number is None or _AS_TEXT.fullmatch(number) is None:
        raise ValueError(written)
    return number


def _boolean(written: Written, type_: SqlType) -> bool:
    word = written[3] or (written[2] if written[1] is None else None) or ""
    if word.lower() not in ("true", "false"):
        raise ValueError(written)
    return word.lower() == "true"


def _days(written: Written, type_: SqlType) -> int:
    text = _quoted(written, type_)
    if len(text) != 10 or text[4] != "-" or text[7] != "-":
        raise ValueError(written)
    return date.fromisoformat(text).toordinal() - _FIRST_DAY


def _micros(written: Written, type_: SqlType) -> int:
    text = _quoted(written, type_)
    if _MOMENT.fullmatch(text) is None:
        raise ValueError(written)
    return (datetime.fromisoformat(text) - _EPOCH) // _MICROSECOND


def _micros_utc(written: Written, type_: SqlType) -> int:
    text = _quoted(written, type_)
    return moment_of(text) if _ZONED.fullmatch(text) else _micros(written, type_)


def moment_of(text: str) -> int:
    """The microseconds from 1970 to a moment that is written with its distance from UTC; ValueError if it is not."""
    if _ZONED.fullmatch(text) is None:
        raise ValueError(text)
    return micros_of(datetime.fromisoformat(text))


def micros_of(value: datetime) -> int:
    """The microseconds from 1970 to a moment with a time zone; ValueError if Python does not have it in UTC."""
    try:
        return (value.astimezone(UTC) - _EPOCH_UTC) // _MICROSECOND
    except OverflowError as error:
        raise ValueError(f"{value} is in another year in UTC") from error


def _micros_of_day(written: Written, type_: SqlType) -> int:
    text = _quoted(written, type_)
    if _TIME.fullmatch(text) is None:
        raise ValueError(written)
    return micros_of_day(time.fromisoformat(text))


def micros_of_day(value: time) -> int:
    """The microseconds since midnight."""
    return ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond


def _uuid(written: Written, type_: SqlType) -> str:
    return uuid_of(_quoted(written, type_))


def _label(written: Written, type_: SqlType) -> int:
    return type_.labels.index(_quoted(written, type_))


def _quoted(written: Written, type_: SqlType) -> str:
    """What stands in quotes; ValueError if nothing does, or another type is named before it."""
    _, typed, text, _ = written
    if text is None or (typed is not None and typed.upper() != type_.kind.name):
        raise ValueError(written)
    return text


_MAKE: dict[Kind, Callable[[Written, SqlType], Value]] = {
    **{kind: _integer for kind in Kind if kind.bits},
    Kind.DECIMAL: _decimal,
    Kind.FLOAT: _float,
    Kind.DOUBLE: _double,
    Kind.VARCHAR: _text,
    Kind.JSON: _text,
    Kind.BOOLEAN: _boolean,
    Kind.DATE: _days,
    Kind.TIMESTAMP: _micros,
    Kind.TIMESTAMPTZ: _micros_utc,
    Kind.TIME: _micros_of_day,
    Kind.UUID: _uuid,
    Kind.ENUM: _label,
}


def _from_number(written: str, type_: SqlType) -> Value:
    return _MAKE[type_.kind]((written, None, None, None), type_)


def _from_quoted(written: str, type_: SqlType) -> Value:
    return _MAKE[type_.kind]((None, None, written, None), type_)


_USUAL: dict[Kind, tuple[str, Callable[[str, SqlType], Value]]] = {
    **{kind: (r"(-?\d+)", lambda written, _: int(written)) for kind in Kind if kind.bits},
    **dict.fromkeys((Kind.DECIMAL, Kind.DOUBLE), (r"(-?\d+(?:\.\d+)?)", _from_number)),
    **dict.fromkeys((Kind.VARCHAR, Kind.JSON), ("'([^']*)'", lambda written, _: written)),
    **{kind: (rf"(?:{kind.name}\s*)?'([^']*)'", _from_quoted) for kind in _DAYS_AND_TIMES},
    **dict.fromkeys((Kind.UUID, Kind.ENUM), ("'([^']*)'", _from_quoted)),
}
