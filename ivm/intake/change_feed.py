"""Change feeds as Delta and Spark write them, as updates with a diff."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from catalog.errors import TypeMismatchError
from catalog.names import key
from catalog.schema import Table
from ivm.intake.as_it_is import DIFF, TIME
from ivm.trace.columns.arrow import numbers_from

CHANGE = "_change_type"
VERSION = "_commit_version"
_DIFFS = {"insert": 1, "update_postimage": 1, "update_preimage": -1, "delete": -1}
_LEFT_OUT = (VERSION, "_commit_timestamp", TIME)


def with_diffs(rows: pa.Table, table: Table) -> pa.Table:
    """A change feed of a table's as `apply` takes it: `_diff` by `_change_type`, unless it has `_diff` already.

    When it was committed elsewhere is left out. TypeMismatchError if it says nothing of what changed.
    """
    marks = marks_of(rows.column_names, table)
    rows = rows.drop_columns([marks[name] for name in _LEFT_OUT if name in marks])
    if CHANGE in marks and DIFF in marks:
        raise _refusal(table, f"it has both {CHANGE} and {DIFF}; leave one of them out")
    if DIFF in marks:
        return rows
    if CHANGE not in marks:
        raise _refusal(
            table, f"it has neither {CHANGE} nor {DIFF}; add one, or use mode 'append' or 'upsert' for plain rows"
        )
    given = rows.column(marks[CHANGE])
    try:
        texts = given.cast(pa.string())
    except pa.ArrowException as error:
        raise _refusal(table, f"column {CHANGE!r} has Arrow type {given.type}, and must be text") from error
    places = pc.index_in(texts, value_set=pa.array(list(_DIFFS)))
    if places.null_count:
        row = int(np.flatnonzero(places.is_null().to_numpy())[0])
        raise _refusal(
            table, f"column {CHANGE!r}, row {row} counted from 0, is {texts[row].as_py()!r}; it is one of "
            f"{', '.join(_DIFFS)}",
        )  # fmt: skip
    diffs = np.array(list(_DIFFS.values()), np.int64)[places.to_numpy()]
    return rows.drop_columns([marks[CHANGE]]).append_column(DIFF, numbers_from(diffs))


def without_marks(columns: Sequence[str], table: Table) -> None:
    """TypeMismatchError if columns of rows that are to be inserted or upserted say that they are changes."""
    for name, given in marks_of(columns, table).items():
        raise _refusal(table, f"column {given!r} is there, as in a change feed; use mode 'changes', or drop {name!r}")


def marks_of(columns: Sequence[str], table: Table) -> dict[str, str]:
    """What those of the columns are called that say what changed, and when; those of the table are its own."""
    own = {key(field.name) for field in table.fields}
    known = {CHANGE, DIFF, *_LEFT_OUT} - own
    return {key(name): name for name in columns if key(name) in known}


def _refusal(table: Table, wrong: str) -> TypeMismatchError:
    return TypeMismatchError(f"cannot read changes of table {table.name}: {wrong}")
