"""Scalar helpers that fused loops call: checked 64-bit arithmetic, conversions to DOUBLE, membership."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types
from numba.extending import intrinsic

from ivm.kernels.compiling.part import part
from ivm.kernels.numbers.wide import FLOAT_POWERS, POWERS, divide, magnitude, to_float

Word = Any  # an int64, as compiled code has it

_inline: Any = intrinsic  # its stub takes the typing context for an argument of the call


def _with_overflow(operation: str) -> Any:
    """LLVM's operation that yields (result modulo 2^64, whether it overflowed)."""
    pair_type: Any = types.Tuple
    signature = pair_type((types.int64, types.boolean))(types.int64, types.int64)

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pair = getattr(builder, operation)(*arguments)
        parts = [builder.extract_value(pair, 0), builder.extract_value(pair, 1)]
        return context.make_tuple(builder, signature.return_type, parts)

    return signature, codegen


@_inline
def add_checked(typing_context: Any, a: Any, b: Any) -> Any:
    """The sum of two int64: (sum modulo 2^64, whether it overflowed)."""
    return _with_overflow("sadd_with_overflow")


@_inline
def sub_checked(typing_context: Any, a: Any, b: Any) -> Any:
    """The difference of two int64: (difference modulo 2^64, whether it overflowed)."""
    return _with_overflow("ssub_with_overflow")


@_inline
def mul_checked(typing_context: Any, a: Any, b: Any) -> Any:
    """The product of two int64: (product modulo 2^64, whether it overflowed)."""
    return _with_overflow("smul_with_overflow")


@part()
def decimal_to_double(a: Word, power: Word, scale: float) -> float:
    """The double of a / power (`scale` is power as a double).

    Beyond 2^53, whole part and fraction are converted one by one.
    """
    size = abs(a)
    if size <= 1 << 53:
        return np.float64(a) / scale
    whole = size // power
    result = np.float64(whole) + np.float64(size - whole * power) / scale
    return -result if a < 0 else result


@part()
def wide_to_double(low: Word, high: Word, digits: int) -> float:
    """The double of a / 10^digits for 128 bits; like `decimal_to_double` beyond 2^53."""
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
