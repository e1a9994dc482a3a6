"""What else Arrow has for INTERVALs, and the texts of them, as INTERVALs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as arrow

from ivm.catalog.calendar import DAY
from ivm.catalog.intervals import NANOS
from ivm.sql.types.calendar import interval
from ivm.trace.columns.column import validity_buffer, validity_mask
from ivm.trace.columns.intervals import INTERVAL, words_of

_UNITS = {"s": 1_000_000_000, "ms": 1_000_000, "us": NANOS, "ns": 1}
_HALF = (1 << 32) - 1
_MOST_DAYS = 1 << 31


def as_intervals(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Durations of any unit, and intervals, as what `to_column` takes for INTERVAL.

    A duration becomes days and time, as the difference of two moments is. ValueError for what is finer than a
    microsecond. Cost: a pass.
    """
    return pa.chunked_array([_as_intervals(chunk) for chunk in values.chunks], INTERVAL)


def is_time_span(given: pa.DataType) -> bool:
    """Whether these are durations or intervals."""
    return bool(arrow.is_duration(given) or given == INTERVAL)


def _as_intervals(array: pa.Array) -> pa.Array:
    if array.type == INTERVAL:
        _check_fine(words_of(array)[:, 1], array)
        return array
    size = _UNITS[array.type.unit]
    counts = array.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    per_day = DAY * NANOS // size
    days = np.sign(counts) * (np.abs(counts) // per_day)
    if (np.abs(days) >= _MOST_DAYS).any():
        raise ValueError("a duration is out of the range of INTERVAL, which has 32 bits for days; give a shorter one")
    nanos = (counts - days * per_day) * size
    _check_fine(nanos, array)
    return _made(np.zeros(len(array), np.int64), days, nanos, array)


def intervals_of(texts: pa.Array) -> pa.Array:
    """Texts as INTERVALs, read as DuckDB reads them; ValueError for one that is none. Cost: a pass in Python."""
    return pa.array([_of_text(text) for text in texts.to_pylist()], INTERVAL)


def _of_text(text: str | None) -> pa.MonthDayNano | None:
    if text is None:
        return None
    found = interval(text)
    return pa.MonthDayNano([found.months, found.days, found.micros * NANOS])


def _check_fine(nanos: Any, array: pa.Array) -> None:
    fine = np.flatnonzero(nanos % NANOS != 0)
    rows = [row for row in fine.tolist() if array[row].is_valid]
    if rows:
        raise ValueError(f"row {rows[0]} counted from 0: {array[rows[0]]} is finer than a microsecond; round it")


def _made(months: Any, days: Any, nanos: Any, array: pa.Array) -> pa.Array:
    words = np.zeros((len(array), 2), np.int64)
    words[:, 0], words[:, 1] = (days << 32) | (months & _HALF), nanos
    validity = validity_buffer(validity_mask(array, array.buffers()[0]))
    return pa.Array.from_buffers(INTERVAL, len(array), [validity, pa.py_buffer(words)])
