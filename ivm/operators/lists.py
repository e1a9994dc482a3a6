"""The texts of whole groups, joined by a separator, as codes of the dictionary."""

from __future__ import annotations

import numpy as np

from ivm.kernels.ordered.rows import join_texts, joined_sizes
from ivm.trace.column import Array, Column, Ints
from ivm.trace.dictionary import TextDictionary
from ivm.trace.readonly import readonly


def joined(column: Column, offsets: Ints, separator: str, dictionary: TextDictionary) -> Array:
    """The codes of the texts of each run [offsets[c], offsets[c + 1]) of a column of codes, joined. Cost: the bytes."""
    codes = readonly(np.ascontiguousarray(column.values, np.int64))
    between = readonly(np.frombuffer(separator.encode(), np.uint8))
    ends = np.empty(len(offsets), np.int64)
    strings = dictionary.now()
    joined_sizes(codes, offsets, strings.places, len(between), ends)
    data = np.empty(int(ends[-1]), np.uint8)
    join_texts(codes, offsets, strings.heap, strings.places, between, data)
    return dictionary.encode_parts(data, ends)
