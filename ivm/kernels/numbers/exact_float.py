"""Exact sums: two's-complement integers of any number of words, in which doubles are added as what they are, integers.

A field is `width` int64 words, low word first, at `offset` of a row of an int64 array (rows, fields). For doubles its
lowest bit weighs 2^base, and it is wide enough for every exponent met so far times any count, so additions never round
and a retraction takes away exactly what was added. Rounding happens once, when a sum is read.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from ivm.kernels.compiling.compiled import njit
from ivm.kernels.compiling.part import operation, part
from ivm.kernels.numbers.wide import Wide, Word, leading_zeros, mul_signed, mul_unsigned
from ivm.kernels.types import Bools, Ints

HEADROOM = 65  # a sign, and a count of any size
NOT_FINITE = 3  # words before a field of doubles: how many NaN, +inf, -inf

_LIMIT = 1 << 20


@operation(types.int64, types.float64)
def bits_of(builder: Any, x: Any) -> Any:
    """The bit pattern of a double, as int64."""
    return builder.bitcast(x, ir.IntType(64))


@operation(types.float64, types.int64)
def double_of(builder: Any, bits: Any) -> Any:
    """The double of a bit pattern in an int64."""
    return builder.bitcast(bits, ir.DoubleType())


@part()
def parts(bits: Word) -> Wide:
    """(integer m, exponent e) with m * 2^e the finite double whose bit pattern is `bits`."""
    exponent = (bits >> np.int64(52)) & np.int64(0x7FF)
    size = bits & np.int64(0xFFFFFFFFFFFFF)
    if exponent == 0:
        exponent = np.int64(1)
    else:
        size |= np.int64(1) << np.int64(52)
    return (-size if bits < 0 else size), exponent - np.int64(1075)


@part()
def is_finite(bits: Word) -> bool:
    """Whether a bit pattern is neither NaN nor infinite."""
    return ((bits >> np.int64(52)) & np.int64(0x7FF)) != 0x7FF


@part()
def not_finite_kind(bits: Word) -> Word:
    """0 for NaN, 1 for +inf, 2 for -inf."""
    if bits & np.int64(0xFFFFFFFFFFFFF):
        return 0
    return 2 if bits < 0 else 1


@njit(cache=True, nogil=True, fastmath=False, _nrt=False)
def exponent_range(values: Ints, column: Word, valid: Bools, valid_column: Word) -> tuple[Word, Word]:
    """The lowest and highest exponent, as `parts` gives it, of the doubles in `column`; (_LIMIT, -_LIMIT) of none.

    `valid_column` < 0: all are valid. Zeros and what is not finite do not count.
    """
    low, high = _LIMIT, -_LIMIT
    for i in range(len(values)):
        bits = values[i, column]
        if (valid_column < 0 or valid[i, valid_column]) and is_finite(bits):
            size, exponent = parts(bits)
            if size != 0:
                low = min(low, exponent)
                high = max(high, exponent)
    return low, high


@part()
def add_word(fields: Ints, row: Word, at: Word, word: Word, carry: Word) -> Word:
    """Add `word` and the carry (uint64) to one word of a field; the carry out of it."""
    piece = np.uint64(word)
    total = np.uint64(fields[row, at]) + piece
    more = total + carry
    fields[row, at] = np.int64(more)
    return np.uint64(total < piece) | np.uint64(more < total)


@part()
def add_at(fields: Ints, row: Word, offset: Word, width: Word, position: Word, p0: Word, p1: Word, p2: Word) -> None:
    """Add (p2 p1 p0) * 2^position, a 192-bit integer, to a field; the carry runs no further than it must."""
    first = position >> 6
    shift = np.int64(position & 63)
    a0, a1, a2, a3 = p0, p1, p2, p2 >> np.int64(63)
    if shift != 0:
        back = np.uint64(64) - np.uint64(shift)
        a0 = p0 << shift
        a1 = (p1 << shift) | np.int64(np.uint64(p0) >> back)
        a2 = (p2 << shift) | np.int64(np.uint64(p1) >> back)
        a3 = p2 >> np.int64(back)
    sign = p2 >> np.int64(63)
    end = offset + width
    at = offset + first
    carry = add_word(fields, row, at, a0, np.uint64(0))
    at += 1
    if at < end:
        carry = add_word(fields, row, at, a1, carry)
        at += 1
    if at < end and not (a2 == sign and a3 == sign):
        carry = add_word(fields, row, at, a2, carry)
        at += 1
        if at < end:
            carry = add_word(fields, row, at, a3, carry)
            at += 1
    while at < end and np.uint64(sign) + carry != np.uint64(0):
        carry = add_word(fields, row, at, sign, carry)
        at += 1


@part()
def add_product(
    fields: Ints, row: Word, offset: Word, width: Word, position: Word, low: Word, high: Word, diff: Word
) -> None:
    """Add (high low) * diff * 2^position to a field."""
    if diff == 1:
        add_at(fields, row, offset, width, position, low, high, high >> np.int64(63))
        return
    # (high low) = high * 2^64 + low with low unsigned; the signed product of low as it stands misses diff * 2^64.
    l0, l1 = mul_signed(low, diff)
    h0, h1 = mul_signed(high, diff)
    if low < 0:
        before = h0
        h0 += diff
        h1 += (diff >> np.int64(63)) + np.int64(np.uint64(h0) < np.uint64(before))
    middle = l1 + h0
    carry = np.int64(np.uint64(middle) < np.uint64(h0))
    top = h1 + (l1 >> np.int64(63)) + carry
    add_at(fields, row, offset, width, position, l0, middle, top)


@part()
def add_double(
    fields: Ints, row: Word, offset: Word, width: Word, base: Word, bits: Word, diff: Word, squared: bool
) -> None:
    """Add diff times a finite double, or its square, to a field whose lowest bit weighs 2^base."""
    size, exponent = parts(bits)
    if size == 0:
        return
    if squared:
        low, high = mul_signed(size, size)
        add_product(fields, row, offset, width, 2 * exponent - base, low, high, diff)
    else:
        low, high = mul_signed(size, diff)
        add_at(fields, row, offset, width, exponent - base, low, high, high >> np.int64(63))


@part()
def add_double_product(
    fields: Ints, row: Word, offset: Word, width: Word, base: Word, bits: Word, other: Word, diff: Word
) -> None:
    """Add diff times the product of two finite doubles to a field whose lowest bit weighs 2^base."""
    size, exponent = parts(bits)
    factor, shift = parts(other)
    if size == 0 or factor == 0:
        return
    low, high = mul_signed(size, factor)
    add_product(fields, row, offset, width, exponent + shift - base, low, high, diff)


@part()
def scaled(fields: Ints, row: Word, offset: Word, width: Word) -> tuple[float, Word]:
    """(m, e) with m * 2^e the field's integer, rounded to the 53 bits of m, ties to even; (0, 0) of zero."""
    lowest = _lowest(fields, row, offset, width)
    if lowest == width:
        return 0.0, 0
    negative = fields[row, offset + width - 1] < 0
    top = width - 1
    word = _size_word(fields, row, offset, top, lowest, negative)
    while word == 0:
        top -= 1
        word = _size_word(fields, row, offset, top, lowest, negative)
    shift = np.uint64(leading_zeros(word))
    rest = np.uint64(0)
    if top > 0:
        rest = _size_word(fields, row, offset, top - 1, lowest, negative)
    if shift > 0:
        word = (word << shift) | (rest >> (np.uint64(64) - shift))
        rest = rest << shift
    if rest != 0 or lowest < top - 1:  # a bit below the rounding position decides halves
        word |= np.uint64(1)
    size = np.float64(word)
    return (-size if negative else size), 64 * top - np.int64(shift)


@part()
def _size_word(fields: Ints, row: Word, offset: Word, at: Word, lowest: Word, negative: bool) -> Word:
    """Word `at` of the field's absolute value; `lowest` is its lowest word that is not zero."""
    word = np.uint64(fields[row, offset + at])
    if not negative or at < lowest:
        return word
    if at == lowest:
        return ~word + np.uint64(1)
    return ~word


@part()
def spread(
    fields: Ints,
    row: Word,
    one: Word,
    width: Word,
    other: Word,
    other_width: Word,
    products: Word,
    products_width: Word,
    count: Word,
    scratch: Ints,
) -> tuple[float, Word]:
    """(m, e) with m * 2^e = count * (sum of products) - (sum of one) * (sum of the other), exact before one rounding.

    The fields begin at these words of the row; the products' lowest bit weighs the product of those of the sums, which
    may be the same one. `scratch`: int64 (1, at least width + other_width + products_width + 2).
    """
    total = max(width + other_width, products_width + 1) + 1
    lowest = _lowest(fields, row, one, width)
    least = _lowest(fields, row, other, other_width)
    negative = fields[row, one + width - 1] < 0
    below = fields[row, other + other_width - 1] < 0
    for k in range(total):
        scratch[0, k] = 0
    for i in range(lowest, width):
        x = _size_word(fields, row, one, i, lowest, negative)
        carry = np.uint64(0)
        for j in range(least, other_width):
            y = _size_word(fields, row, other, j, least, below)
            low, high = mul_unsigned(x, y)
            low += carry
            high += np.uint64(low < carry)
            held = np.uint64(scratch[0, i + j])
            low += held
            high += np.uint64(low < held)
            scratch[0, i + j] = np.int64(low)
            carry = high
        scratch[0, i + other_width] = np.int64(carry)
    # x - y is x + ~y + 1; where the product of the sums is below zero, its size is added.
    added = negative != below
    more, carry = np.uint64(not added), np.uint64(0)
    sign = np.uint64(fields[row, products + products_width - 1] >> np.int64(63))
    for k in range(total):
        word = sign
        if k < products_width:
            word = np.uint64(fields[row, products + k])
        low, high = mul_unsigned(word, np.uint64(count))
        product = low + carry
        carry = high + np.uint64(product < low)
        taken = np.uint64(scratch[0, k])
        if not added:
            taken = ~taken
        rest = product + taken
        found = rest + more
        scratch[0, k] = np.int64(found)
        more = np.uint64(rest < taken) | np.uint64(found < rest)
    return scaled(scratch, 0, 0, total)


@part()
def _lowest(fields: Ints, row: Word, offset: Word, width: Word) -> Word:
    """The first word of a field that is not zero; `width` if all are."""
    lowest = 0
    while lowest < width and fields[row, offset + lowest] == 0:
        lowest += 1
    return lowest


@part()
def load(size: float, exponent: Word) -> float:
    """The double size * 2^exponent; infinite beyond the range."""
    if -900 < exponent < 900:  # the power is a normal number, and so is the product, as size is not far below 1
        return size * double_of(np.int64(exponent + 1023) << np.int64(52))
    power: Word = np.int32(min(max(exponent, -1300), 1300))
    return math.ldexp(size, power)
