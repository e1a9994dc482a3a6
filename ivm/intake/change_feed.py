"""Change feeds as Delta, Spark and Snowflake write them, as updates with a diff."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ivm.catalog.errors import TypeMismatchError
from ivm.catalog.names import key
from ivm.catalog.schema import Table
from ivm.intake.as_it_is import DIFF, TIME
from ivm.trace.columns.arrow import numbers_from
from ivm.trace.columns.column import Ints

CHANGE = "_change_type"
VERSION = "_commit_version"
_ACTION = "metadata$action"
_DIFFS = {"insert": 1, "update_postimage": 1, "update_preimage": -1, "delete": -1}
_LEFT_OUT = (VERSION, "_commit_timestamp", TIME, "metadata$isupdate", "metadata$row_id")


def with_diffs(rows: pa.Table, table: Table) -> pa.Table:
    """A change feed of a table's as `apply` takes it: `_diff` by `_change_type`, or as Snowflake's streams have it by
    `METADATA$ACTION`, unless it has `_diff` already.

    When it was committed elsewhere is left out. TypeMismatchError if it says nothing of what changed.
    """
    marks = marks_of(rows.column_names, table)
    rows = rows.drop_columns([marks[name] for name in _LEFT_OUT if name in marks])
    said = _said(marks, table)
    if said is None:
        return rows
    return rows.drop_columns([said]).append_column(DIFF, numbers_from(_diffs(rows.column(said), said, table)))


def columns_with_diffs(columns: Mapping[str, Any], table: Table) -> dict[str, Any]:
    """The same of a dict of columns."""
    marks = marks_of(list(columns), table)
    said = _said(marks, table)
    gone = {marks[name] for name in _LEFT_OUT if name in marks} | {said}
    kept = {name: values for name, values in columns.items() if name not in gone}
    return kept if said is None else {**kept, DIFF: _diffs(_texts(columns[said], said, table), said, table)}


def rows_with_diffs(rows: Sequence[Mapping[str, Any]], table: Table) -> list[dict[str, Any]]:
    """The same of a list of dicts."""
    if not rows:
        return []
    marks = marks_of(list(dict.fromkeys(name for row in rows for name in row)), table)
    said = _said(marks, table)
    gone = {marks[name] for name in _LEFT_OUT if name in marks} | {said}
    kept = [{name: value for name, value in row.items() if name not in gone} for row in rows]
    if said is None:
        return kept
    diffs = _diffs(_texts([row.get(said) for row in rows], said, table), said, table)
    return [{**row, DIFF: diff} for row, diff in zip(kept, diffs.tolist(), strict=True)]


def without_marks(columns: Sequence[str], table: Table) -> None:
    """TypeMismatchError if columns of rows that are to be inserted or upserted say that they are changes."""
    for name, given in marks_of(columns, table).items():
        raise _refusal(table, f"column {given!r} is there, as in a change feed; use mode 'changes', or drop {name!r}")


def marks_of(columns: Sequence[str], table: Table) -> dict[str, str]:
    """What those of the columns are called that say what changed, and when; those of the table are its own."""
    own = {key(field.name) for field in table.fields}
    known = {CHANGE, _ACTION, DIFF, *_LEFT_OUT} - own
    return {key(name): name for name in columns if key(name) in known}


def _said(marks: Mapping[str, str], table: Table) -> str | None:
    """The column that says in words what changed; None if `_diff` does in numbers."""
    names = [name for name in (CHANGE, _ACTION, DIFF) if name in marks]
    if len(names) > 1:
        raise _refusal(table, f"it has both {names[0]} and {names[1]}; leave one of them out")
    if not names:
        raise _refusal(
            table, f"it has neither {CHANGE} nor {DIFF}; add one, or use mode 'append' or 'upsert' for plain rows"
        )
    return None if names == [DIFF] else marks[names[0]]


def _texts(values: Any, name: str, table: Table) -> pa.ChunkedArray:
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    try:
        return pa.chunked_array([pa.array(values, pa.string())])
    except (TypeError, ValueError, pa.ArrowException) as error:
        raise _refusal(table, f"column {name!r} must be text: {error}") from error


def _diffs(given: pa.ChunkedArray, name: str, table: Table) -> Ints:
    try:
        texts = given.cast(pa.string())
    except pa.ArrowException as error:
        raise _refusal(table, f"column {name!r} has Arrow type {given.type}, and must be text") from error
    places = pc.index_in(pc.utf8_lower(texts), value_set=pa.array(list(_DIFFS)))
    if places.null_count:
        row = int(np.flatnonzero(places.is_null().to_numpy())[0])
        raise _refusal(
            table, f"column {name!r}, row {row} counted from 0, is {texts[row].as_py()!r}; it is one of "
            f"{', '.join(_DIFFS)}",
        )  # fmt: skip
    return np.array(list(_DIFFS.values()), np.int64)[places.to_numpy()]


def _refusal(table: Table, wrong: str) -> TypeMismatchError:
    return TypeMismatchError(f"cannot read changes of table {table.name}: {wrong}")
