"""Quantiles: which rows they are taken from, and the value between two rows, as DuckDB computes it."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from catalog.calendar import DAY
from catalog.types import Kind, Physical, SqlType
from ivm.kernels.ordered.quantiles import BETWEEN, EXACT, ROUNDED
from ivm.trace.column import Ints

_MOST_DIGITS = 9  # so that a fraction times a number of rows stays in 64 bits


class Quantile(NamedTuple):
    """One quantile: how it is placed (see `apply_quantiles`), and at which fraction of the rows."""

    kind: int
    numerator: int
    denominator: int
    fraction: float


def quantile(function: str, given: object) -> Quantile:
    """The quantile of quantile_cont or quantile_disc at a fraction, a Decimal or a float."""
    assert isinstance(given, Decimal | float), "the binder takes constant fractions only"
    if function == "quantile_cont":
        return Quantile(BETWEEN, 0, 1, float(given))
    if isinstance(given, Decimal) and -given.as_tuple().exponent <= _MOST_DIGITS:  # type: ignore[operator]
        exact = Fraction(given)
        return Quantile(EXACT, exact.numerator, exact.denominator, float(given))
    return Quantile(ROUNDED, 0, 1, float(given))


def between(low: Any, high: Any, share: Any, argument: SqlType, result: SqlType) -> Any:
    """The values `share` of the way from `low` to `high`, of type `argument`, as values of type `result`.

    DOUBLE and FLOAT: both weighted; DECIMAL: the distance in doubles, cut off; TIMESTAMP: weighted, rounded half away
    from zero. Equal values are themselves. Cost: a few passes.
    """
    if argument.kind is Kind.DATE:
        low, high = (side.astype(np.int64) * DAY for side in (low, high))
    if result.is_float:
        first, second = _doubles(low, argument.physical), _doubles(high, argument.physical)
        with np.errstate(invalid="ignore", over="ignore"):
            mixed = np.where(share == 0, first, first * (1.0 - share) + second * share)
            return mixed.astype(np.float32).astype(np.float64) if result.kind is Kind.FLOAT else mixed
    if result.kind in (Kind.TIMESTAMP, Kind.TIMESTAMPTZ):
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
