"""Functions of numbers without a branch on their values: one and the same for arrays and within compiled loops.

numpy runs them over whole columns; `ivm.kernels.numbers.parts` makes parts of loops of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Word = Any  # an int64 array, or an int64 as compiled code has it
Double = Any

where: Any = np.where


def truncated(a: Word, b: Word) -> Word:
    """The quotient a / b toward zero; b is not 0, and not -1 where a is the least int64."""
    quotient = a // b
    return quotient + 1 * ((quotient * b != a) & ((a < 0) != (b < 0)))


def remainder(a: Word, b: Word) -> Word:
    """What `truncated` leaves; it has the sign of a."""
    return a - truncated(a, b) * b


def round_off(a: Word, power: Word) -> Word:
    """The quotient a / power rounded, halves away from zero; power > 1, a is not the least int64."""
    size = abs(a)
    quotient = size // power
    return (quotient + 1 * (size - quotient * power >= power - power // 2)) * (1 - 2 * (a < 0))


def ceiling(a: Word, power: Word) -> Word:
    """The quotient a / power, rounded up."""
    return -(-a // power)


def half_away(x: Double) -> Double:
    """A double rounded to a whole number, halves away from zero."""
    whole = np.trunc(x)
    return whole + np.copysign(abs(x - whole) >= 0.5, x)


def round_double(x: Double, power: Double, cut: bool) -> Double:
    """A double rounded at `power`: below the point, or (cut) above it; as it was, or zero, where that overflows."""
    rounded = half_away(x / power) * power if cut else half_away(x * power) / power
    return where(np.isfinite(rounded), rounded, where(np.isfinite(x) & cut, 0.0, x))


def trunc_double(x: Double, power: Double, cut: bool) -> Double:
    """A double cut off at `power`, below the point, or (cut) above it; as it was, or zero, where that overflows."""
    rounded = np.trunc(x / power) * power if cut else np.trunc(x * power) / power
    return where(np.isfinite(rounded), rounded, where(np.isfinite(x) & cut, 0.0, x))


def even(x: Double) -> Double:
    """The next even number away from zero."""
    return where(x == 0, 0.0, np.copysign(np.ceil(abs(x) / 2) * 2, x))


def double_eq(a: Double, b: Double) -> Any:
    """Equality in which NaN equals NaN."""
    return (a == b) | ((a != a) & (b != b))


def double_lt(a: Double, b: Double) -> Any:
    """The order in which NaN is greater than all others."""
    return (a < b) | ((b != b) & (a == a))
