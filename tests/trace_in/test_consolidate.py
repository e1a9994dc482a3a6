from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ivm.catalog import types
from ivm.catalog.types import Physical
from ivm.trace.columns.column import Column
from ivm.trace.consolidate import consolidate
from ivm.trace.delta import Columns, Delta, Group, delta_of, plain_layout
from tests.trace_in.columns import column_of
from tests.trace_in.updates import Row, drawn_delta, model, updates


@given(updates(), st.booleans(), st.booleans())
def test_consolidation_adds_up_and_drops_zeros(drawn, one_time, all_inserted):
    sql_types, rows, times, diffs = drawn
    if one_time:
        times = [7] * len(rows)
    if all_inserted:
        diffs = [1] * len(rows)
    delta = drawn_delta(sql_types, rows, 7 if one_time else times, None if all_inserted else diffs)
    expected: Counter[tuple[Row, int]] = Counter()
    for row, time, diff in zip(rows, times, diffs, strict=True):
        expected[row, time] += diff
    net = consolidate(delta, sql_types)
    found = [] if net is None else model(net)
    assert dict(found) == {key: diff for key, diff in expected.items() if diff}
    assert len(found) == len(dict(found))


def test_nothing_left_is_none():
    columns = [column_of(Physical.INT64, [1, 2, 1, 2])]
    assert consolidate(delta_of(columns, 3, np.array([1, 1, -1, -1])), [types.BIGINT]) is None
    assert consolidate(delta_of(columns[:0], 3, np.array([1, -1]), 2), []) is None
    assert consolidate(delta_of(columns, 3, np.zeros(4, np.int64)), [types.BIGINT]) is None


def test_rows_without_columns_are_all_equal():
    net = consolidate(delta_of([], 3, None, 5), [])
    assert net is not None
    assert model(net) == [(((), 3), 5)]


def test_columns_are_gathered_from_where_they_are():
    source = Columns([column_of(Physical.INT64, [10, 20, 30])])
    delta = Delta([Group(source, np.array([2, 0, 2, 1]))], plain_layout(1), 4, 1, np.array([1, 1, 1, -1]))
    net = consolidate(delta, [types.BIGINT])
    assert net is not None
    assert model(net) == [(((30,), 1), 2), (((10,), 1), 1), (((20,), 1), -1)]


def test_many_rows():
    values = np.random.default_rng(0).integers(0, 1000, 20_000)
    diffs = np.random.default_rng(1).integers(-2, 3, 20_000)
    net = consolidate(delta_of([Column(values)], 1, diffs), [types.BIGINT])
    assert net is not None
    sums = np.zeros(1000, np.int64)
    np.add.at(sums, values, diffs)
    assert {row[0]: diff for (row, _), diff in model(net)} == {i: s for i, s in enumerate(sums.tolist()) if s}
