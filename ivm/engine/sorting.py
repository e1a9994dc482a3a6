"""The order in which the rows of a view are read: a function of the rows, whatever came before them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ivm.results.python_values import numbers_of
from ivm.trace.columns.column import Array, Ints
from ivm.trace.columns.stand_ins import in_order

SortKey = tuple[int, bool, bool]
"""Column position, descending, NULLs first."""


def sort_table(table: pa.Table, order: Sequence[SortKey]) -> pa.Table:
    """The rows by the terms, ties by all columns, ascending, NULLs last; NaN is greater than every number.

    Without terms the table as it is. Cost: a sort, which looks at a column only where those before it are equal; lists
    are compared in Python, where nothing before them tells the rows apart.
    """
    if not order or table.num_rows < 2:
        return table
    rest = [i for i in range(table.num_columns) if i not in {position for position, _, _ in order}]
    first_list = next((n for n, i in enumerate(rest) if pa.types.is_list(table.column(i).type)), len(rest))
    keys, directions = _keys(table, [*order, *((i, False, False) for i in rest[:first_list])])
    rows = pc.sort_indices(keys, sort_keys=directions)
    if first_list < len(rest):
        rows = _with_lists(table.select(rest[first_list:]), rows.to_numpy(), _tied(keys.take(rows)))
    return table.take(rows)


def first_by(
    order: Sequence[SortKey],
    columns: int,
    rows: int,
    wanted: int,
    values: Callable[[int, Ints], pa.Array | pa.ChunkedArray],
) -> Ints:
    """The places of those rows, of `rows` with as many `columns`, that `sort_table` would put first, in no order.

    They are `wanted`, or more where rows are told apart by nothing that Arrow ranks. `values` gives a column's values
    in some rows. Cost: looks at a column only where those before it are equal, and not to sort it.
    """
    if not order or wanted >= rows:
        return np.arange(min(wanted, rows))
    given = {position for position, _, _ in order}
    tied, certain = np.arange(rows), [np.arange(0)]
    for position, descending, nulls_first in [*order, *((i, False, False) for i in range(columns) if i not in given)]:
        if len(tied) <= wanted or wanted == 0:
            break
        by = ("", "descending" if descending else "ascending", "at_start" if nulls_first else "at_end")
        try:
            ranks = pc.rank(_comparing(values(position, tied)), sort_keys=[by], tiebreaker="min").to_numpy()
        except pa.ArrowNotImplementedError:
            break
        last = ranks[ranks <= wanted].max()
        certain.append(tied[ranks < last])
        tied = tied[ranks == last]
        wanted -= len(certain[-1])
    return np.sort(np.concatenate([*certain, tied]))


def _comparing(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """What Arrow compares as the values are: for floating numbers whole ones, NaN above all."""
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


def _tied(keys: pa.Table) -> Array:
    """Whether each row but the first equals the one before it."""
    tied = np.ones(keys.num_rows - 1, np.bool_)
    for column in keys.columns:
        before, after = column.slice(0, keys.num_rows - 1), column.slice(1)
        nulls = pc.and_(pc.is_null(before), pc.is_null(after))
        tied &= pc.or_(pc.fill_null(pc.equal(before, after), False), nulls).to_numpy()
    return tied


def _with_lists(rest: pa.Table, rows: Array, tied: Array) -> Array:
    """The rows with each run of tied ones in the order of the columns `rest`."""
    rows = rows.copy()
    starts = np.flatnonzero(tied & ~np.concatenate(([False], tied[:-1])))
    ends = np.flatnonzero(tied & ~np.concatenate((tied[1:], [False]))) + 2
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        some = rest.take(rows[start:end])
        values = list(zip(*(numbers_of(column).to_pylist() for column in some.columns), strict=True))
        by = sorted(range(len(values)), key=lambda i: [_comparable(value) for value in values[i]])
        rows[start:end] = rows[start:end][by]
    return rows


def _comparable(value: Any) -> tuple[Any, ...]:
    """What compares as the value does, NaN after all numbers, NULL last."""
    if value is None:
        return (2,)
    if isinstance(value, list):
        return (0, [_comparable(each) for each in value])
    return (1,) if value != value else (0, value)
