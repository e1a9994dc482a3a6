"""What generated loops are made of: the functions of the calendar and of `elementwise` as parts, checked 64-bit
arithmetic, conversions to DOUBLE, membership.
"""

from __future__ import annotations

from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types

from catalog import calendar
from ivm.kernels.compiling.part import operation, part
from ivm.kernels.numbers import elementwise
from ivm.kernels.numbers.wide import FLOAT_POWERS, POWERS, Word, divide, magnitude, to_float

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
    """The double of a / 10^digits for 128 bits; as `decimal_to_double` of `elementwise` beyond 2^53."""
    ml, mh = magnitude(low, high)
    if mh == 0 and ml <= np.uint64(1 << 53):
        return to_float(low, high) / FLOAT_POWERS[digits]
    wl, wh, rl, rh = divide(np.int64(ml), np.int64(mh), POWERS[digits, 0], POWERS[digits, 1])
    result = to_float(wl, wh) + to_float(rl, rh) / FLOAT_POWERS[digits]
    return -result if high < 0 else result


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
