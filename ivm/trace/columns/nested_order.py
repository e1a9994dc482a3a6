"""The order of lists, structs and maps in Arrow's form, of which Arrow has none."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ivm.catalog.types import Kind, SqlType, decimal, list_of, map_of, struct_of
from ivm.trace.columns.arrow import is_list, plain_type, to_column
from ivm.trace.text.dictionary import TextDictionary


def ranks_of(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Numbers that are in the order of the values, equal for equal ones; NULL for NULL. Cost: a sort."""
    dictionary, array = TextDictionary(), column
    if isinstance(column, pa.ChunkedArray):
        array = column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.unify_dictionaries().chunks)
    found = to_column(array, _type_of(array), dictionary)
    ranks = dictionary.now().ranks(found.values)
    return pa.array(ranks, mask=None if found.valid is None else np.logical_not(found.valid))


def _type_of(array: pa.Array) -> SqlType:
    """A type by which the values are ordered as they are."""
    given = array.type
    if pa.types.is_dictionary(given):
        return SqlType(Kind.ENUM, labels=tuple(array.dictionary.to_pylist()))
    if pa.types.is_decimal(given):
        return decimal(given.precision, given.scale)
    if is_list(given):
        return list_of(_type_of(array.values))
    if pa.types.is_map(given):
        return map_of(_type_of(array.keys), _type_of(array.items))
    if pa.types.is_struct(given):
        return struct_of((name, _type_of(array.field(place))) for place, name in enumerate(given.names))
    return plain_type(given)
