"""INTERVALs in Arrow data as what computes, sorts and shows: Arrow itself does little with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from ivm.catalog.calendar import DAY
from ivm.catalog.intervals import MONTH_DAYS, NANOS, TOO_LONG, interval_text, packed
from ivm.trace.columns.column import validity_buffer, validity_mask

INTERVAL = pa.month_day_nano_interval()
_LENGTH = pa.decimal128(38, 0)
_MOST_DAYS = ((1 << 63) - 1) // DAY


def words_of(array: pa.Array) -> Any:
    """Two words for each: days and months, and nanoseconds."""
    if not len(array):
        return np.zeros((0, 2), np.int64)
    return np.frombuffer(array.buffers()[1], np.int64, 2 * len(array), array.offset * 16).reshape(-1, 2)


def _days_and_micros(array: pa.Array) -> tuple[Any, Any]:
    """The days, a month counting 30 of them, and the time."""
    words = words_of(array)
    months = words[:, 0].astype(np.int32).astype(np.int64)
    return months * MONTH_DAYS + (words[:, 0] >> 32), words[:, 1] // NANOS


def lengths(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """What intervals are sorted by: their microseconds, a month having 30 days of 24 hours."""
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([lengths(chunk) for chunk in column.chunks], _LENGTH)
    days, micros = _days_and_micros(column)
    days = days + micros // DAY  # what is left of the time is not below zero
    micros = micros % DAY
    odd = days * (DAY >> 13)  # of 128 bits: a day is a multiple of 2^13
    low = (odd << 13).view(np.uint64) + micros.view(np.uint64)
    words = np.empty((len(column), 2), np.int64)
    words[:, 0] = low.view(np.int64)
    words[:, 1] = (odd >> 51) + (low < micros.view(np.uint64))
    validity = validity_buffer(validity_mask(column, column.buffers()[0]))
    return pa.Array.from_buffers(_LENGTH, len(column), [validity, pa.py_buffer(words)])


def durations(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Intervals as Arrow's durations, which know no months: of 30 days. OverflowError where 64 bits do not hold one."""
    target = pa.duration("us")
    return pa.chunked_array([_duration(chunk, target) for chunk in column.chunks], target)


def _duration(array: pa.Array, target: pa.DataType) -> pa.Array:
    days, micros = _days_and_micros(array)
    valid = array.is_valid().to_numpy(False)
    if (np.abs(np.where(valid, days, 0)) >= _MOST_DAYS - (1 << 17)).any():
        raise OverflowError(TOO_LONG)
    counts = np.where(valid, days * DAY + micros, 0)
    return pa.array(counts, pa.int64(), mask=~valid).cast(target)


def with_texts(table: pa.Table) -> pa.Table:
    """The table with intervals as texts, for those who have no type like it. Cost: a pass in Python."""
    for place, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        if column.type == INTERVAL:
            values = (
                None if v is None else packed(v.months, v.days, v.nanoseconds // NANOS) for v in column.to_pylist()
            )
            texts = [None if value is None else interval_text(value) for value in values]
            table = table.set_column(place, name, pa.chunked_array([pa.array(texts, pa.string())]))
    return table
