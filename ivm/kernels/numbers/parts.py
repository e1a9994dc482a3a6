"""What generated loops are made of: the functions of the calendar and of `elementwise` as parts, checked 64-bit
arithmetic, conversions to DOUBLE, membership.
"""

from __future__ import annotations

from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types

from ivm.catalog import calendar
from ivm.kernels.compiling.part import operation, part
from ivm.kernels.numbers import elementwise
from ivm.kernels.numbers.exact_float import load
from ivm.kernels.numbers.wide import FLOAT_POWERS, POWERS, Word, magnitude, to_float

_Pair: Any = types.Tuple
_checked: Any = operation(_Pair((types.int64, types.boolean)), types.int64, types.int64)


def _define(module: ModuleType) -> None:
    """Define the module's functions here, so that those that they call are the parts of these names."""
    globals().update({name: value for name, value in vars(module).items() if name.isupper() or name == "np"})
    for name, value in vars(module).items():
        if isinstance(value, FunctionType) and value.__module__ == module.__name__:
            globals()[name] = part()(FunctionType(value.__code__, globals(), name))


@part()
def where(condition: bool, a: Any, b: Any) -> Any:
    """The one or the other."""
    return a if condition else b


def _both(builder: Any, pair: Any) -> Any:
    return builder.extract_value(pair, 0), builder.extract_value(pair, 1)


@_checked
def add_checked(builder: Any, a: Any, b: Any) -> Any:
    """The sum of two int64: (sum modulo 2^64, whether it overflowed)."""
    return _both(builder, builder.sadd_with_overflow(a, b))


@_checked
def sub_checked(builder: Any, a: Any, b: Any) -> Any:
    """The difference of two int64: (difference modulo 2^64, whether it overflowed)."""
    return _both(builder, builder.ssub_with_overflow(a, b))


@_checked
def mul_checked(builder: Any, a: Any, b: Any) -> Any:
    """The product of two int64: (product modulo 2^64, whether it overflowed)."""
    return _both(builder, builder.smul_with_overflow(a, b))


@part()
def wide_to_double(low: Word, high: Word, digits: int) -> float:
    """The double nearest to a / 10^digits, ties to even, for 128 bits."""
    ml, mh = magnitude(low, high)
    if mh == 0 and ml <= np.uint64(1 << 53) and digits <= 22:  # both are doubles
        return to_float(low, high) / FLOAT_POWERS[digits]
    bits, exponent = _quotient(ml, mh, digits)
    result = load(np.float64(bits), exponent)
    return -result if high < 0 else result


@part()
def wide_to_single(low: Word, high: Word, digits: int) -> float:
    """The number of 32 bits nearest to a / 10^digits, ties to even, for 128 bits."""
    ml, mh = magnitude(low, high)
    bits, exponent = _quotient(ml, mh, digits)
    # Of the bits that a double does not hold, the last that it does says whether there are any: that decides halves.
    held = (bits >> np.uint64(11)) | np.uint64((bits & np.uint64(0x7FF)) != 0)
    result = np.float64(np.float32(load(np.float64(held), exponent + 11)))
    return -result if high < 0 else result


@part()
def _quotient(low: Word, high: Word, digits: int) -> tuple[Word, Word]:
    """(q, e) with q * 2^e the first 64 bits of m / 10^digits, of which the last is 1 also where others follow.

    m < 2^127 is a magnitude of two uint64. Cost: one step per bit.
    """
    one, top = np.uint64(1), np.uint64(63)
    pl, ph = np.uint64(POWERS[digits, 0]), np.uint64(POWERS[digits, 1])
    quotient, exponent = np.uint64(0), np.int64(0)
    if low == 0 and high == 0:
        return quotient, exponent
    while high >> np.uint64(62) == 0:  # both become as long as they may be, so that the quotient lies between 1/2 and 2
        high, low, exponent = (high << one) | (low >> top), low << one, exponent - 1
    while ph >> np.uint64(62) == 0:
        ph, pl, exponent = (ph << one) | (pl >> top), pl << one, exponent + 1
    exponent += 1
    while quotient >> top == 0:
        quotient, exponent = quotient << one, exponent - 1
        if high > ph or (high == ph and low >= pl):
            high -= ph + np.uint64(low < pl)
            low -= pl
            quotient |= one
        high, low = (high << one) | (low >> top), low << one
    return quotient | np.uint64(high != 0 or low != 0), exponent


@part()
def contains(ordered: npt.NDArray[np.int64], value: Word) -> bool:
    """Whether the value is among `ordered` (ascending int64); a binary search."""
    low, high = 0, len(ordered)
    while low < high:
        middle = (low + high) >> 1
        if ordered[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low < len(ordered) and ordered[low] == value


_define(calendar)
_define(elementwise)
