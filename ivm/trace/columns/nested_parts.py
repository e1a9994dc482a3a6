"""What makes structs of their parts, and takes lists and structs apart: columns to columns of codes, and back.

Each column has as many values as the others. Cost: a pass over what the values are made of.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ivm.catalog.types import BIGINT, SqlType
from ivm.trace.columns.arrow import to_arrow, to_column
from ivm.trace.columns.column import Column
from ivm.trace.text.dictionary import TextDictionary


def structs_of_values(columns: Sequence[Column], type_: SqlType, dictionary: TextDictionary) -> Column:
    """For each row the struct of its values."""
    pairs = zip(columns, type_.fields, strict=True)
    arrays = [_array(column, field, dictionary) for column, (_, field) in pairs]
    return to_column(pa.StructArray.from_arrays(arrays, list(type_.names)), type_, dictionary)


def field_at(structs: Column, type_: SqlType, place: int, dictionary: TextDictionary) -> Column:
    """The field at a place, from 0, of structs of a type."""
    return to_column(_array(structs, type_, dictionary).flatten()[place], type_.fields[place][1], dictionary)


def element_at(lists: Column, type_: SqlType, places: Column, dictionary: TextDictionary) -> Column:
    """The element of each list at a place, which counts from 1, or from the end; NULL where there is none."""
    assert type_.element is not None, "a list has elements"
    array, place = _array(lists, type_, dictionary), places.values.astype(np.int64)
    lengths = np.asarray(array.value_lengths().fill_null(0)).astype(np.int64)
    begins = np.cumsum(lengths) - lengths
    offset = np.where(place < 0, lengths + place, place - 1)
    there = (offset >= 0) & (offset < lengths)
    if places.valid is not None:
        there &= places.valid
    found = array.flatten().take(pa.array(begins + offset, mask=~there))
    return to_column(found, type_.element, dictionary)


def lengths_of(lists: Column, type_: SqlType, dictionary: TextDictionary) -> Column:
    """How many elements each list has."""
    return to_column(_array(lists, type_, dictionary).value_lengths().cast(pa.int64()), BIGINT, dictionary)


def _array(column: Column, type_: SqlType, dictionary: TextDictionary) -> Any:
    found = to_arrow(column, type_, dictionary.now())
    return pa.concat_arrays(found.chunks) if isinstance(found, pa.ChunkedArray) else found
