"""The elements of the lists of a column, one after the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ivm.catalog.types import SqlType
from ivm.trace.columns.arrow import numbers_in, to_arrow, to_column
from ivm.trace.columns.column import Bools, Column, Ints, concat, empty_column, validity_mask
from ivm.trace.text.dictionary import TextDictionary


@dataclass(frozen=True, slots=True)
class Lists:
    """Row i has `lengths[i]` of the `elements`, which stand behind those of the rows before; a NULL has none."""

    lengths: Ints
    elements: Column
    valid: Bools | None = None


def places_of(lengths: Ints) -> Ints:
    """The place of each element in its list, from 0, where lists of these lengths lie one after the other."""
    ends = np.cumsum(lengths)
    found: Ints = np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - lengths, lengths)
    return found


def lists_in(array: pa.Array | pa.ChunkedArray, element: SqlType, dictionary: TextDictionary) -> Lists:
    """The lists of an Arrow array. Cost: as `to_column` of the elements."""
    chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
    parts = [_of_chunk(chunk, element, dictionary) for chunk in chunks]
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return Lists(np.zeros(0, np.int64), empty_column(element.physical))
    masks = [np.ones(len(each.lengths), np.bool_) if each.valid is None else each.valid for each in parts]
    valid = None if all(each.valid is None for each in parts) else np.concatenate(masks)
    return Lists(np.concatenate([each.lengths for each in parts]), concat([each.elements for each in parts]), valid)


def _of_chunk(array: pa.Array, element: SqlType, dictionary: TextDictionary) -> Lists:
    lengths, valid = numbers_in(array.value_lengths()).astype(np.int64), validity_mask(array, array.buffers()[0])
    if valid is not None:
        lengths[~valid] = 0
    return Lists(lengths, to_column(array.flatten(), element, dictionary), valid)


def elements_in(column: Column, type: SqlType, dictionary: TextDictionary) -> Lists:
    """The elements of a column of lists of a `type`. Cost: copies them; texts are looked up."""
    assert type.element is not None, "it is a list"
    return lists_in(to_arrow(column, type, dictionary.now()), type.element, dictionary)
