"""Fields of many words against Python's integers and fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ivm.kernels.numbers import exact_float
from tests.kernels import callable_part
from tests.reduce.model import nearest, plain
from tests.reduce.test_wide import halves, wide_ints

add_double = callable_part(exact_float.add_double)
add_double_product = callable_part(exact_float.add_double_product)
add_product = callable_part(exact_float.add_product)
load = callable_part(exact_float.load)
scaled = callable_part(exact_float.scaled)
spread = callable_part(exact_float.spread)

finite = st.floats(allow_nan=False, allow_infinity=False)
diffs = st.one_of(st.sampled_from([1, -1, 2, -3]), st.integers(-(2**62), 2**62))


def value(words: np.ndarray) -> int:
    """The two's-complement integer of a field."""
    total = sum((int(w) % (1 << 64)) << (64 * i) for i, w in enumerate(words))
    return total - (1 << (64 * len(words))) if words[-1] < 0 else total


def bits(x: float) -> np.int64:
    return np.array([x]).view(np.int64)[0]


@settings(deadline=None, max_examples=300)
@given(st.lists(st.tuples(wide_ints, diffs, st.integers(0, 130)), min_size=1, max_size=8))
def test_products_are_added_exactly(terms):
    fields = np.zeros((1, 9), np.int64)
    exact = 0
    for number, diff, position in terms:
        low, high = halves(number)
        add_product(fields, 0, 2, 6, position, low, high, np.int64(diff))
        exact += number * diff << position
        assert value(fields[0, 2:8]) == exact
        assert not fields[0, :2].any()
        assert fields[0, 8] == 0
    size, exponent = scaled(fields, 0, 2, 6)
    assert load(size, exponent) == nearest(Fraction(exact))


@settings(deadline=None, max_examples=300)
@given(st.lists(st.tuples(finite, diffs), min_size=1, max_size=8))
def test_doubles_are_added_exactly_and_rounded_once(terms):
    fields = np.zeros((1, 120), np.int64)
    total = squares = Fraction()
    for x, diff in terms:
        add_double(fields, 0, 0, 40, -1074, bits(x), np.int64(diff), False)
        add_double(fields, 0, 40, 80, -2148, bits(x), np.int64(diff), True)
        total += Fraction(x) * diff
        squares += Fraction(x) ** 2 * diff
    size, exponent = scaled(fields, 0, 0, 40)
    assert load(size, exponent - 1074) == nearest(total)
    assert Fraction(value(fields[0, 40:])) / 2**2148 == squares


@settings(deadline=None, max_examples=300)
@given(st.lists(st.one_of(finite, st.floats(-10, 10), st.just(1e8)), min_size=1, max_size=8))
def test_the_spread_is_exact(values):
    fields = np.zeros((1, 120), np.int64)
    for x in values:
        add_double(fields, 0, 0, 40, -1074, bits(x), np.int64(1), False)
        add_double(fields, 0, 40, 80, -2148, bits(x), np.int64(1), True)
    scratch = np.empty((1, 200), np.int64)
    size, exponent = spread(fields, 0, 0, 40, 0, 40, 40, 80, np.int64(len(values)), scratch)
    exact = sum(Fraction(x) ** 2 for x in values) * len(values) - sum(map(Fraction, values)) ** 2
    got = Fraction(size) * Fraction(2) ** (exponent - 2148)
    assert abs(got - exact) * 2**53 <= abs(exact)


@settings(deadline=None, max_examples=300)
@given(st.lists(st.tuples(finite, st.one_of(finite, st.floats(-10, 10), st.just(1e8))), min_size=1, max_size=8))
def test_the_spread_of_pairs_is_exact(pairs):
    fields = np.zeros((1, 160), np.int64)
    for x, y in pairs:
        add_double(fields, 0, 0, 40, -1074, bits(x), np.int64(1), False)
        add_double(fields, 0, 40, 40, -1074, bits(y), np.int64(1), False)
        for diff in (3, -2):
            add_double_product(fields, 0, 80, 80, -2148, bits(x), bits(y), np.int64(diff))
    scratch = np.empty((1, 200), np.int64)
    size, exponent = spread(fields, 0, 0, 40, 40, 40, 80, 80, np.int64(len(pairs)), scratch)
    one, other = (sum(map(Fraction, each)) for each in zip(*pairs, strict=True))
    exact = sum(Fraction(x) * Fraction(y) for x, y in pairs) * len(pairs) - one * other
    got = Fraction(size) * Fraction(2) ** (exponent - 2148)
    assert abs(got - exact) * 2**53 <= abs(exact)


def test_the_ends_of_the_range():
    assert load(2.0**63, 2000) == math.inf
    assert load(-(2.0**63), -3000) == 0.0
    assert load(2.0**63, -63 - 1074) == 5e-324
    assert plain(load(0.0, 5000)) == 0.0
