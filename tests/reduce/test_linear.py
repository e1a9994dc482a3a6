"""Union, negate and threshold against bags."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from ivm.catalog.types import BIGINT, DOUBLE, VARCHAR
from ivm.operators.multiplicities import Negate, Threshold, Union
from ivm.trace.text.dictionary import TextDictionary
from tests.reduce.model import Bag, apply, from_delta, plain, to_delta
from tests.reduce.test_reduce import by_time, same
from tests.states import rollback, seal, step

TYPES = ((BIGINT, False), (VARCHAR, True), (DOUBLE, True))
ONLY = [t for t, _ in TYPES]

rows = st.tuples(
    st.integers(-1, 1), st.one_of(st.none(), st.sampled_from("ab")), st.one_of(st.none(), st.sampled_from([0.5, -0.0]))
)
streams = st.lists(st.tuples(rows, st.integers(0, 4), st.integers(-3, 3).filter(bool)), min_size=1, max_size=20).map(
    lambda updates: sorted(updates, key=lambda u: u[1])
)


@settings(deadline=None)
@given(streams, streams)
def test_union_and_negate(a, b):
    dictionary = TextDictionary()
    union, negate = Union(), Negate()
    left, right = to_delta(a, TYPES, dictionary), to_delta(b, TYPES, dictionary)
    assert same(from_delta(union.step([left, right]), ONLY, dictionary), a + b)
    assert same(from_delta(union.step([None, right]), ONLY, dictionary), b)
    assert union.step([None, None]) is None
    assert same(from_delta(negate.step([left]), ONLY, dictionary), [(r, t, -d) for r, t, d in a])
    contents = list(union.contents([lambda: iter([left]), lambda: iter([right])], 0))
    assert same([u for d in contents for u in from_delta(d, ONLY, dictionary)], a + b)


def clamped(bag: Bag) -> Bag:
    return Counter({row: m for row, m in bag.items() if m > 0})


@settings(deadline=None, max_examples=200)
@given(streams, st.randoms())
def test_threshold_laws(updates, random):
    dictionary = TextDictionary()
    small, big, shuffled = (Threshold(TYPES, TextDictionary()) for _ in range(3))
    held: Bag = Counter()
    out: Bag = Counter()
    apart = []
    for batch in by_time(updates).values():
        delta = to_delta(batch, TYPES, dictionary)
        step(small, [delta])
        rollback(small)
        changes = from_delta(step(small, [delta]), ONLY, dictionary)
        seal(small)
        held, out = apply(held, batch), apply(out, changes)
        apart += changes
        assert out == clamped(held)
        contents = [u for d in small.contents([], 9) for u in from_delta(d, ONLY, dictionary)]
        assert apply(Counter(), contents) == out
    assert same(from_delta(step(big, [to_delta(updates, TYPES, dictionary)]), ONLY, dictionary), apart)
    seal(big)
    mixed = list(updates)
    random.shuffle(mixed)
    assert same(from_delta(step(shuffled, [to_delta(mixed, TYPES, dictionary)]), ONLY, dictionary), apart)
    back = [(row, 9, -m) for row, m in held.items()]
    if back:
        step(big, [to_delta(back, TYPES, dictionary)])
        seal(big)
    assert big.size().rows == 0
    assert plain(-0.0) == 0.0


def test_rows_that_threshold_does_not_show_are_a_chunk_without_rows():
    dictionary = TextDictionary()
    threshold = Threshold(TYPES, dictionary)
    assert step(threshold, [to_delta([((1, "a", 0.5), 1, -1)], TYPES, dictionary)]) is None
    seal(threshold)
    assert [len(chunk) for chunk in threshold.contents([], 1)] == [0]
