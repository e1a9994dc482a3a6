"""ENUMs in Arrow data: dictionaries whose values are the labels in order, taken from texts in any encoding."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as arrow

from catalog.types import SqlType

_INDEXES = ((pa.uint8(), 0xFF), (pa.uint16(), 0xFFFF), (pa.uint32(), 0xFFFF_FFFF))
_SHOWN = 10


def enum_type(type: SqlType) -> pa.DataType:
    """Arrow's type of an ENUM, as DuckDB exports it: indices as narrow as the number of labels lets them be."""
    index = next(index for index, most in _INDEXES if len(type.labels) <= most)
    return pa.dictionary(index, pa.string())


@lru_cache
def enum_labels(type: SqlType) -> pa.Array:
    """The labels of an ENUM as an array of texts."""
    return pa.array(type.labels, pa.string())


def enum_array(positions: Any, valid: Any, type: SqlType) -> pa.Array:
    """Positions of labels, where `valid` if that is not None, as an array of `enum_type`."""
    indices = pa.array(positions, mask=None if valid is None else np.logical_not(valid))
    return pa.DictionaryArray.from_arrays(indices.cast(enum_type(type).index_type), enum_labels(type))


def positions_of(array: pa.Array, type: SqlType) -> pa.Array:
    """The position of each text among the labels, int32; NULL where it is none of them. Cost: a pass."""
    labels = enum_labels(type)
    if not arrow.is_dictionary(array.type):
        return pc.index_in(array.cast(pa.string()), labels)
    if array.dictionary.equals(labels):
        return array.indices.cast(pa.int32())
    return pc.index_in(array.dictionary.cast(pa.string()), labels).take(array.indices)


def to_enum(values: pa.ChunkedArray, type: SqlType) -> pa.ChunkedArray:
    """Texts as an ENUM; ValueError for one that is none of its labels, with its row."""
    target, chunks, before = enum_type(type), [], 0
    for chunk in values.chunks:
        positions = positions_of(chunk, type)
        if positions.null_count > chunk.null_count:
            row = int(np.flatnonzero(positions.is_null().to_numpy(False) & chunk.is_valid().to_numpy(False))[0])
            known = ", ".join(map(repr, type.labels[:_SHOWN])) + (", ..." if len(type.labels) > _SHOWN else "")
            raise ValueError(f"row {before + row} counted from 0: {chunk[row].as_py()!r} is none of its labels {known}")
        chunks.append(pa.DictionaryArray.from_arrays(positions.cast(target.index_type), enum_labels(type)))
        before += len(chunk)
    return pa.chunked_array(chunks, target)


def in_order(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """What sorts as the column does: the positions of an ENUM, all else as it is."""
    if not arrow.is_dictionary(column.type):
        return column
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([chunk.indices for chunk in column.chunks], column.type.index_type)
    return column.indices
