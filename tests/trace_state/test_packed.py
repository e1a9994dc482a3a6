"""Keys that kernels pack where their columns lie: the words of `KeyLayout.pack`, and an index that finds the same."""

from __future__ import annotations

import numpy as np
import pytest

from ivm.catalog.types import Physical
from ivm.kernels.hashing.packed import pack_complete
from ivm.kernels.memory.places import WORDS
from ivm.trace.columns.column import DTYPES, Column
from ivm.trace.columns.growable import HotColumn
from ivm.trace.index.index import Index
from ivm.trace.index.keys import KeyLayout, are_complete
from tests.trace_state.words import KeysOf, words_by_hand

NOBODY = np.empty(0, np.int64)
KINDS = list(Physical)


def _values(physical, rows, random):
    if physical is Physical.BOOL:
        return random.random(rows) < 0.5
    if physical is Physical.FLOAT64:
        return random.choice([-0.0, 0.0, np.nan, 1.5, -2.25, np.inf], rows)
    shape = (rows, 2) if physical is Physical.WIDE else rows
    return random.integers(-5, 5, shape).astype(DTYPES[physical])


@pytest.mark.parametrize("nulls", ["drop", "match", "find"])
@pytest.mark.parametrize("rows", [0, 1, 700])
def test_words_are_those_that_are_packed_by_hand(nulls, rows):
    random = np.random.default_rng(rows)
    for _ in range(60):
        kinds = [KINDS[i] for i in random.integers(0, len(KINDS), random.integers(1, 6))]
        nullable = [bool(random.random() < 0.5) for _ in kinds]
        columns = [
            Column(_values(kind, rows, random), random.random(rows) < 0.7 if may and random.random() < 0.7 else None)
            for kind, may in zip(kinds, nullable, strict=True)
        ]
        layout = KeyLayout(tuple(zip(kinds, nullable, strict=True)), nulls)
        words, dropped = layout.pack(columns, rows)
        expected, missing = words_by_hand(layout, columns, rows)
        kept = np.ones(rows, np.bool_) if nulls == "match" else ~missing
        np.testing.assert_array_equal(words.reshape(rows, layout.words)[kept], expected[kept])
        if nulls == "match":
            assert dropped is None
        else:
            assert (np.zeros(rows, np.bool_) if dropped is None else dropped).tolist() == missing.tolist()


@pytest.mark.parametrize("rows", [0, 1, 700])
def test_words_of_rows_further_on_are_those_of_the_layout(rows):
    random = np.random.default_rng(rows)
    for _ in range(40):
        kinds = [KINDS[i] for i in random.integers(0, len(KINDS), random.integers(1, 6))]
        columns = [Column(_values(kind, rows + 3, random)) for kind in kinds]
        layout = KeyLayout(tuple((kind, bool(random.random() < 0.5)) for kind in kinds), "match")
        places = np.zeros((len(kinds), WORDS), np.int64)
        hot = [HotColumn(kind, place) for kind, place in zip(kinds, places, strict=True)]
        for each, column in zip(hot, columns, strict=True):
            each.append(column)
        words = np.full((rows, layout.words), 77, np.int64)
        assert pack_complete(layout.form, places, 3, words)
        expected, _ = words_by_hand(layout, [Column(column.values[3:]) for column in columns], rows)
        np.testing.assert_array_equal(words, expected)


def test_what_has_a_null_or_lies_nowhere_is_not_packed():
    layout = KeyLayout(((Physical.INT64, True),), "drop")
    places = np.zeros((1, WORDS), np.int64)
    index, words = Index(1), np.zeros((2, 1), np.int64)
    assert not pack_complete(layout.form, places, 0, words)
    column = HotColumn(Physical.INT64, places[0])
    column.append(Column(np.arange(2), np.array([True, False])))
    keys = (layout.form, places, 0, 2)
    assert not are_complete(keys)
    assert not index.insert_packed(keys, NOBODY)
    assert index.packed(keys) is None
    assert index.rows == 0


@pytest.mark.parametrize("unique", [False, True])
@pytest.mark.parametrize("order", ["ascending", "within", "random"])
def test_an_index_finds_what_it_finds_by_words_given(unique, order):
    random = np.random.default_rng(5)
    lead = np.repeat(np.arange(900), random.integers(1, 8, 900))
    second = np.concatenate([np.arange(n) for n in np.unique(lead, return_counts=True)[1]]).astype(np.int32)
    if order != "ascending":
        shuffled = random.permutation(len(lead))
        if order == "within":
            shuffled = shuffled[np.argsort(lead[shuffled], kind="stable")]
        lead, second = lead[shuffled], second[shuffled]
    kinds = (Physical.INT64, Physical.INT32)[: 2 if unique else 1]
    layout, source = KeyLayout(tuple((kind, False) for kind in kinds), "drop"), np.zeros((len(kinds), WORDS), np.int64)
    hot = [HotColumn(kind, each) for kind, each in zip(kinds, source, strict=True)]
    words = layout.pack([Column(lead), Column(second)][: len(kinds)])[0].reshape(len(lead), -1)
    one, other = (Index(layout.words, unique, KeysOf(lambda rows: words[rows])) for _ in range(2))
    at = 0
    while at < len(lead):
        end = min(at + int(random.choice([1, 3, 40, 500])), len(lead))
        for column, given in zip(hot, [Column(lead), Column(second)], strict=False):
            column.append(Column(given.values[at:end]))
        undone = random.random() < 0.2
        marks = one.mark(), other.mark()
        for _ in range(1 + undone):
            assert one.insert_packed((layout.form, source, at, end - at), NOBODY)
            other.insert(words[at:end], None, NOBODY)
            if undone:
                one.rollback(marks[0])
                other.rollback(marks[1])
                undone = False
        at = end
        asked = words[random.integers(0, len(words), 5)]
        limits, times = np.array([at]), np.array([0])
        for each in (one, other):
            positions, rows = each.probe(asked, None, limits, NOBODY, times)
            expected = [(p, r) for p, key in enumerate(asked) for r in np.flatnonzero((words[:at] == key).all(axis=1))]
            assert sorted(zip(positions.tolist(), rows.tolist(), strict=True)) == expected
        if random.random() < 0.5:
            one.seal(0, NOBODY)
            other.seal(0, NOBODY)
    assert one.rows == other.rows == len(lead)
    assert one.backlog == other.backlog
