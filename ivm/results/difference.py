"""What leads from some rows of a view to others, as tables of Arrow, whatever engine they are of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ivm.trace.columns.arrow import numbers_from
from ivm.trace.columns.python_values import values_or_texts

_DIFF = "_diff"


def replaced(before: pa.Table, after: pa.Table) -> pa.Table | None:
    """The changes that lead from rows at a time, as `Contents.changes` has them, to others; None: none do."""
    gone = before.set_column(before.num_columns - 1, _DIFF, pc.negate(before.column(_DIFF)))
    changes = added_up(pa.concat_tables([gone, after]), after.column_names[:-1])
    return changes if changes.num_rows else None


def added_up(changes: pa.Table, names: Sequence[str]) -> pa.Table:
    """Changes that agree in these columns added up, by `_diff`: shards may tell different halves of one."""
    columns, given = [f"c{i}" for i in range(len(names))], changes.select([*names, _DIFF])
    rows = numbers_from(np.arange(given.num_rows))
    alike = pa.table([*map(_alike, given.columns[:-1]), given.column(_DIFF), rows], [*columns, _DIFF, "row"])
    summed = alike.group_by(columns).aggregate([(_DIFF, "sum"), ("row", "min")])
    kept = summed.filter(pc.not_equal(summed.column(f"{_DIFF}_sum"), 0))
    found = given.take(kept.column("row_min"))
    return found.set_column(len(names), given.schema.field(_DIFF), kept.column(f"{_DIFF}_sum"))


def _alike(column: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    """Values by which Arrow groups those that are equal: there are two zeros, and many that are no number."""
    type_ = column.type
    if pa.types.is_floating(type_):
        return pc.if_else(pc.is_nan(column), pa.scalar(float("nan"), type_), pc.add(column, pa.scalar(0, type_)))
    if pa.types.is_nested(type_):
        return pa.array([None if value is None else repr(value) for value in values_or_texts(column)], pa.string())
    return column.cast(type_.value_type) if pa.types.is_dictionary(type_) else column
