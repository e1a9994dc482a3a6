"""Aggregates of all values of a group, by exact fractions where they are sums, as their definitions have them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from operator import and_, mul, or_, xor
from typing import Any

from ivm.catalog.errors import NumericError
from ivm.catalog.types import Kind, SqlType
from tests.model.values import canonical, nearest_single, sort_key

Fold = Callable[[list[Any], list[Any], SqlType], Any]
"""Of the values in ascending order, of those that they are paired with, and the type of the result."""


def _entropy(values: list[Any], pairs: list[Any], type_: SqlType) -> float:
    counts = Counter(map(sort_key, values)).values()
    return -sum(n / len(values) * math.log2(n / len(values)) for n in counts) + 0.0


def _moment(values: list[Any], power: int) -> Fraction:
    mean = sum(map(Fraction, values), Fraction(0)) / len(values)
    return sum(((Fraction(value) - mean) ** power for value in values), Fraction(0)) / len(values)


def _finite(values: list[Any]) -> None:
    if not all(map(math.isfinite, values)):
        raise NumericError("no moment of what is not finite")


def _skewness(values: list[Any], pairs: list[Any], type_: SqlType) -> float | None:
    _finite(values)
    n, spread = len(values), _moment(values, 2)
    if n < 3 or spread == 0:
        return None
    return float(_moment(values, 3)) / float(spread) ** 1.5 * math.sqrt(n * (n - 1)) / (n - 2)


def _kurtosis_pop(values: list[Any], pairs: list[Any], type_: SqlType) -> float | None:
    _finite(values)
    spread = _moment(values, 2)
    return None if spread == 0 else float(_moment(values, 4) / spread**2 - 3)


def _kurtosis(values: list[Any], pairs: list[Any], type_: SqlType) -> float | None:
    n, found = len(values), _kurtosis_pop(values, pairs, type_)
    return None if n < 4 or found is None else (n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * (found + 3) - 3 * (n - 1))


def _covariance(less: int) -> Fold:
    def fold(values: list[Any], pairs: list[Any], type_: SqlType) -> float | None:
        n = len(values)
        if n == less:
            return None
        if not all(map(math.isfinite, (*values, *pairs))):
            return math.nan
        one, other = (sum(map(Fraction, each)) / n for each in (values, pairs))
        together = sum((Fraction(x) - one) * (Fraction(y) - other) for x, y in zip(values, pairs, strict=True))
        return canonical(float(together / (n - less)))

    return fold


def _mad(values: list[Any], pairs: list[Any], type_: SqlType) -> Any:
    middle = _median(values, type_)
    single = nearest_single if type_.kind is Kind.FLOAT else canonical
    far = [abs(value - middle) if type_.kind is Kind.DECIMAL else single(abs(value - middle)) for value in values]
    return _median(sorted(far, key=sort_key), type_)


def _median(values: list[Any], type_: SqlType) -> Any:
    low, high = values[(len(values) - 1) // 2], values[len(values) // 2]
    if len(values) % 2:
        return low
    if type_.kind is Kind.DECIMAL:
        return low + int((high - low) * 0.5)
    return nearest_single(low * 0.5 + high * 0.5) if type_.kind is Kind.FLOAT else low * 0.5 + high * 0.5


FOLDS: dict[str, Fold] = {
    "product": lambda values, pairs, type_: canonical(reduce(mul, values, 1.0)),
    "mad": _mad,
    "entropy": _entropy,
    "skewness": _skewness,
    "kurtosis": _kurtosis,
    "kurtosis_pop": _kurtosis_pop,
    "covar_pop": _covariance(0),
    "covar_samp": _covariance(1),
    "bit_and": lambda values, pairs, type_: reduce(and_, values),
    "bit_or": lambda values, pairs, type_: reduce(or_, values),
    "bit_xor": lambda values, pairs, type_: reduce(xor, values),
}
