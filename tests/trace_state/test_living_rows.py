"""The index of living rows against a stack for each row."""

from __future__ import annotations

import time
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ivm.catalog.types import BIGINT, VARCHAR
from ivm.kernels.hashing.function import WORDS, digest_rows
from ivm.trace.columns.column import Column
from ivm.trace.delta import Columns
from ivm.trace.rows.changes import Applied
from ivm.trace.rows.living_rows import LivingRows
from ivm.trace.rows.row_store import RowStore
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.time import stamps

NARROW, WIDE = (BIGINT,), (BIGINT,) * 3 + (VARCHAR,)


class Model:
    """A store of rows that are all equal to a number, and what lives of it by that number, newest last."""

    def __init__(self, types):
        self.store = RowStore(types, TextDictionary(), cold=False)
        self.rows = LivingRows(self.store)
        self.alive = defaultdict(list)
        self.numbers = []

    def columns(self, numbers):
        values = np.array(numbers, np.int64)
        return [Column(values) for _ in self.store.types]

    def apply(self, changes):
        """(number, insert) in turn; whether all were possible. Undone if not."""
        numbers, inserts = [n for n, _ in changes], np.array([i for _, i in changes], np.bool_)
        first = self.store.rows
        died = self.store.mortal(first + len(changes))
        words = self.rows.words(self.columns(numbers), len(numbers))
        mark, place = self.store.mark(), self.rows.index.mark()
        applied = self.store.expect(Applied(len(changes)))
        self.rows.index.apply(words, inserts, stamps(1), died, applied)
        if len(applied.failed):
            self.rows.index.rollback(place)
            self.store.rollback(mark)
            return False
        born = [n for n, insert in changes if insert]
        self.store.append(Columns(self.columns(born)), len(born), 1)
        expected = []
        for number, insert in changes:
            if insert:
                self.alive[number].append(len(self.numbers))
                self.numbers.append(number)
            else:
                expected.append(self.alive[number].pop())
        assert applied.killed.tolist() == expected
        return True

    def possible(self, changes):
        left = {number: len(rows) for number, rows in self.alive.items()}
        for number, insert in changes:
            left[number] = left.get(number, 0) + (1 if insert else -1)
            if left[number] < 0:
                return False
        return True


CHANGES = st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=12)


@pytest.mark.parametrize("types", [NARROW, WIDE])
@given(commits=st.lists(st.tuples(st.lists(CHANGES, min_size=1, max_size=3), st.booleans()), max_size=8))
def test_the_newest_of_equal_rows_goes_first_and_comes_back(types, commits):
    model = Model(types)
    for steps, final in commits:
        mark, place, rows = model.store.mark(), model.rows.index.mark(), model.store.rows
        before = {number: list(stack) for number, stack in model.alive.items()}
        for changes in steps:
            possible = model.possible(changes)
            assert model.apply(changes) == possible
        if final:
            model.rows.seal(1)
            model.store.seal(2, 1)
        else:
            model.rows.index.rollback(place)
            model.store.rollback(mark)
            model.alive = defaultdict(list, before)
            del model.numbers[rows:]
    rest = [(number, False) for number, stack in model.alive.items() for _ in stack]
    assert not rest or model.apply(rest)


@given(rows=st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=3, max_size=3), min_size=1, max_size=5))
def test_a_digest_is_the_upper_half_of_a_sum_of_products(rows):
    rng = np.random.default_rng(7)
    factors = rng.integers(0, 2**64, (4, WORDS, 2), np.uint64, endpoint=False)
    digests = np.empty((len(rows), WORDS), np.int64)
    digest_rows(np.array(rows, np.int64), factors, digests)
    for row, digest in zip(rows, digests.tolist(), strict=True):
        for d in range(WORDS):
            random = [int(low) + (int(high) << 64) for low, high in factors[:, d].tolist()]
            total = sum(f * (word % 2**64) for f, word in zip(random, row, strict=False)) + random[3]
            assert total % 2**128 >> 64 == digest[d] % 2**64


def test_taking_out_equal_rows_is_linear():
    def cost(count):
        model = Model(WIDE)
        assert model.apply([(7, True)] * count)
        began = time.process_time()
        assert model.apply([(7, False)] * count)
        return time.process_time() - began

    cost(100)
    assert cost(64_000) < 8 * max(cost(16_000), 0.01), "four times the rows take about four times as long"
