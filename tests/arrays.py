"""Arrow arrays of values in physical form."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal

import numpy as np
import pyarrow as pa

from ivm.catalog.types import MAX_DIGITS, MAX_NARROW_DIGITS, Kind, SqlType
from ivm.trace.columns.arrow import arrow_type, two_words
from ivm.trace.columns.stand_ins import enum_labels

_STORED = {Kind.DATE: pa.int32(), Kind.TIMESTAMP: pa.int64(), Kind.TIMESTAMPTZ: pa.int64(), Kind.TIME: pa.int64()}
_WIDE = Context(prec=MAX_DIGITS)


def array_of(values: Sequence[object], type: SqlType) -> pa.Array:
    """The values as an Arrow array for a column of `type`: days, microseconds and scaled integers; None is NULL."""
    target = arrow_type(type)
    if type.kind is Kind.DECIMAL and type.precision <= MAX_NARROW_DIGITS:
        scaled = pa.array(values, pa.int64())
        words = np.frombuffer(scaled.buffers()[1], "<i8", len(scaled), scaled.offset * 8)
        return pa.Array.from_buffers(target, len(scaled), [scaled.buffers()[0], pa.py_buffer(two_words(words))])
    if pa.types.is_decimal(target):
        return pa.array([None if v is None else Decimal(str(v)).scaleb(-type.scale, _WIDE) for v in values], target)
    if type.kind is Kind.ENUM:
        return pa.DictionaryArray.from_arrays(pa.array(values, target.index_type), enum_labels(type))
    stored = _STORED.get(type.kind)
    return pa.array(values, target) if stored is None else pa.array(values, stored).view(target)
