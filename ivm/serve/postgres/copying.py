"""What COPY takes and gives: rows as lines of text, as CSV, or in Postgres's binary form."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv

from ivm.catalog.errors import DataError, Error, UnsupportedError
from ivm.catalog.intervals import NANOS
from ivm.catalog.names import quoted
from ivm.catalog.schema import Field, Table
from ivm.catalog.types import Kind
from ivm.duck import Use, answer, connection, told
from ivm.serve.postgres.copy_words import Copy
from ivm.serve.postgres.decoding import value_of
from ivm.serve.postgres.encoding import encoded
from ivm.serve.postgres.messages import COPY_DONE, message
from ivm.serve.postgres.types import INTERVAL, UUID, Shape, shape_of
from ivm.session.core import Core
from ivm.trace.columns.python_values import array_of

_SIGNATURE = b"PGCOPY\n\xff\r\n\0"
_HEAD = _SIGNATURE + bytes(8)
_TRAILER = b"\xff\xff"
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPED = {ord("\\"): "\\\\", **{ord(sign): f"\\{letter}" for letter, sign in _ESCAPES.items()}}
_END = "\\."
_DATA = b"d"
"""The kind of the messages that rows go by."""


class BadCopyError(DataError):
    """What came is not of the form that the COPY says."""


@dataclass(frozen=True, slots=True)
class Into:
    """Where rows go: a table, and the columns that they have."""

    table: Table
    fields: Sequence[Field]

    @property
    def absent(self) -> list[Field]:
        """The columns that rows do not have, and that have no default: NULL then, if they may be."""
        return [
            field for field in self.table.given if field not in self.fields and self.table.default(field.name) is None
        ]


def into(core: Core, copy: Copy) -> Into:
    """Where a COPY's rows go. BindError for what is not there."""
    table = core.catalog.table(core.settings.names.given(copy.table.replace('"', "")))
    if not copy.columns:
        return Into(table, table.given)
    names = [name.strip().strip('"') for name in copy.columns.split(",")]
    for name in names:
        if all(field.name.lower() != name.lower() for field in table.fields):
            raise BadCopyError(f"cannot copy into table {table.name}: it has no column {name!r}")
    return Into(table, [table.fields[table.index(name)] for name in names])


def taken_in(core: Core, copy: Copy, target: Into, data: bytes) -> int:
    """Insert the rows that came, all or none; how many they were. BadCopyError, and what an INSERT raises."""
    rows = _binary_rows(data, target) if copy.format == "binary" else _cast(_texts(copy, target, data), target, core)
    for field in target.absent:
        rows = rows.append_column(field.name, array_of([None] * rows.num_rows, field.type))
    with core.transaction() as tx:
        tx.insert(target.table.name, rows)
    return int(rows.num_rows)


def _texts(copy: Copy, target: Into, data: bytes) -> pa.Table:
    """The rows as texts, under the names of the columns."""
    names = [field.name for field in target.fields]
    if copy.format == "text":
        return _lines(copy, names, data)
    if not data.strip():
        return pa.schema([(name, pa.string()) for name in names]).empty_table()
    try:
        found = pa.csv.read_csv(
            pa.BufferReader(data),
            pa.csv.ReadOptions(column_names=names, skip_rows=int(copy.header)),
            pa.csv.ParseOptions(
                delimiter=copy.delimiter, quote_char=copy.quote, newlines_in_values=True, ignore_empty_lines=False,
                escape_char=copy.escape if copy.escape not in ("", copy.quote) else False,
            ),
            pa.csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), null_values=[copy.null], strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )  # fmt: skip
    except pa.ArrowException as error:
        raise BadCopyError(f"cannot copy into table {target.table.name}: {error}") from error
    return found


def _lines(copy: Copy, names: Sequence[str], data: bytes) -> pa.Table:
    try:
        lines = data.decode().split("\n")
    except UnicodeDecodeError as error:
        raise BadCopyError(f"what came is not UTF-8: {error}") from error
    if lines[-1] == "":
        lines.pop()
    if _END in lines:
        lines = lines[: lines.index(_END)]
    rows = []
    for number, line in enumerate(lines[int(copy.header) :], 1 + int(copy.header)):
        values = [_value(copy, each) for each in line.removesuffix("\r").split(copy.delimiter)]
        if len(values) != len(names):
            raise BadCopyError(f"line {number} has {len(values)} values, and there are {len(names)} columns")
        rows.append(values)
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    return pa.table({name: pa.array(column, pa.string()) for name, column in zip(names, columns, strict=True)})


def _value(copy: Copy, text: str) -> str | None:
    if text == copy.null:
        return None
    if "\\" not in text:
        return text
    found, at = list[str](), 0
    while at < len(text):
        if text[at] == "\\" and at + 1 < len(text):
            at += 1
            found.append(_ESCAPES.get(text[at], text[at]))
        else:
            found.append(text[at])
        at += 1
    return "".join(found)


def _cast(texts: pa.Table, target: Into, core: Core) -> pa.Table:
    """The texts as values of the columns' types, by DuckDB. BadCopyError tells the first that is none."""
    lists = {field.name for field in target.fields if shape_of(str(field.type)).is_array}
    for field in target.fields:
        if field.name in lists:
            texts = _with_lists(texts, field)
    columns = [f"{_form(field)} AS {quoted(field.name)}" for field in target.fields]
    with connection(Use.OWN, zone=core.settings.zone) as duck:
        try:
            duck.register("given", texts)
            return answer(duck, f"SELECT {', '.join(columns)} FROM given")
        except duckdb.Error as error:
            raise _first_wrong(duck, target, told(error, Use.OWN)) from error


def _with_lists(texts: pa.Table, field: Field) -> pa.Table:
    place, oid = texts.column_names.index(field.name), shape_of(str(field.type)).oid
    lists = [None if text is None else value_of(text.encode(), oid, 0) for text in texts.column(place).to_pylist()]
    items = [None if each is None else [None if v is None else str(v) for v in each] for each in lists]
    return texts.set_column(place, field.name, pa.array(items, pa.list_(pa.string())))


def _form(field: Field, cast: str = "CAST") -> str:
    name = quoted(field.name)
    if field.type.kind is Kind.BLOB:
        return f"CASE WHEN {name} LIKE '\\x%' THEN unhex(substr({name}, 3)) ELSE CAST({name} AS BLOB) END"
    return f"{cast}({name} AS {field.type})"


def _first_wrong(duck: duckdb.DuckDBPyConnection, target: Into, error: Error) -> Error:
    """The first value that is none of its column, and its row; else the error that there was."""
    for field in target.fields:
        name = quoted(field.name)
        if field.type.kind is Kind.BLOB:
            continue
        found = duck.execute(
            f"SELECT n, {name} FROM (SELECT row_number() OVER () AS n, {name} FROM given) WHERE {name} IS NOT NULL AND "
            f"{_form(field, 'TRY_CAST')} IS NULL ORDER BY n LIMIT 1"
        ).fetchone()
        if found is not None:
            return BadCopyError(
                f"cannot copy into table {target.table.name}: {found[1]!r} in row {found[0]} is no {field.type} for "
                f"column {field.name!r}"
            )
    return error


def _binary_rows(data: bytes, target: Into) -> pa.Table:
    shapes = [shape_of(str(field.type)) for field in target.fields]
    if any(shape.of.name == "json" for shape in shapes):
        raise UnsupportedError("cannot copy JSON, rows and maps in binary form; copy them as text or csv")
    if not data.startswith(_SIGNATURE):
        raise BadCopyError("what came is not Postgres's binary form of COPY")
    columns: list[list[Any]] = [[] for _ in shapes]
    try:
        at = 19 + struct.unpack_from("!I", data, 15)[0]
        while at < len(data):
            (count,) = struct.unpack_from("!h", data, at)
            at += 2
            if count == -1:
                break
            if count != len(shapes):
                raise BadCopyError(f"a row has {count} values, and there are {len(shapes)} columns")
            for column, shape in zip(columns, shapes, strict=True):
                (size,) = struct.unpack_from("!i", data, at)
                at += 4
                if at + max(size, 0) > len(data):
                    raise BadCopyError("what came ends within a row")
                column.append(None if size < 0 else _of_binary(data[at : at + size], shape))
                at += max(size, 0)
    except struct.error as error:
        raise BadCopyError("what came ends within a row") from error
    named = zip(target.fields, columns, strict=True)
    try:
        return pa.table({field.name: array_of(column, field.type) for field, column in named})
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise BadCopyError(f"cannot copy into table {target.table.name}: {error}") from error


def _of_binary(data: bytes, shape: Shape) -> Any:
    """A value as Arrow takes it."""
    if shape == Shape(INTERVAL):
        micros, days, months = struct.unpack("!qii", data)
        return pa.MonthDayNano([months, days, micros * NANOS])
    value = value_of(data, shape.oid, 1)
    return str(value) if shape == Shape(UUID) else value


class Out:
    """What goes to a client, as messages with a row each. What comes before the first row goes with it, and else with
    what comes behind the last.
    """

    def __init__(self, copy: Copy, shapes: Sequence[Shape], zone: str) -> None:
        self._copy, self._shapes, self._zone = copy, shapes, zone
        self._head = _HEAD if copy.format == "binary" else b""

    def names(self, names: Sequence[str]) -> bytes:
        """The line of names, if the COPY wants one."""
        if self._head or not self._copy.header:
            return b""
        return message(_DATA, self._line([name.encode() for name in names]))

    def rows(self, rows: pa.Table) -> bytes:
        """Rows in the form that the COPY says."""
        form = int(self._copy.format == "binary")
        given = zip(rows.columns, self._shapes, strict=True)
        columns = [encoded(column, shape, form, self._zone) for column, shape in given]
        lines = [self._line(row) for row in zip(*columns, strict=True)]
        if lines:
            lines[0], self._head = self._head + lines[0], b""
        return b"".join(message(_DATA, line) for line in lines)

    def end(self) -> bytes:
        """What comes behind them."""
        last = message(_DATA, self._head + _TRAILER) if self._copy.format == "binary" else b""
        return last + COPY_DONE

    def _line(self, row: Sequence[bytes | None]) -> bytes:
        if self._copy.format == "binary":
            return struct.pack("!h", len(row)) + b"".join(map(_sized, row))
        return (_csv if self._copy.format == "csv" else _line)(self._copy, row)


def _sized(value: bytes | None) -> bytes:
    return b"\xff\xff\xff\xff" if value is None else struct.pack("!i", len(value)) + value


def _line(copy: Copy, row: Sequence[bytes | None]) -> bytes:
    escaped = {**_ESCAPED, ord(copy.delimiter): f"\\{_named(copy.delimiter)}"}
    values = (copy.null if value is None else value.decode().translate(escaped) for value in row)
    return (copy.delimiter.join(values) + "\n").encode()


def _named(sign: str) -> str:
    return next((letter for letter, each in _ESCAPES.items() if each == sign), sign)


def _csv(copy: Copy, row: Sequence[bytes | None]) -> bytes:
    return (
        copy.delimiter.join(copy.null if value is None else _cell(copy, value.decode()) for value in row) + "\n"
    ).encode()


def _cell(copy: Copy, text: str) -> str:
    if text != copy.null and not any(sign in text for sign in (copy.delimiter, copy.quote, "\n", "\r")):
        return text
    escape = copy.escape or copy.quote
    inner = text if escape == copy.quote else text.replace(escape, escape * 2)
    return f"{copy.quote}{inner.replace(copy.quote, escape + copy.quote)}{copy.quote}"
