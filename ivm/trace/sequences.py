"""Arrow arrays of a few plain Python values, or of row numbers, without pandas.

`pa.array` imports pandas, where it is installed, to see whether what it is given belongs to it. That takes 0.3 s, which
a program that has nothing to do with pandas is spared.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import accumulate

import numpy as np
import pyarrow as pa

from ivm.trace.column import Array

_FEW = 1 << 12
_PLAIN: dict[type, tuple[pa.DataType, str, object]] = {
    int: (pa.int64(), "<i8", 0),
    float: (pa.float64(), "<f8", 0.0),
    bool: (pa.bool_(), "?", False),
}


def array_from(values: Sequence[object], type: pa.DataType | None = None) -> pa.Array | pa.ChunkedArray:
    """As `pa.array`; a few values that are plain are read here, as long as nobody uses pandas."""
    if not isinstance(values, list) or len(values) > _FEW or "pandas" in sys.modules:
        return pa.array(values, type)
    if all(value is None for value in values):
        return pa.nulls(len(values), pa.null() if type is None else type)
    array = _plain(values)
    if array is None:
        return pa.array(values, type)
    return array if type is None or array.type == type else array.cast(type)


def numbers_from(values: Array) -> pa.Array:
    """As `pa.array`, of whole numbers; nothing is copied if they lie side by side."""
    together = np.ascontiguousarray(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(together), [None, pa.py_buffer(together)])


def _plain(values: list[object]) -> pa.Array | None:
    """The array that Arrow would infer for values of one plain type and None; None if they are others."""
    kinds = {value.__class__ for value in values if value is not None}
    if len(kinds) != 1:
        return None
    (kind,) = kinds
    if kind is str:
        return _strings(values)
    if kind not in _PLAIN:
        return None
    arrow, dtype, nothing = _PLAIN[kind]
    try:
        data = np.array([nothing if value is None else value for value in values], dtype)
    except OverflowError:
        return None
    bits = np.packbits(data, bitorder="little") if kind is bool else data
    return pa.Array.from_buffers(arrow, len(values), [_validity(values), pa.py_buffer(bits)])


def _strings(values: list[object]) -> pa.Array:
    texts = [value.encode() if isinstance(value, str) else b"" for value in values]
    ends = np.array([0, *accumulate(map(len, texts))], "<i4")
    buffers = [_validity(values), pa.py_buffer(ends), pa.py_buffer(b"".join(texts))]
    return pa.Array.from_buffers(pa.string(), len(values), buffers)


def _validity(values: list[object]) -> pa.Buffer | None:
    there = np.array([value is not None for value in values], np.bool_)
    return None if there.all() else pa.py_buffer(np.packbits(there, bitorder="little"))
