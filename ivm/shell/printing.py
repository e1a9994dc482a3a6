"""How the shell prints rows: as a table to look at, or exactly, as CSV, JSON or lines."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from ivm.duck import texts_of
from ivm.results.cells import is_numeric, visible
from ivm.results.result import Rows, say
from ivm.trace.columns.python_values import values_or_texts

_AT_ONCE = 10_000


def write_csv(rows: Rows) -> None:
    """All rows after a line of names, as RFC 4180 has it, lines ended by LF; NULL is nothing, an empty text is ""."""
    sys.stdout.write(",".join(map(_csv, rows.columns)) + "\n")
    for texts, _ in _parts(rows):
        sys.stdout.writelines(",".join("" if text is None else _csv(text) for text in row) + "\n" for row in texts)


def write_json(rows: Rows) -> None:
    """All rows as one array of objects, a row on a line. Numbers have all their digits; NaN and dates are texts."""
    names = [json.dumps(name, ensure_ascii=False) for name in rows.columns]
    before = "["
    for texts, table in _parts(rows):
        columns = [list(_json_column(table.column(i), [row[i] for row in texts])) for i in range(table.num_columns)]
        for values in zip(*columns, strict=True):
            members = ", ".join(f"{name}: {value}" for name, value in zip(names, values, strict=True))
            sys.stdout.write(f"{before}{{{members}}}")
            before = ",\n"
    sys.stdout.write("[]\n" if before == "[" else "]\n")


def write_lines(rows: Rows) -> None:
    """All rows, each value on a line of its own after its name, an empty line between two rows."""
    names = list(map(visible, rows.columns))
    width = max(map(len, names), default=0)
    first = True
    for texts, _ in _parts(rows):
        for row in texts:
            lines = [
                f"{name:>{width}} = {'NULL' if text is None else visible(text)}"
                for name, text in zip(names, row, strict=True)
            ]
            say("\n".join(lines if first else ["", *lines]))
            first = False


WRITERS: dict[str, Callable[[Rows], None]] = {
    "table": Rows.show,
    "csv": write_csv,
    "json": write_json,
    "line": write_lines,
}


def _parts(rows: Rows) -> Iterator[tuple[list[tuple[str | None, ...]], pa.Table]]:
    """The rows as DuckDB's texts, some at a time, with what they are the texts of."""
    table = rows.arrow()
    for start in range(0, table.num_rows, _AT_ONCE):
        part = table.slice(start, _AT_ONCE)
        yield texts_of(part), part


def _csv(text: str) -> str:
    if text == "" or any(each in text for each in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text


def _json_column(column: pa.ChunkedArray, texts: list[str | None]) -> Iterator[str]:
    """The values of a column as JSON; `texts` are what DuckDB prints for them."""
    if pa.types.is_nested(column.type):
        yield from (_json(value) for value in values_or_texts(column))
        return
    plain = pa.types.is_boolean(column.type) or is_numeric(column.type)
    for text in texts:
        if text is None:
            yield "null"
        elif plain and text not in ("nan", "inf", "-inf"):
            yield text
        else:
            yield json.dumps(text, ensure_ascii=False)


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
