"""Aggregates that are computed of all rows of a group: products, bits, entropy, moments, and the median deviation.

Each takes the columns of the rows of many groups, one group after the other, the rows of each in one order; and where
each group with its end begins, int64 (groups + 1,), of which none is empty. It gives the groups' values, and which of
them are there, None if all are. So the value is one of the rows that there are, however they came and went.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ivm.catalog.errors import NumericError
from ivm.catalog.types import Kind, Physical, SqlType
from ivm.operators.between import between
from ivm.trace.columns.column import Array, Bools, Column, Ints

Folded = tuple[Any, Bools | None]
Fold = Callable[[list[Column], Ints, SqlType], Folded]


def _bits(function: np.ufunc) -> Fold:
    """Bit by bit, of both words of what has two."""
    return lambda columns, offsets, type_: (function.reduceat(columns[0].values, offsets[:-1], axis=0), None)


def _product(columns: list[Column], offsets: Ints, type_: SqlType) -> Folded:
    """Fractions and exponents apart, so that nothing on the way is too large or too small."""
    parts, exponents = np.frexp(columns[0].values)
    fractions = np.empty(len(offsets) - 1, np.float64)
    powers = np.add.reduceat(exponents.astype(np.int64), offsets[:-1])
    for group, (begin, end) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)):
        for first in range(begin, end, _AT_ONCE):
            part, power = np.frexp(np.multiply.reduce(parts[first : min(first + _AT_ONCE, end)]))
            before = 1.0 if first == begin else fractions[group]
            fractions[group], more = np.frexp(before * part)
            powers[group] += power + more
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(fractions, np.clip(powers, -(1 << 20), 1 << 20).astype(np.int32)), None


_AT_ONCE = 512
"""So many fractions, each at least 1/2, have a product that is no subnormal number."""


def _entropy(columns: list[Column], offsets: Ints, type_: SqlType) -> Folded:
    """The bits that it takes to tell a row's value; equal values stand side by side."""
    values, starts = columns[0].values, offsets[:-1]
    if values.dtype == np.float64:
        values = values.view(np.int64)
    differs = values[1:] != values[:-1]
    new = np.concatenate([np.ones(1, np.bool_), differs.any(axis=1) if differs.ndim > 1 else differs])
    new[starts] = True
    begins = np.flatnonzero(new)
    counts = np.diff(np.append(begins, offsets[-1])).astype(np.float64)
    sizes = np.diff(offsets).astype(np.float64)
    group = np.searchsorted(offsets, begins, side="right") - 1
    shares = counts / sizes[group]
    return np.add.reduceat(shares * -np.log2(shares), np.searchsorted(begins, starts)) + 0.0, None


class _Centred:
    """Doubles less the mean of their groups, whose sum is taken of what is left of the values so as to be exact."""

    def __init__(self, values: Array, offsets: Ints) -> None:
        self._starts, self.sizes = offsets[:-1], np.diff(offsets).astype(np.float64)
        whole = np.repeat(np.arange(len(self.sizes)), np.diff(offsets))
        with np.errstate(invalid="ignore", over="ignore"):
            near = values - self.mean(values)[whole]
            self.values = near - self.mean(near)[whole]

    def mean(self, values: Array) -> Any:
        """Of each group."""
        with np.errstate(invalid="ignore", over="ignore"):
            return np.add.reduceat(values, self._starts) / self.sizes


def _skewness(columns: list[Column], offsets: Ints, type_: SqlType) -> Folded:
    centred = _finite("skewness", columns[0], offsets)
    n, deviations = centred.sizes, centred.values
    spread, third = centred.mean(deviations**2), centred.mean(deviations**3)
    there = (n > 2) & (spread > 0)
    with np.errstate(all="ignore"):
        found = third / spread**1.5 * np.sqrt(n * (n - 1)) / (n - 2)
    return np.where(there, found, 0.0), there


def _kurtosis(columns: list[Column], offsets: Ints, type_: SqlType) -> Folded:
    found, there, n = _of_fourths(columns, offsets)
    there = there & (n > 3)
    with np.errstate(all="ignore"):
        found = (n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * (found + 3) - 3 * (n - 1))
    return np.where(there, found, 0.0), there


def _kurtosis_pop(columns: list[Column], offsets: Ints, type_: SqlType) -> Folded:
    found, there, _ = _of_fourths(columns, offsets)
    return found, there


def _of_fourths(columns: list[Column], offsets: Ints) -> tuple[Any, Any, Any]:
    """The fourth moment over the square of the second, less 3; where it is there; and how many rows."""
    centred = _finite("kurtosis", columns[0], offsets)
    squares = centred.values**2
    spread = centred.mean(squares)
    there = (centred.sizes > 1) & (spread > 0)
    with np.errstate(all="ignore"):
        return np.where(there, centred.mean(squares**2) / spread**2 - 3, 0.0), there, centred.sizes


def _finite(function: str, column: Column, offsets: Ints) -> _Centred:
    if not np.isfinite(column.values).all():
        raise NumericError(f"cannot compute {function} of NaN or an infinite value; filter it out first")
    return _Centred(column.values, offsets)


def _median_deviation(columns: list[Column], offsets: Ints, type_: SqlType) -> Folded:
    """The median of how far the values are from their median, each as a quantile at one half is."""
    values, starts, sizes = columns[0].values, offsets[:-1], np.diff(offsets)
    lower, upper, share = starts + (sizes - 1) // 2, starts + sizes // 2, np.where(sizes % 2, 0.0, 0.5)
    group = np.repeat(np.arange(len(sizes)), sizes)
    middle = between(values[lower], values[upper], share, type_, type_)
    if type_.physical is Physical.WIDE:
        far: Any = np.abs(_objects_of(values) - _objects_of(middle)[group])
        order = np.lexsort((np.argsort(np.argsort(far, kind="stable"), kind="stable"), group))
        far = _words_of(far)
    else:
        with np.errstate(invalid="ignore"):
            far = np.abs(values - middle[group])
        far = far.astype(np.float32).astype(np.float64) if type_.kind is Kind.FLOAT else far
        order = np.lexsort((far, group))
    far = far[order]
    return between(far[lower], far[upper], share, type_, type_), None


def _objects_of(values: Array) -> Any:
    """128-bit integers as Python's."""
    return np.array([(int(high) << 64) | (int(low) & _LOW) for low, high in values], object)


def _words_of(values: Any) -> Ints:
    """Python's integers, none negative, in 128 bits."""
    return np.array([((v & _LOW) - ((v & 1 << 63) << 1), v >> 64) for v in values], np.int64).reshape(-1, 2)


_LOW = (1 << 64) - 1

FOLDS: dict[str, Fold] = {
    "mad": _median_deviation,
    "product": _product,
    "entropy": _entropy,
    "skewness": _skewness,
    "kurtosis": _kurtosis,
    "kurtosis_pop": _kurtosis_pop,
    "bit_and": _bits(np.bitwise_and),
    "bit_or": _bits(np.bitwise_or),
    "bit_xor": _bits(np.bitwise_xor),
}
"""By the aggregate's name; `ivm.operators.ordered_aggregates` has those that pick values of rows."""
