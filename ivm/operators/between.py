"""Values between two others, as DuckDB's quantiles have them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ivm.catalog.calendar import DAY
from ivm.catalog.types import Kind, Physical, SqlType
from ivm.trace.columns.column import Ints


def between(low: Any, high: Any, share: Any, argument: SqlType, result: SqlType) -> Any:
    """The values `share` of the way from `low` to `high`, of type `argument`, as values of type `result`.

    DOUBLE and FLOAT: both weighted; DECIMAL: the distance in doubles, cut off; TIME, TIMESTAMP: weighted, rounded half
    away from zero. Equal values are themselves. Cost: a few passes.
    """
    if argument.kind is Kind.DATE:
        low, high = (side.astype(np.int64) * DAY for side in (low, high))
    if result.is_float:
        first, second = _doubles(low, argument.physical), _doubles(high, argument.physical)
        with np.errstate(invalid="ignore", over="ignore"):
            mixed = np.where(share == 0, first, first * (1.0 - share) + second * share)
            return mixed.astype(np.float32).astype(np.float64) if result.kind is Kind.FLOAT else mixed
    if result.is_moment or result.kind is Kind.TIME:
        mixed = low.astype(np.float64) * (1.0 - share) + high.astype(np.float64) * share
        rounded = np.copysign(np.floor(np.abs(mixed) + 0.5), mixed).astype(np.int64)
        return np.where(share == 0, low, rounded)
    if result.physical is Physical.WIDE:
        return _wide_between(low, high, share)
    cut = (low.astype(np.float64) + (high - low).astype(np.float64) * share).astype(np.int64)
    return np.where(share == 0, low, cut)


def _doubles(values: Any, physical: Physical) -> Any:
    if physical is Physical.WIDE:
        return np.array([float(v) for v in _integers(values)], np.float64)
    return values.astype(np.float64)


def _wide_between(low: Ints, high: Ints, share: Any) -> Ints:
    """128-bit integers one by one: wide decimals are rare, and a cell costs a walk down a tree besides."""
    out = low.copy()
    for i, (a, b) in enumerate(zip(_integers(low), _integers(high), strict=True)):
        if share[i]:
            value = a + int(float(b - a) * share[i])
            out[i] = (value & (2**64 - 1)) - ((value & 2**63) << 1), value >> 64
    return out


def _integers(values: Ints) -> list[int]:
    return [(int(high) << 64) | (int(low) & (2**64 - 1)) for low, high in values]
