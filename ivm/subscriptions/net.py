"""Which rows of a table of changes are equal, and what several commits come to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ivm.trace.columns.column import Ints

TIME, DIFF = "_time", "_diff"


def net(tables: Sequence[pa.Table]) -> pa.Table:
    """What changes come to together: a row for each row whose multiplicity they change, at the time of the last one.

    `tables`: one or more, of the columns of a view, `_time` and `_diff`. Cost: a sort of numbers for each column.
    """
    table = pa.concat_tables(tables)
    if not table.num_rows:
        return table
    numbers = row_numbers(table, table.column_names[:-2])
    of_each, firsts = np.unique(numbers, return_index=True)
    sums = np.zeros(len(of_each), np.int64)
    np.add.at(sums, numbers, table[DIFF].to_numpy())
    kept = np.flatnonzero(sums)
    last = np.full(len(kept), table[TIME].to_numpy().max(), np.int64)
    found = table.take(pa.array(firsts[kept])).combine_chunks()
    return with_columns(found, {TIME: pa.array(last), DIFF: pa.array(sums[kept])})


def with_columns(table: pa.Table, columns: dict[str, pa.Array]) -> pa.Table:
    """The table with other columns in the place of those of these names, which come last in it."""
    names = table.column_names[: table.num_columns - len(columns)]
    arrays = [table.column(place) for place in range(len(names))]
    return pa.Table.from_arrays([*arrays, *columns.values()], names=[*names, *columns])


def row_numbers(table: pa.Table, names: Iterable[int | str]) -> Ints:
    """A number from 0 for each row, int64: equal ones where rows agree in all of these columns, NULL with NULL."""
    numbers = np.zeros(table.num_rows, np.int64)
    for name in names:
        codes = _codes(table.column(name).combine_chunks())
        numbers = numbers * (int(codes.max(initial=0)) + 1) + codes
        numbers = np.unique(numbers, return_inverse=True)[1].reshape(-1)
    return numbers


def _codes(column: pa.Array) -> Ints:
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.storage
    if pa.types.is_floating(column.type):
        column = pc.add(column, 0.0)  # for -0.0 is 0.0
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    try:
        encoded = pc.dictionary_encode(column, null_encoding="encode")
    except pa.ArrowNotImplementedError:  # of what is nested
        encoded = pc.dictionary_encode(pa.array(map(repr, column.to_pylist()), pa.string()))
    return np.asarray(encoded.indices.to_numpy(zero_copy_only=False), dtype=np.int64)
