"""The order in which the rows of a view are read: a function of the rows, whatever came before them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ivm.trace.columns.column import Ints
from ivm.trace.columns.nested_order import ranks_of
from ivm.trace.columns.stand_ins import in_order

SortKey = tuple[int, bool, bool]
"""Column position, descending, NULLs first."""


def sort_table(table: pa.Table, order: Sequence[SortKey]) -> pa.Table:
    """The rows by the terms, ties by all columns, ascending, NULLs last; NaN is greater than every number.

    Without terms the table as it is. Cost: a sort, which looks at a column only where those before it are equal, and
    one more of each column of lists, structs or maps.
    """
    if not order or table.num_rows < 2:
        return table
    rest = [i for i in range(table.num_columns) if i not in {position for position, _, _ in order}]
    keys, directions = _keys(table, [*order, *((i, False, False) for i in rest)])
    return table.take(pc.sort_indices(keys, sort_keys=directions))


def first_by(
    order: Sequence[SortKey],
    columns: int,
    rows: int,
    wanted: int,
    values: Callable[[int, Ints], pa.Array | pa.ChunkedArray],
) -> Ints:
    """The places of those rows, of `rows` with as many `columns`, that `sort_table` would put first, in no order.

    They are `wanted`, or more where rows are equal. `values` gives a column's values in some rows. Cost: looks at a
    column only where those before it are equal, and not to sort it.
    """
    if not order or wanted >= rows:
        return np.arange(min(wanted, rows))
    given = {position for position, _, _ in order}
    tied, certain = np.arange(rows), [np.arange(0)]
    for position, descending, nulls_first in [*order, *((i, False, False) for i in range(columns) if i not in given)]:
        if len(tied) <= wanted or wanted == 0:
            break
        by = ("", "descending" if descending else "ascending", "at_start" if nulls_first else "at_end")
        ranks = pc.rank(_comparing(values(position, tied)), sort_keys=[by], tiebreaker="min").to_numpy()
        last = ranks[ranks <= wanted].max()
        certain.append(tied[ranks < last])
        tied = tied[ranks == last]
        wanted -= len(certain[-1])
    return np.sort(np.concatenate([*certain, tied]))


def _comparing(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """What Arrow compares as the values are: ranks of nested ones; for floating numbers whole ones, NaN above all."""
    if pa.types.is_nested(column.type):
        return ranks_of(column)
    if not pa.types.is_floating(column.type):
        return in_order(column)
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    values = column.cast(pa.float64()).fill_null(0.0).to_numpy() + 0.0  # -0 is 0
    bits = np.where(np.isnan(values), np.nan, values).view(np.int64)
    return pa.array(bits ^ ((bits >> 63) & np.iinfo(np.int64).max), mask=~valid)


def _keys(table: pa.Table, order: Sequence[SortKey]) -> tuple[pa.Table, list[tuple[str, str, str]]]:
    """The columns to sort by, and how each is sorted."""
    directions = [
        (f"k{place}", "descending" if descending else "ascending", "at_start" if nulls_first else "at_end")
        for place, (_, descending, nulls_first) in enumerate(order)
    ]
    columns = [_comparing(table.column(position)) for position, _, _ in order]
    return pa.table(columns, names=[name for name, _, _ in directions]), directions
