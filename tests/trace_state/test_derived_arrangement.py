"""A derived arrangement against a Counter for each time."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ivm.catalog.types import BIGINT, INTEGER, Physical
from ivm.trace.columns.column import Column
from ivm.trace.delta import delta_of
from ivm.trace.index.arrangement import Arrangement
from ivm.trace.index.keys import KeyLayout
from ivm.trace.rows import retraction, rows
from ivm.trace.rows.rows import DerivedRows
from ivm.trace.text.dictionary import TextDictionary
from tests.trace_state.run_invariant import chains_of

Row = tuple[int | None, int]
Update = tuple[Row, int, int]

LAYOUT = KeyLayout(((Physical.INT64, True),), nulls="drop")


def derived():
    return DerivedRows([BIGINT, INTEGER], TextDictionary(), lambda store: Arrangement(store, (0,), LAYOUT))


def delta_from(updates, one_time=None):
    keys = np.array([0 if row[0] is None else row[0] for row, _, _ in updates], np.int64)
    valid = np.array([row[0] is not None for row, _, _ in updates], np.bool_)
    values = np.array([row[1] for row, _, _ in updates], np.int32)
    times = np.array([time for _, time, _ in updates], np.int64)
    diffs = np.array([diff for _, _, diff in updates], np.int64)
    columns = [Column(keys, None if valid.all() else valid), Column(values)]
    return delta_of(columns, one_time if one_time is not None else times, diffs)


def found(arrangement, key, time, inclusive):
    words, dropped = LAYOUT.pack([Column(np.array([key], np.int64))])
    _, rows = arrangement.arranged.probe(words, dropped, np.array([time], np.int64), inclusive)
    return Counter(arrangement.store.columns.column(1).values[rows].tolist())


def present(history, key, time):
    """Multiplicities of the values of `key` as of `time`, by the updates."""
    total: Counter[int] = Counter()
    for row, moment, diff in history:
        if row[0] == key and moment <= time:
            total[row[1]] += diff
    return +total


ROW = st.tuples(st.one_of(st.none(), st.integers(0, 3)), st.integers(0, 2))
STEP = st.tuples(
    st.lists(st.tuples(ROW, st.integers(0, 3), st.sampled_from([-2, -1, 1, 1, 2])), min_size=1, max_size=12),
    st.booleans(),
    st.booleans(),
)


def valid_prefix(history, updates):
    """The updates without those retractions that would take a row below zero at some time."""
    kept = []
    totals: Counter[Row] = Counter()
    for row, _, diff in history:
        totals[row] += diff
    for time in sorted({t for _, t, _ in updates}):
        at_time = [u for u in updates if u[1] == time]
        for update in [u for u in at_time if u[2] > 0]:
            kept.append(update)
            totals[update[0]] += update[2]
        for row, moment, diff in [u for u in at_time if u[2] < 0]:
            if totals[row] >= -diff:
                kept.append((row, moment, diff))
                totals[row] += diff
    return kept


@pytest.fixture(scope="class", params=["indexed", "by key"])
def _retracting(request):
    """Rows to retract are found by their values, or, of a few rows too, by their keys until they are indexed."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "by key":
            patch.setattr(retraction, "_FOR_EACH", 0)
            patch.setattr(retraction, "_PART", 0)
            patch.setattr(rows, "_AT_LEAST", 2)
            patch.setattr(rows, "_FOR_EACH", 0)
            patch.setattr(rows, "_LEFT", 0)
        yield


@pytest.mark.usefixtures("_retracting")
class TestProbes:
    @given(steps=st.lists(STEP, max_size=10), data=st.data())
    def test_see_the_collection_as_of_their_time(self, steps, data):
        arrangement = derived()
        history: list[Update] = []
        start = 0
        for drawn, keep, shuffle in steps:
            start += 10
            possible = valid_prefix(history, [(row, start + t, diff) for row, t, diff in drawn])
            updates = data.draw(st.permutations(possible)) if shuffle else possible
            mark = arrangement.mark()
            arrangement.apply(delta_from(updates))
            after = history + list(updates)
            for key in range(4):
                for time in range(start - 1, start + 4):
                    assert found(arrangement, key, time, True) == present(after, key, time)
                    assert found(arrangement, key, time, False) == present(after, key, time - 1)
            if keep:
                history = after
                arrangement.seal(start + 4, start - 2)
            else:
                arrangement.rollback(mark)
            for key in range(4):
                assert found(arrangement, key, start + 9, True) == present(history, key, start + 9)
        assert arrangement.size().rows == sum(sum(present(history, k, start + 9).values()) for k in [None, *range(4)])


def test_retracting_an_absent_row_is_an_internal_error_and_can_be_undone():
    arrangement = derived()
    arrangement.apply(delta_from([((1, 1), 1, 1)]))
    arrangement.seal(2, 1)
    mark = arrangement.mark()
    with pytest.raises(AssertionError, match="derived collection has no row"):
        arrangement.apply(delta_from([((1, 2), 2, -1), ((5, 5), 2, 1), ((1, 1), 2, -1)]))
    arrangement.rollback(mark)
    assert found(arrangement, 1, 9, True) == {1: 1}
    assert found(arrangement, 5, 9, True) == {}


def test_the_first_row_to_go_does_not_wait_for_an_index_of_all():
    arrangement = derived()
    n = 100_000
    keys = np.arange(n, dtype=np.int64)
    arrangement.apply(delta_of([Column(keys // 4), Column((keys % 2).astype(np.int32))], 1, None))
    arrangement.seal(2, 1)
    indexed = 0
    for time in range(2, 300):
        arrangement.apply(delta_from([((time, time % 2), time, -1), ((time, 2), time, 1)]))
        assert found(arrangement, time, time, True) == {time % 2: 1, 1 - time % 2: 2, 2: 1}
        arrangement.seal(time + 1, time)
        before, indexed = indexed, arrangement._living.index.rows
        assert before < indexed <= before + 2200 or indexed == arrangement.store.rows
    assert indexed == arrangement.store.rows
    assert arrangement.size().rows == n


def test_many_rows_of_one_key_are_indexed_before_one_is_looked_for():
    arrangement = derived()
    n = 100_000
    arrangement.apply(delta_of([Column(np.zeros(n, np.int64)), Column(np.arange(n, dtype=np.int32))], 1, None))
    arrangement.seal(2, 1)
    arrangement.apply(delta_from([((0, n // 2), 2, -1)]))
    assert arrangement._living.index.rows == n
    assert arrangement.size().rows == n - 1


def test_a_row_replaced_over_and_over_is_found_at_once():
    arrangement = derived()
    arrangement.apply(delta_from([((7, 0), 1, 1)]))
    arrangement.seal(2, 1)
    for time in range(2, 3000):
        arrangement.apply(
            delta_from(
                [
                    ((7, 0 if time == 2 else (time - 1) % 5), time, -1),
                    ((7, time % 5), time, 1),
                ]
            )
        )
        arrangement.seal(time + 1, time)
    assert found(arrangement, 7, 3000, True) == {2999 % 5: 1}
    ((_, chain),) = chains_of(arrangement.arranged.index).items()
    assert len(chain) <= 3


def test_compaction_keeps_what_lives():
    arrangement = derived()
    n = 240_000
    keys = np.arange(n, dtype=np.int64)
    values = (keys % 11).astype(np.int32)
    arrangement.apply(delta_of([Column(keys), Column(values)], 1, None))
    arrangement.seal(2, 1)
    gone = np.flatnonzero(keys % 3 != 0)
    arrangement.apply(delta_of([Column(keys[gone]), Column(values[gone])], 2, np.full(len(gone), -1, np.int64)))
    arrangement.seal(3, 2)
    mark = arrangement.mark()
    arrangement.apply(delta_of([Column(keys[:1]), Column(values[:1])], 3, np.array([-1])))
    assert arrangement.store.rows == n // 3
    arrangement.rollback(mark)
    positions, rows = arrangement.arranged.probe(keys, None, 3, True)
    assert positions.tolist() == list(range(0, n, 3))
    assert arrangement.store.columns.column(0).values[rows].tolist() == positions.tolist()
