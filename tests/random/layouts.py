"""The layouts in which Arrow data may come: the same values in any of them are the same rows."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pyarrow as pa
import pyarrow.compute as pc

Layout = Callable[[pa.Array], pa.Array | pa.ChunkedArray]


def laid_out(rng: Random, table: pa.Table) -> pa.Table:
    """The table with each column in a layout of its own; `_time` and `_diff` are left as they are."""
    columns = [
        column if name.startswith("_") else _laid_out(rng, column.combine_chunks())
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    return pa.table(dict(zip(table.column_names, columns, strict=True)))


def _laid_out(rng: Random, array: pa.Array) -> pa.Array | pa.ChunkedArray:
    layouts: list[Layout] = [_same, _same, _sliced, _chunked, pc.run_end_encode, pa.Array.dictionary_encode]
    others = _OTHERS.get(array.type, ())
    if others and rng.random() < 0.5:
        array = array.cast(rng.choice(others))
    kind = array.type
    # pyarrow encodes none of these
    if pa.types.is_string_view(kind) or pa.types.is_decimal32(kind) or pa.types.is_nested(kind):
        layouts = [_same, _sliced, _chunked]
    return rng.choice(layouts)(array)


def _same(array: pa.Array) -> pa.Array:
    return array


def _sliced(array: pa.Array) -> pa.Array:
    """In the middle of a longer array."""
    return pa.concat_arrays([array, array, array]).slice(len(array), len(array))


def _chunked(array: pa.Array) -> pa.ChunkedArray:
    """In two pieces and an empty one."""
    at = len(array) // 2
    return pa.chunked_array([array.slice(0, at), array.slice(0, 0), array.slice(at)])


_OTHERS: dict[pa.DataType, tuple[pa.DataType, ...]] = {
    pa.string(): (pa.large_string(), pa.string_view()),
    pa.binary(): (pa.large_binary(),),
    pa.int32(): (pa.int8(), pa.int16(), pa.int64()),
    pa.int64(): (pa.int32(), pa.int8()),
    pa.decimal128(9, 2): (pa.decimal256(20, 2), pa.decimal128(30, 2), pa.decimal32(9, 2)),
    pa.list_(pa.int32()): (pa.large_list(pa.int32()), pa.list_(pa.int64())),
    pa.list_(pa.string()): (pa.large_list(pa.string()), pa.list_(pa.large_string())),
    pa.date32(): (pa.date64(),),
    pa.timestamp("us"): (pa.timestamp("ns"),),
    pa.timestamp("us", "UTC"): (pa.timestamp("ns", "UTC"), pa.timestamp("us", "Asia/Tokyo")),
}
