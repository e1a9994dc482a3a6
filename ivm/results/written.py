"""Rows written exactly, as CSV or JSON, some at a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from ivm.results.cells import is_numeric
from ivm.trace.columns.python_values import values_or_texts
from ivm.trace.columns.stand_ins import said

_AT_ONCE = 10_000


def csv_parts(table: pa.Table) -> Iterator[str]:
    """All rows after a line of names, as RFC 4180 has it, lines ended by LF; NULL is nothing, an empty text is ""."""
    yield ",".join(map(_csv, table.column_names)) + "\n"
    for texts, _ in text_parts(table):
        yield "".join(",".join("" if text is None else _csv(text) for text in row) + "\n" for row in texts)


def json_parts(table: pa.Table, between: str = ",\n") -> Iterator[str]:
    """All rows as one array of objects. Numbers have all their digits; NaN and dates are texts."""
    before = "["
    for rows in _json_rows(table):
        yield before + between.join(rows)
        before = between
    yield "[]" if before == "[" else "]"


def json_lines(table: pa.Table) -> Iterator[str]:
    """All rows as objects, each on a line; values as in `json_parts`."""
    for rows in _json_rows(table):
        yield "".join(row + "\n" for row in rows)


def text_parts(table: pa.Table) -> Iterator[tuple[list[tuple[str | None, ...]], pa.Table]]:
    """The rows as DuckDB's texts, some at a time, with what they are the texts of."""
    from ivm.duck import texts_of  # noqa: PLC0415  DuckDB, which takes a while to import

    for start in range(0, table.num_rows, _AT_ONCE):
        part = table.slice(start, _AT_ONCE)
        yield texts_of(part), part


def _json_rows(table: pa.Table) -> Iterator[list[str]]:
    names = [json.dumps(name, ensure_ascii=False) for name in table.column_names]
    for start in range(0, table.num_rows, _AT_ONCE):
        columns = _json_columns(table.slice(start, _AT_ONCE))
        yield [
            "{" + ", ".join(f"{name}: {value}" for name, value in zip(names, values, strict=True)) + "}"
            for values in zip(*columns, strict=True)
        ]


def _json_columns(table: pa.Table) -> list[list[str]]:
    """The values of all columns as JSON; DuckDB is asked for those of which it alone knows how they are written."""
    made: dict[int, list[str]] = {}
    for place, field in enumerate(table.schema):
        write = None if said(field) else _writer(field.type)
        if pa.types.is_nested(field.type):
            made[place] = [_json(value) for value in values_or_texts(table.column(place))]
        elif write is not None:
            made[place] = ["null" if value is None else write(value) for value in table.column(place).to_pylist()]
    asked = [place for place in range(table.num_columns) if place not in made]
    if asked:
        ((texts, part),) = text_parts(table.select(asked))
        for index, place in enumerate(asked):
            plain = is_numeric(part.schema.field(index).type)
            made[place] = [_json_text(row[index], plain) for row in texts]
    return [made[place] for place in range(table.num_columns)]


def _writer(kind: pa.DataType) -> Callable[[Any], str] | None:
    """What writes values of a type as DuckDB does; None where that is better left to DuckDB."""
    if pa.types.is_boolean(kind):
        return lambda value: "true" if value else "false"
    if pa.types.is_integer(kind):
        return str
    if pa.types.is_decimal(kind):
        return lambda value: f"{value:f}"
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return lambda value: json.dumps(value, ensure_ascii=False)
    return None


def _csv(text: str) -> str:
    if text == "" or any(each in text for each in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text


def _json_text(text: str | None, plain: bool) -> str:
    """A value as JSON, of what DuckDB prints for it; `plain`: it is a number."""
    if text is None:
        return "null"
    if plain and text not in ("nan", "inf", "-inf"):
        return text
    return json.dumps(text, ensure_ascii=False)


def _json(value: Any) -> str:
    """A value within a list or a struct."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | Decimal():
            return f"{value:f}" if isinstance(value, Decimal) else str(value)
        case float():
            return repr(value) if abs(value) < float("inf") else json.dumps(str(value))
        case dict():
            members = ", ".join(
                f"{json.dumps(name, ensure_ascii=False)}: {_json(each)}" for name, each in value.items()
            )
            return f"{{{members}}}"
        case list() | tuple():
            return f"[{', '.join(map(_json, value))}]"
        case datetime():
            whole, dot, part = value.isoformat(" ").partition(".")
            return json.dumps(whole + (dot + part).rstrip("0"))
        case _:
            return json.dumps(str(value), ensure_ascii=False)
