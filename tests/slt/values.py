"""Results as the lines of text that a script expects."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

TOLERANCE = 1e-9


def types_of(table: pa.Table) -> str:
    """A letter for each column: I integer, R other number, T anything else."""
    return "".join(_letter(type_) for type_ in table.schema.types)


def _letter(type_: pa.DataType) -> str:
    if pa.types.is_integer(type_) or (pa.types.is_decimal(type_) and type_.scale == 0):
        return "I"
    return "R" if pa.types.is_floating(type_) or pa.types.is_decimal(type_) else "T"


def lines_of(table: pa.Table, sort: str) -> list[str]:
    """A line for each row, values with tabs between, sorted as `sort` says (`valuesort`: a line for each value)."""
    columns = [[text(value) for value in column.to_pylist()] for column in table.columns]
    rows = list(zip(*columns, strict=True)) if columns else []
    if sort == "valuesort":
        return sorted(value for row in rows for value in row)
    lines = ["\t".join(row) for row in rows]
    return sorted(lines) if sort == "rowsort" else lines


def text(value: Any) -> str:
    """A value in one line: NULL, (empty) for empty text, numbers in their shortest form."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case float():
            return f"{value:.12g}" if math.isfinite(value) else str(value)
        case Decimal():
            return f"{value:f}"
        case datetime.datetime():
            return value.isoformat(sep=" ")
        case str():
            return value.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n") or "(empty)"
        case list():
            return "[" + ", ".join(text(item) for item in value) + "]"
        case _:
            return str(value)


def same(found: Sequence[str], expected: Sequence[str], types: str) -> bool:
    """Whether the lines are equal, columns of type R within 1e-9 relative."""
    if list(found) == list(expected):
        return True
    if len(found) != len(expected) or "R" not in types:
        return False
    return all(_same_line(mine, theirs, types) for mine, theirs in zip(found, expected, strict=True))


def _same_line(found: str, expected: str, types: str) -> bool:
    mine, theirs = found.split("\t"), expected.split("\t")
    if len(mine) != len(theirs) or len(mine) != len(types):
        return False
    return all(a == b or (t == "R" and _close(a, b)) for a, b, t in zip(mine, theirs, types, strict=True))


def _close(found: str, expected: str) -> bool:
    try:
        # Twelve digits are written, so that the last may differ by one.
        return math.isclose(float(found), float(expected), rel_tol=TOLERANCE, abs_tol=0.0)
    except ValueError:
        return False
