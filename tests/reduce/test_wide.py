"""128-bit integers against Python's unbounded ones."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ivm.kernels.numbers import parts, wide
from tests.kernels import callable_part

LIMIT = 1 << 127
EDGES = [0, 1, -1, 2**31, 2**53 + 1, 2**62, 2**63 - 1, -(2**63), 2**63, 2**64 - 1, 2**64, -(2**64), 10**18, 10**37]
EDGES += [10**38, -(10**38), 10**38 - 1, LIMIT - 1, -LIMIT, LIMIT - 2**73, 5 * 10**18, 15 * 10**17, 2**117 + 2**63]
wide_ints = st.one_of(
    st.sampled_from(EDGES), st.integers(-LIMIT, LIMIT - 1), st.integers(-(2**66), 2**66), st.integers(-100, 100)
)
pairs = st.tuples(wide_ints, wide_ints)
add, sub, neg, mul = map(callable_part, (wide.add, wide.sub, wide.neg, wide.mul))
wide_to_double, wide_to_single = map(callable_part, (parts.wide_to_double, parts.wide_to_single))
compare, exceeds, fits_int64, to_float = map(
    callable_part, (wide.compare, wide.exceeds, wide.fits_int64, wide.to_float)
)
scale_up, scale_down = map(callable_part, (wide.scale_up, wide.scale_down))


def halves(value: int) -> tuple[int, int]:
    low = value % (1 << 64)
    return low - (1 << 64) if low >> 63 else low, wrap(value) >> 64


def wrap(value: int) -> int:
    return (value + LIMIT) % (2 * LIMIT) - LIMIT


def whole(low: int, high: int) -> int:
    return (int(high) << 64) | (int(low) % (1 << 64))


def check(result, exact: int) -> None:
    low, high, over = result
    assert whole(low, high) == wrap(exact)
    assert over == (not -LIMIT <= exact < LIMIT)


@settings(deadline=None, max_examples=1000)
@given(pairs)
def test_ring_operations(pair):
    x, y = pair
    a, b = halves(x), halves(y)
    check(add(*a, *b), x + y)
    check(sub(*a, *b), x - y)
    check(neg(*a), -x)
    assert compare(*a, *b) == (x > y) - (x < y)
    low, high, over = mul(*a, *b)
    assert over == (not -LIMIT <= x * y < LIMIT)
    assert over or whole(low, high) == x * y


@settings(deadline=None, max_examples=1000)
@given(wide_ints | st.integers(1, 40).map(lambda n: (2**25 + 1) * 10**n // 10**8 + 1), st.integers(0, 38))
def test_quotients_by_powers_of_ten_are_the_nearest(value, digits):
    value = value % 10**38 if value > 0 else -(-value % 10**38)
    exact = Fraction(value, 10**digits)
    assert wide_to_double(*halves(value), digits) == value / 10**digits
    single = wide_to_single(*halves(value), digits)
    beside = [np.nextafter(np.float32(single), np.float32(end)) for end in (-np.inf, np.inf)]
    distance = abs(Fraction(single) - exact)
    for each in beside:
        other = abs(Fraction(float(each)) - exact)
        assert distance < other or (distance == other and np.float32(single).view(np.int32) % 2 == 0)


@settings(deadline=None, max_examples=1000)
@given(wide_ints, st.integers(-38, 38))
def test_powers_of_ten(value, digits):
    exact = Fraction(value) * Fraction(10) ** digits
    rounded = int(abs(exact) + Fraction(1, 2)) * (-1 if value < 0 else 1)
    if digits >= 0:
        low, high, lost = scale_up(*halves(value), digits)
        assert lost == (not -LIMIT <= rounded < LIMIT)
    else:
        (low, high), lost = scale_down(*halves(value), -digits), False
    assert lost or whole(low, high) == rounded
    assert exceeds(*halves(value), abs(digits)) == (abs(value) >= 10 ** abs(digits))


@settings(deadline=None, max_examples=1000)
@given(wide_ints)
def test_conversions(value):
    assert to_float(*halves(value)) == float(value)
    assert fits_int64(*halves(value)) == (-(2**63) <= value < 2**63)
