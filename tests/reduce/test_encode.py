"""The words of rows in order, made by a kernel of columns where they lie, are those that numpy makes of them; and back."""

import numpy as np
import pytest

from ivm.catalog.types import BIGINT, BOOLEAN, DOUBLE, INTEGER, VARCHAR, Physical, decimal
from ivm.trace.columns.column import DTYPES, Column
from ivm.trace.ordered.row_order import RowOrder, Term, ordered_words

TYPES = (BIGINT, INTEGER, DOUBLE, BOOLEAN, VARCHAR, decimal(38, 2))


def values(random, type_, count: int):
    if type_.physical is Physical.BOOL:
        return random.integers(0, 2, count).astype(np.bool_)
    if type_.physical is Physical.FLOAT64:
        return random.choice([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.5, -2.25], count)
    shape = (count, 2) if type_.physical is Physical.WIDE else count
    return random.integers(-(2**31), 2**31, shape).astype(DTYPES[type_.physical])


@pytest.mark.parametrize("count", [0, 1, 1000])
@pytest.mark.parametrize("stride", [1, 3])
def test_words_are_those_of_numpy(count: int, stride: int):
    random = np.random.default_rng(count + stride)
    terms: list[Term] = []
    columns: list[Column] = []
    for type_ in TYPES:
        for nullable in (False, True):
            for flags in range(4):
                terms.append(Term(len(columns), type_, nullable, bool(flags & 1), bool(flags & 2)))
                valid = (random.random(count * stride) < 0.7)[::stride] if nullable and flags else None
                columns.append(Column(values(random, type_, count * stride)[::stride], valid))
    order = RowOrder(tuple(terms))
    got = order.encode(columns, count, ahead=2)
    at = 2
    for term, column in zip(terms, columns, strict=True):
        words = ordered_words(column.values, term.physical)
        words = ~words if term.is_flipped else words.copy()
        if term.nullable:
            there = np.ones(count, np.bool_) if column.valid is None else column.valid
            words[~there] = 0
            assert np.array_equal(got[:, at], np.where(there, term.nulls_first, not term.nulls_first))
            at += 1
        assert np.array_equal(got[:, at : at + words.shape[1]], words), term
        at += words.shape[1]
    assert at == got.shape[1]
    for found, given, term in zip(order.decode(got[:, 2:]), columns, terms, strict=True):
        there = np.ones(count, np.bool_) if given.valid is None else given.valid
        assert (found.valid is None) == bool(there.all())
        assert found.valid is None or np.array_equal(found.valid, there)
        assert found.values.dtype == given.values.dtype
        assert np.array_equal(found.values[there], given.values[there], equal_nan=term.physical is Physical.FLOAT64)
        assert not found.values[~there].any()
