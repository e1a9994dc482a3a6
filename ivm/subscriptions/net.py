"""Which rows of a table of changes are equal, and what several commits come to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ivm.catalog.types import SqlType
from ivm.subscriptions.piece import Computed, Piece, joined, piece_of, together
from ivm.trace.columns.arrow import numbers_from
from ivm.trace.columns.column import Ints
from ivm.trace.consolidate import consolidate
from ivm.trace.delta import Delta
from ivm.trace.rows.changes import summed

TIME, DIFF = "_time", "_diff"


def net(pieces: Sequence[Piece], types: Sequence[SqlType]) -> Piece:
    """What changes come to together: a row for each row whose multiplicity they change, at the time of the last one.

    `pieces`: one or more, of columns of `types`. Cost: one access of a hash table a row; where texts have other codes
    meanwhile, that of comparing them, too.
    """
    time, computed = pieces[-1].time, together(pieces)
    if computed is not None:
        whole = Delta(computed.delta.groups, computed.delta.layout, len(computed.delta), time, computed.delta.diffs)
        found = consolidate(whole, types) or whole.slice(0, 0)
        return Piece(time, Computed(computed.schema, found.gathered(), computed.strings))
    table = joined(pieces)
    kept, sums = summed(table.select(range(len(types))), types, None, numbers_of(table[DIFF]))
    found = table.take(numbers_from(kept)).combine_chunks()
    columns = [*found.columns[:-2], numbers_from(np.full(len(kept), time, np.int64)), numbers_from(sums)]
    return piece_of(pa.Table.from_arrays(columns, names=found.column_names), time)


def row_numbers(table: pa.Table, names: Iterable[int | str]) -> Ints:
    """A number from 0 for each row, int64: equal ones where rows agree in all of these columns, NULL with NULL."""
    numbers = np.zeros(table.num_rows, np.int64)
    for name in names:
        codes = _codes(_whole(table.column(name)))
        numbers = numbers * (int(codes.max(initial=0)) + 1) + codes
        numbers = np.unique(numbers, return_inverse=True)[1].reshape(-1)
    return numbers


def numbers_of(column: pa.ChunkedArray) -> Ints:
    """Of a column of BIGINT without NULLs. Not by Arrow's `to_numpy`, which loads pandas: that takes half a second."""
    return _numbers(_whole(column), np.dtype(np.int64))


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.nulls(0, column.type)


def _numbers(array: pa.Array, dtype: np.dtype[Any]) -> Ints:
    if not len(array):
        return np.empty(0, np.int64)
    found = np.frombuffer(array.buffers()[1], dtype, len(array), array.offset * dtype.itemsize)
    return found.astype(np.int64, copy=False)


def _with_one_zero(column: pa.Array) -> pa.Array:
    """The same with 0.0 in the place of -0.0, which is equal to it."""
    valid, data = column.buffers()
    if data is None:
        return column
    begin, dtype = column.offset, np.dtype(f"f{column.type.bit_width // 8}")
    values = np.frombuffer(data, dtype, begin + len(column)) + dtype.type(0)
    return pa.Array.from_buffers(column.type, len(column), [valid, pa.py_buffer(values)], offset=begin)


def _codes(column: pa.Array) -> Ints:
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.storage
    if pa.types.is_floating(column.type):
        column = _with_one_zero(column)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    try:
        encoded = pc.dictionary_encode(column, null_encoding="encode")
    except pa.ArrowNotImplementedError:  # of what is nested
        encoded = pc.dictionary_encode(pa.array(list(map(repr, column.to_pylist())), pa.string()))
    return _numbers(encoded.indices, np.dtype(np.int32))
