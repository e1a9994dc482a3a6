"""What whole groups become: texts joined by a separator, and lists, as codes of the dictionary."""

from __future__ import annotations

import numpy as np

from catalog.types import Physical
from ivm.kernels.ordered.rows import join_texts, joined_sizes
from ivm.trace.column import Array, Column, Ints
from ivm.trace.dictionary import TextDictionary
from ivm.trace.lists import codes_of, list_bytes
from ivm.trace.readonly import readonly


def joined(column: Column, offsets: Ints, separator: str, dictionary: TextDictionary) -> Array:
    """The codes of the texts of each run [offsets[c], offsets[c + 1]) of a column of codes, joined. Cost: the bytes."""
    codes = readonly(np.ascontiguousarray(column.values, np.int64))
    between = readonly(np.frombuffer(separator.encode(), np.uint8))
    ends = np.empty(len(offsets), np.int64)
    joined_sizes(codes, offsets, dictionary.offsets, len(between), ends)
    data = np.empty(int(ends[-1]), np.uint8)
    join_texts(codes, offsets, dictionary.heap, dictionary.offsets, between, data)
    return codes_of(data, ends, dictionary)


def listed(column: Column, offsets: Ints, physical: Physical, dictionary: TextDictionary) -> Array:
    """The codes of the lists of each run of a column's values, NULLs included. Cost: a pass over the values."""
    data, size = list_bytes(column, physical)
    return codes_of(data, offsets * size, dictionary)
