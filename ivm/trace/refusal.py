"""The errors for changes that a table's key or contents do not allow, with the rows that were at fault."""

from __future__ import annotations

import pyarrow as pa

from catalog.errors import ConstraintError
from catalog.schema import Table
from ivm.trace.changes import Changes
from ivm.trace.column import Ints
from ivm.trace.sequences import numbers_from


def null_in_key(table: Table, data: pa.Table, rows: Ints) -> ConstraintError:
    """The error for the rows of `data` at `rows`, which have NULL in a column of the primary key."""
    return _refusal(table, data, rows, "change", "has NULL", "give every key column a value")


def impossible_changes(table: Table, data: pa.Table, changes: Changes, failed: Ints) -> ConstraintError:
    """The error for the changes at `failed` (not empty), whose rows are those of `data` at the same places.

    It says what the first one failed of, and names the rows that failed likewise.
    """
    if changes.inserts[failed[0]]:
        alike = failed[changes.inserts[failed]]
        return _refusal(table, data, alike, "insert into", "already has a row with", "upsert replaces rows")
    alike = failed[~changes.inserts[failed]]
    advice = "delete only rows that are there, or ignore the others (missing='ignore'; in apply mode='upsert')"
    return _refusal(table, data, alike, "delete from", "has no row with", advice)


def _refusal(table: Table, data: pa.Table, rows: Ints, attempt: str, wrong: str, advice: str) -> ConstraintError:
    """`data` has the table's columns, or the primary key's alone."""
    keys = table.primary_key
    names = [field.name for field in table.fields]
    places = range(len(keys)) if data.num_columns != len(names) else table.key_indexes
    if not keys:
        places = range(len(names))
    values = [data.column(c).take(numbers_from(rows)).to_pylist() for c in places]
    shown = ", ".join(str(tuple(row)) for row in zip(*values, strict=True))
    what = f"PRIMARY KEY ({', '.join(keys)})" if keys else f"({', '.join(names)})"
    return ConstraintError(
        f"cannot {attempt} table {table.name}: it {wrong} {what} = {shown}; {advice}. Nothing was changed"
    )
