"""128-bit integers for compiled loops: two's complement, as a pair of int64 (low word, high word).

An array of them has shape (n, 2), Arrow's decimal128 layout. Functions that can leave the range say so in their last
result, and then return the value modulo 2^128. Each costs a few machine instructions unless its docstring says more.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from ivm.kernels.compiling.part import operation, part

Word = Any  # an int64 or uint64, as compiled code has it
Wide = tuple[Word, Word]
Checked = tuple[Word, Word, bool]

MAX_POWER = 38


def _halves(value: int) -> tuple[int, int]:
    low = value & ((1 << 64) - 1)
    return (low - (1 << 64) if low >> 63 else low), value >> 64


POWERS = np.array([_halves(10**k) for k in range(MAX_POWER + 1)], np.int64)
HALF_POWERS = np.array([_halves(10**k // 2) for k in range(MAX_POWER + 1)], np.int64)
NARROW_POWERS = np.array([10**k for k in range(19)], np.int64)
FLOAT_POWERS = np.array([float(10**k) for k in range(MAX_POWER + 1)], np.float64)


_TWO: Any = types.UniTuple
_BIT: Any = ir.IntType(1)


def _product(builder: Any, a: Any, b: Any, extend: Any) -> Any:
    """The full 128-bit product of two 64-bit factors: one machine instruction where there is one."""
    wide: Any = ir.IntType(128)
    product = builder.mul(extend(a, wide), extend(b, wide))
    return builder.trunc(product, a.type), builder.trunc(builder.lshr(product, wide(64)), a.type)


@operation(_TWO(types.int64, 2), types.int64, types.int64)
def mul_signed(builder: Any, a: Any, b: Any) -> Any:
    """(low, high) int64 of the product of two int64."""
    return _product(builder, a, b, builder.sext)


@operation(_TWO(types.uint64, 2), types.uint64, types.uint64)
def mul_unsigned(builder: Any, a: Any, b: Any) -> Any:
    """(low, high) uint64 of the product of two uint64."""
    return _product(builder, a, b, builder.zext)


@operation(types.int64, types.uint64)
def leading_zeros(builder: Any, a: Any) -> Any:
    """The number of zero bits above the highest one of a uint64, as int64; 64 of zero."""
    return builder.ctlz(a, _BIT(0))


@part()
def fits_int64(low: Word, high: Word) -> bool:
    """Whether the value is one that an int64 holds (then it is `low`)."""
    return (low >> np.int64(63)) == high


@part()
def add(al: Word, ah: Word, bl: Word, bh: Word) -> Checked:
    """The sum a + b: (low, high, whether it overflowed 2^127)."""
    low = al + bl
    carry = np.int64(np.uint64(low) < np.uint64(al))
    high = ah + bh + carry
    return low, high, ((ah ^ high) & (bh ^ high)) < 0


@part()
def sub(al: Word, ah: Word, bl: Word, bh: Word) -> Checked:
    """The difference a - b: (low, high, whether it overflowed 2^127)."""
    low = al - bl
    borrow = np.int64(np.uint64(al) < np.uint64(bl))
    high = ah - bh - borrow
    return low, high, ((ah ^ bh) & (ah ^ high)) < 0


@part()
def neg(low: Word, high: Word) -> Checked:
    """-a: (low, high, whether it overflowed, which only -2^127 does)."""
    return sub(np.int64(0), np.int64(0), low, high)


@part()
def compare(al: Word, ah: Word, bl: Word, bh: Word) -> int:
    """-1, 0 or 1 as a is less than, equal to or greater than b."""
    if ah != bh:
        return -1 if ah < bh else 1
    if al == bl:
        return 0
    return -1 if np.uint64(al) < np.uint64(bl) else 1


@part()
def magnitude(low: Word, high: Word) -> Wide:
    """|a| as (low, high) uint64; right for -2^127 as well."""
    if high < 0:
        low, high, _ = neg(low, high)
    return np.uint64(low), np.uint64(high)


@part()
def with_sign(low: Word, high: Word, negative: bool) -> Checked:
    """The signed value of a magnitude of two uint64: (low, high, whether it does not fit)."""
    sl, sh = np.int64(low), np.int64(high)
    if not negative:
        return sl, sh, bool(sh < 0)
    nl, nh, _ = neg(sl, sh)
    return nl, nh, bool(nh >= 0 and (nl != 0 or nh != 0))


@part()
def mul(al: Word, ah: Word, bl: Word, bh: Word) -> Checked:
    """The product a * b: (low, high, whether it overflowed 2^127)."""
    if fits_int64(al, ah) and fits_int64(bl, bh):
        low, high = mul_signed(al, bl)
        return low, high, False
    xl, xh = magnitude(al, ah)
    yl, yh = magnitude(bl, bh)
    low, middle = mul_unsigned(xl, yl)
    cross_low, cross_high = mul_unsigned(xh, yl) if yh == 0 else mul_unsigned(xl, yh)
    high = middle + cross_low
    lost = (xh != 0 and yh != 0) or cross_high != 0 or high < middle
    rl, rh, unfit = with_sign(low, high, (ah ^ bh) < 0)
    return rl, rh, lost or unfit


@part()
def exceeds(low: Word, high: Word, digits: int) -> bool:
    """Whether |a| >= 10^digits, so that it has more than `digits` digits; 0 <= digits <= 38."""
    ml, mh = magnitude(low, high)
    pl, ph = np.uint64(POWERS[digits, 0]), np.uint64(POWERS[digits, 1])
    return mh > ph or (mh == ph and ml >= pl)


@part()
def scale_up(low: Word, high: Word, digits: int) -> Checked:
    """The product a * 10^digits, 0 <= digits <= 38: (low, high, whether it overflowed 2^127)."""
    return mul(low, high, POWERS[digits, 0], POWERS[digits, 1])


@part()
def divide_small(low: Word, high: Word, divisor: Word) -> tuple[Word, Word, Word]:
    """A magnitude of two uint64 divided by 0 < divisor < 2^32: (low, high, remainder) uint64; four divisions."""
    mask, shift = np.uint64(0xFFFFFFFF), np.uint64(32)
    divisor = np.uint64(divisor)
    top = high >> shift
    q3 = top // divisor
    rest = ((top % divisor) << shift) | (high & mask)
    q2 = rest // divisor
    rest = ((rest % divisor) << shift) | (low >> shift)
    q1 = rest // divisor
    rest = ((rest % divisor) << shift) | (low & mask)
    q0 = rest // divisor
    return (q1 << shift) | q0, (q3 << shift) | q2, rest % divisor


@part()
def scale_down(low: Word, high: Word, digits: int) -> Wide:
    """The quotient a / 10^digits, 0 <= digits <= 38, rounded, halves away from zero: (low, high). About 20 ns."""
    ml, mh = magnitude(low, high)
    half = np.uint64(HALF_POWERS[digits, 0])
    if digits > 0:
        # |a| + 10^digits / 2 stays below 2^128, and chained flooring division is flooring division by the product.
        ml += half
        mh += np.uint64(HALF_POWERS[digits, 1]) + np.uint64(ml < half)
    left = digits
    while left > 0:
        step = min(left, 9)
        ml, mh, _ = divide_small(ml, mh, NARROW_POWERS[step])
        left -= step
    rl, rh, _ = with_sign(ml, mh, high < 0)
    return rl, rh


@part()
def to_float(low: Word, high: Word) -> float:
    """The double nearest to a, ties to even."""
    ml, mh = magnitude(low, high)
    if mh == 0:
        result = np.float64(ml)
    else:
        shift = np.uint64(leading_zeros(mh))
        top, rest = mh, ml
        if shift > 0:
            top = (mh << shift) | (ml >> (np.uint64(64) - shift))
            rest = ml << shift
        if rest != 0:  # a bit below the rounding position decides halves
            top |= np.uint64(1)
        result = np.float64(top) * 2.0 ** (64 - np.int64(shift))
    return -result if high < 0 else result
