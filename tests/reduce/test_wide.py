"""128-bit integers against Python's unbounded ones."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ivm.kernels.numbers import wide_arrays as wa

LIMIT = 1 << 127
EDGES = [0, 1, -1, 2**31, 2**53 + 1, 2**62, 2**63 - 1, -(2**63), 2**63, 2**64 - 1, 2**64, -(2**64), 10**18, 10**37]
EDGES += [10**38, -(10**38), 10**38 - 1, LIMIT - 1, -LIMIT, LIMIT - 2**73, 5 * 10**18, 15 * 10**17, 2**117 + 2**63]
wide_ints = st.one_of(
    st.sampled_from(EDGES), st.integers(-LIMIT, LIMIT - 1), st.integers(-(2**66), 2**66), st.integers(-100, 100)
)
pairs = st.lists(st.tuples(wide_ints, wide_ints), min_size=1, max_size=30)


def pack(values: list[int]) -> np.ndarray:
    out = np.empty((len(values), 2), np.int64)
    for i, v in enumerate(values):
        low = v % (1 << 64)
        out[i] = (low - (1 << 64) if low >> 63 else low, wrap(v) >> 64)
    return out


def wrap(value: int) -> int:
    return (value + LIMIT) % (2 * LIMIT) - LIMIT


def unpack(words: np.ndarray) -> list[int]:
    return [(int(h) << 64) | (int(low) % (1 << 64)) for low, h in words]


def check(result, exact: list[int]) -> None:
    out, over = result
    assert unpack(out) == [wrap(e) for e in exact]
    assert over.tolist() == [not -LIMIT <= e < LIMIT for e in exact]


@settings(deadline=None, max_examples=300)
@given(pairs)
def test_ring_operations(rows):
    a, b = [r[0] for r in rows], [r[1] for r in rows]
    wa_, wb = pack(a), pack(b)
    check(wa.wide_add(wa_, wb), [x + y for x, y in rows])
    check(wa.wide_sub(wa_, wb), [x - y for x, y in rows])
    check(wa.wide_neg(wa_), [-x for x in a])
    assert wa.wide_compare(wa_, wb).tolist() == [(x > y) - (x < y) for x, y in rows]
    out, over = wa.wide_mul(wa_, wb)
    assert over.tolist() == [not -LIMIT <= x * y < LIMIT for x, y in rows]
    assert [v for v, o in zip(unpack(out), over, strict=True) if not o] == [
        x * y for x, y in rows if -LIMIT <= x * y < LIMIT
    ]


@settings(deadline=None, max_examples=200)
@given(pairs)
def test_division_truncates(rows):
    quotient, rest, undefined = wa.wide_divide(pack([r[0] for r in rows]), pack([r[1] for r in rows]))
    for (x, y), q, r, none in zip(rows, unpack(quotient), unpack(rest), undefined, strict=True):
        assert none == (y == 0)
        if y:
            exact = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
            assert (q, r) == (wrap(exact), x - exact * y)


@settings(deadline=None, max_examples=200)
@given(st.lists(wide_ints, min_size=1, max_size=30), st.integers(-38, 38))
def test_powers_of_ten(values, digits):
    out, over = wa.wide_scale(pack(values), digits)
    for v, got, lost in zip(values, unpack(out), over, strict=True):
        exact = Fraction(v) * Fraction(10) ** digits
        rounded = int(abs(exact) + Fraction(1, 2)) * (-1 if v < 0 else 1)
        assert lost == (not -LIMIT <= rounded < LIMIT)
        assert lost or got == rounded
    assert wa.wide_exceeds(pack(values), abs(digits)).tolist() == [abs(v) >= 10 ** abs(digits) for v in values]


@settings(deadline=None, max_examples=200)
@given(st.lists(wide_ints, min_size=1, max_size=30))
def test_conversions(values):
    assert wa.wide_to_float(pack(values)).tolist() == [float(v) for v in values]
    narrow, over = wa.wide_to_int64(pack(values))
    assert over.tolist() == [not -(2**63) <= v < 2**63 for v in values]
    assert unpack(wa.wide_from_int64(narrow)) == narrow.tolist()
    back, lost = wa.wide_from_float(np.array([float(v) for v in values]))
    for v, got, out_of_range in zip(values, unpack(back), lost, strict=True):
        assert out_of_range == (not -LIMIT <= int(float(v)) < LIMIT)
        assert out_of_range or got == int(float(v))


def test_strided_input_and_special_doubles():
    words = np.zeros((6, 2), np.int64)
    words[::2, 0] = [1, 2, 3]
    assert unpack(wa.wide_add(words[::2], words[::2])[0]) == [2, 4, 6]
    _, lost = wa.wide_from_float(np.array([np.nan, np.inf, -np.inf, 1e300, -(2.0**127)]))
    assert lost.tolist() == [True, True, True, True, False]
