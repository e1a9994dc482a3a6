"""INSERT ... VALUES read without a parser and without a second engine: some 10 us a row of ten literals.

A literal that is read here means what DuckDB takes it for, cast to the type of its column. What is not certain to (a
comment, a value that has to be rounded or does not fit) is left to the parser and to DuckDB; expressions, and what
stands behind the rows, are found here, and bound by others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

from ivm.catalog.types import Kind, SqlType
from ivm.sql.ir.scalar import Value
from ivm.sql.plain_literals import Written, decimal_of, is_exact, value_of


class PlainInsert(NamedTuple):
    """INSERT INTO `table`: `columns` (empty: all) of rows of `width` values each.

    `values` has one row after the other: literals, and any other expression as its text. `alternative` is what stands
    behind OR, `ending` the text behind the rows, ON CONFLICT and RETURNING; `text` is the statement as it was written.
    """

    table: str
    columns: tuple[str, ...]
    values: tuple[Written | str, ...]
    width: int
    text: str
    alternative: str = ""
    ending: str = ""


_NAME = r'(\w+|"(?:[^"]|"")+")'
_TABLE = r'(\w+(?:\.\w+){0,2}|"(?:[^"]|"")+")'
_INTO = rf"\s*INSERT\s+(?:OR\s+(REPLACE|IGNORE)\s+)?INTO\s+{_TABLE}\s*(?:\(([^()']*)\)\s*)?VALUES\s*"
_HEAD = re.compile(rf"{_INTO}\(", re.ASCII | re.IGNORECASE)
_COLUMN = re.compile(rf"\s*{_NAME}\s*(,|$)", re.ASCII)
_TYPED = "DATE|TIMESTAMPTZ|TIMESTAMP|TIME|UUID"
_VALUE = re.compile(
    rf"\s*(?:(-?\d+(?:\.\d+)?(?:E[-+]?\d+)?)|(?:({_TYPED})\s*)?'([^']*(?:''[^']*)*)'|(NULL|TRUE|FALSE)"
    rf"|\((-\d+(?:\.\d+)?(?:E[-+]?\d+)?)\)|CAST\('([^']*)' AS ({_TYPED}|(DECIMAL)\((\d+), (\d+)\))\))"
    r"\s*(,|\)\s*(?:(,)\s*\()?)",
    re.ASCII | re.IGNORECASE,
)
"""The forms of the second line are those in which parameters are written (see `ivm.sql.parameters`)."""
_ENDING = r"""((?:ON\s+CONFLICT|RETURNING)\b(?:[^;'"?$/\\-]|'[^'\\]*'|"[^"]*"|/(?!\*)|-(?!-))*)?"""
"""Without parameters, comments and texts of other kinds."""
_END = re.compile(rf"\s*{_ENDING}\s*(?:;|$)", re.ASCII | re.IGNORECASE)
_PIECE = re.compile(r"""(?<=[\w&])'|'(?:[^']|'')*'|"(?:[^"]|"")*"|[(\[{]|[)\]}]|,|--|/\*|[;$?'"]""", re.ASCII)
"""What decides where an expression among values ends."""
_AFTER = re.compile(r"\s*(?:(,)\s*\()?", re.ASCII)


def plain_inserts(text: str) -> tuple[PlainInsert, ...] | None:
    """The statements of a text that holds nothing but INSERTs of VALUES; None for any other text."""
    found = []
    at = 0
    while at < len(text):
        head = _HEAD.match(text, at)
        if head is None or (names := _names(head[3])) is None:
            return None
        values: list[Written | str] = []
        end, width = _values(text, head.end(), values)
        closed = None if end is None else _END.match(text, end)
        if closed is None:
            return None
        begun, at = at, closed.end()
        alternative, ending = (head[1] or "").upper(), (closed[1] or "").strip()
        found.append(PlainInsert(_name(head[2]), names, tuple(values), width, text[begun:at], alternative, ending))
        if at == len(text) or not text[at:].strip():
            return tuple(found)
    return None


class UsualRow:
    """One row of all columns of a table, of these `types`, whose literals are written as they mostly are."""

    def __init__(self, types: Sequence[SqlType]) -> None:
        usual = [_USUAL[type_.kind] for type_ in types] if all(type_.kind in _USUAL for type_ in types) else []
        row = r"\s*,\s*".join(written for written, _ in usual)
        self._row = re.compile(rf"\s*{row}\s*\)\s*;?\s*", re.ASCII) if usual else None
        self._makes = [(place, maker(types[place])) for place, (_, maker) in enumerate(usual)]

    def values(self, text: str, at: int) -> list[Value] | None:
        """The values in physical form, if the text from `at` on is such a row and nothing else."""
        found = None if self._row is None else self._row.fullmatch(text, at)
        if found is None:
            return None
        written = found.groups()
        try:
            return [written[place] if make is None else make(written[place]) for place, make in self._makes]
        except ValueError:
            return None


def usual_head(text: str) -> tuple[str, int] | None:
    """The table of an INSERT that names no columns, and where its first row begins; None for any other text."""
    head = _HEAD.match(text)
    if head is None or head[1] is not None or head[3] is not None:
        return None
    return _name(head[2]), head.end()


class OpenInsert(NamedTuple):
    """INSERT INTO `table`: `columns` (empty: all) of `rows` rows of `width` values each, all of which are parameters.

    Nothing else is a parameter; see `PlainInsert`.
    """

    table: str
    columns: tuple[str, ...]
    width: int
    rows: int
    alternative: str = ""
    ending: str = ""


_PLACES = r"\(\s*\?\s*(?:,\s*\?\s*)*\)"
_OPEN = re.compile(rf"{_INTO}({_PLACES}\s*(?:,\s*{_PLACES}\s*)*){_ENDING}\s*(?:;\s*)?", re.ASCII | re.IGNORECASE)


@lru_cache(512)
def open_insert(text: str) -> OpenInsert | None:
    """The INSERT that a text is, if it has a ? for each value; None for any other text."""
    found = _OPEN.fullmatch(text)
    names = None if found is None else _names(found[3])
    if found is None or names is None:
        return None
    widths = [row.count("?") for row in found[4].split("(")[1:]]
    if len(set(widths)) != 1:
        return None
    alternative, ending = (found[1] or "").upper(), (found[5] or "").strip()
    return OpenInsert(_name(found[2]), names, widths[0], len(widths), alternative, ending)


def columns_of(
    insert: PlainInsert, types: Sequence[SqlType], computed: Callable[[str, int], Value]
) -> list[list[Value]] | None:
    """The values of each of the statement's columns, of these types, in physical form; None if it is not certain what
    DuckDB makes of one of them.

    `computed`: what an expression gives in one of the columns; ValueError where that is not certain.
    """
    columns = []
    for place, type_ in enumerate(types):
        given = insert.values[place :: insert.width]
        try:
            columns.append([computed(v, place) if isinstance(v, str) else value_of(v, type_) for v in given])
        except ValueError:
            return None
    return columns


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


def _values(text: str, at: int, values: list[Written | str]) -> tuple[int | None, int]:
    """Append the values from `at` on; where the last row ends and how many each has, None if that is not so."""
    width = row = 0
    while True:
        for match in _VALUE.finditer(text, at):
            if match.start() != at:
                break
            number, typed, quoted, word, negative, cast, kind, decimal, digits, scale, after, more = match.groups()
            if number is not None:
                values.append((number, None, None, None))
            elif quoted is not None:
                values.append((None, typed, quoted.replace("''", "'"), None))
            elif decimal is not None and not is_exact(cast, int(digits), int(scale)):
                break
            else:
                values.append((negative, decimal or kind, cast, word))
            at = match.end()
            row += 1
            if after != ",":
                width = width or row
                if row != width:
                    return None, 0
                if not more:
                    return at, width
                row = 0
        end = _end_of_expression(text, at)
        if end is None:
            return None, 0
        values.append(text[at:end].strip())
        row += 1
        at = end + 1
        if text[end] == ")":
            width = width or row
            after_row = _AFTER.match(text, at)
            assert after_row is not None, "it may be empty"
            if row != width:
                return None, 0
            if not after_row[1]:
                return at, width
            at, row = after_row.end(), 0


def _end_of_expression(text: str, at: int) -> int | None:
    """Where the comma or parenthesis stands that ends an expression; None where one is not certain to."""
    depth = 0
    for piece in _PIECE.finditer(text, at):
        found = piece[0]
        if found in "([{":
            depth += 1
        elif found in ")]}" and depth:
            depth -= 1
        elif found in ",)":
            if depth:
                continue
            return piece.start() if text[at : piece.start()].strip() else None
        elif found[0] not in "'\"" or len(found) == 1:
            return None
    return None


def _from_number(type_: SqlType) -> Callable[[str], Value]:
    return lambda written: value_of((written, None, None, None), type_)


def _from_quoted(type_: SqlType) -> Callable[[str], Value]:
    return lambda written: value_of((None, None, written, None), type_)


_Maker = Callable[[SqlType], Callable[[str], Value] | None]
"""Of a type what makes its values of what is written; None where they are that."""
_DAYS_AND_TIMES = (Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ, Kind.TIME)
_NUMBER = r"(-?\d+(?:\.\d+)?)"
_USUAL: dict[Kind, tuple[str, _Maker]] = {
    **{kind: (r"(-?\d+)", lambda _: int) for kind in Kind if kind.bits},
    Kind.DECIMAL: (_NUMBER, lambda type_: partial(decimal_of, type_.scale, 10**type_.precision)),
    Kind.DOUBLE: (_NUMBER, _from_number),
    **dict.fromkeys((Kind.VARCHAR, Kind.JSON), ("'([^']*)'", lambda _: None)),
    **{kind: (rf"(?:{kind.name}\s*)?'([^']*)'", _from_quoted) for kind in _DAYS_AND_TIMES},
    **dict.fromkeys((Kind.UUID, Kind.ENUM), ("'([^']*)'", _from_quoted)),
}
