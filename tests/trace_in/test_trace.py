from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog import types
from catalog.types import SqlType
from ivm.trace import trace as module
from ivm.trace.size import StateSize
from ivm.trace.trace import Trace
from tests.trace_in.updates import SMALL, Row, drawn_delta, model, rows_of

Update = tuple[Row, int, int]


class LogModel:
    """The slow obvious twin: every update in a list."""

    def __init__(self) -> None:
        self.log: list[Update] = []

    def rows(self, as_of: int) -> dict[Row, int]:
        counts: Counter[Row] = Counter()
        for row, time, diff in self.log:
            counts[row] += diff if time <= as_of else 0
        return {row: count for row, count in counts.items() if count}

    def changes(self, after: int, upto: int) -> dict[tuple[Row, int], int]:
        counts: Counter[tuple[Row, int]] = Counter()
        for row, time, diff in self.log:
            counts[row, time] += diff if after < time <= upto else 0
        return {key: count for key, count in counts.items() if count}


def contents(trace: Trace, as_of: int | None) -> dict[Row, int]:
    columns, diffs = trace.rows(as_of)
    rows = rows_of(columns, len(diffs))
    assert len(set(rows)) == len(rows)
    return dict(zip(rows, diffs.tolist(), strict=True))


def net_changes(trace: Trace, after: int, upto: int) -> dict[tuple[Row, int], int]:
    counts: Counter[tuple[Row, int]] = Counter()
    for key, diff in model(trace.changes(after, upto)):
        counts[key] += diff
    return {key: count for key, count in counts.items() if count}


@st.composite
def commits(draw: st.DrawFn) -> tuple[list[SqlType], int, list[tuple[list[Update], bool, bool]]]:
    """Types, how much history is kept, and commits: valid updates of two times each, whether it fails, whether one reads."""
    sql_types = draw(st.lists(st.sampled_from(list(SMALL)), max_size=3))
    pool = draw(st.lists(st.tuples(*(SMALL[t] for t in sql_types)), min_size=1, max_size=5))
    held: Counter[Row] = Counter()
    done = []
    for number in range(draw(st.integers(1, 8))):
        fails, reads = draw(st.booleans()), draw(st.booleans())
        before, batch = held.copy(), []
        for time in (2 * number + 1, 2 * number + 2):
            for row in draw(st.lists(st.sampled_from(pool), max_size=6)):
                diff = draw(st.sampled_from([-1, 1, 2] if held[row] else [1, 2]))
                held[row] += diff
                batch.append((row, time, diff))
        if fails:
            held = before
        done.append((draw(st.permutations(batch)), fails, reads))
    return sql_types, draw(st.integers(0, 5)), done


@given(commits(), st.booleans())
def test_a_trace_shows_every_time_that_it_keeps(drawn, spare):
    sql_types, history, batches = drawn
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_SPARE_ROWS", 3 if spare else 1 << 16)
        trace, twin, since = Trace(sql_types), LogModel(), 0
        for number, (batch, fails, reads) in enumerate(batches, 1):
            now = 2 * number
            mark = trace.mark()
            if batch:
                rows, times, diffs = (list(part) for part in zip(*batch, strict=True))
                trace.append(drawn_delta(sql_types, rows, times, diffs))
            if fails:
                trace.rollback(mark)
            else:
                twin.log += batch
                since = max(now - history, since)
                trace.seal(since, since)
            if reads:
                assert contents(trace, None) == twin.rows(now)
                for time in range(since, now + 1):
                    assert contents(trace, time) == twin.rows(time)
                    assert net_changes(trace, time, now) == twin.changes(time, now)
        assert contents(trace, None) == twin.rows(2 * len(batches))


def one_column(*updates: Update) -> Trace:
    trace = Trace([types.BIGINT])
    for row, time, diff in updates:
        trace.append(drawn_delta([types.BIGINT], [row], time, [diff]))
    return trace


def test_what_is_read_again_is_not_made_again():
    trace = one_column(((1,), 1, 1), ((2,), 2, 1))
    assert trace.rows(1)[0] is trace.rows(1)[0]
    first = trace.rows(None)[0]
    assert trace.rows(2)[0] is first
    trace.append(drawn_delta([types.BIGINT], [(3,)], 3, None))
    assert contents(trace, None) == {(1,): 1, (2,): 1, (3,): 1}
    assert first[0].values.tolist() == [1, 2]


def test_a_reader_keeps_its_rows_when_the_log_is_compacted():
    trace = one_column(((1,), 1, 1))
    trace.seal(1, 1)
    columns, diffs = trace.rows(None)
    trace.append(drawn_delta([types.BIGINT], [(1,), (2,)], 2, [-1, 1]))
    trace.seal(2, 2)
    assert contents(trace, None) == {(2,): 1}
    assert (columns[0].values.tolist(), diffs.tolist()) == ([1], [1])


def test_a_rollback_does_not_take_back_what_is_final():
    trace = Trace([types.BIGINT])
    mark = trace.mark()
    trace.append(drawn_delta([types.BIGINT], [(1,)], 1, None))
    trace.seal(1, 1)
    trace.rollback(mark)
    assert contents(trace, None) == {(1,): 1}


def test_churn_does_not_grow_the_log():
    trace = Trace([types.BIGINT])
    values = [(i,) for i in range(1000)]
    sizes = []
    for time in range(1, 200):
        trace.append(drawn_delta([types.BIGINT], values, time, None))
        trace.append(drawn_delta([types.BIGINT], values, time, [-1] * 1000))
        trace.seal(time, time)
        sizes.append(trace.size())
    assert max(size.rows for size in sizes) <= (1 << 16) + 2000
    assert max(size.bytes for size in sizes) <= 24 * ((1 << 16) + 2000)
    assert contents(trace, None) == {}
    assert trace.size() == StateSize()


def test_retracting_what_is_not_there_is_an_internal_error():
    with pytest.raises(AssertionError, match="does not hold"):
        one_column(((1,), 1, -1)).rows(None)


def test_history_that_is_gone():
    trace = one_column(((1,), 1, 1), ((2,), 5, 1))
    trace.seal(3, 3)
    with pytest.raises(AssertionError, match="history begins at 3"):
        trace.rows(2)
    with pytest.raises(AssertionError, match="history begins at 3"):
        trace.changes(2, 5)


def test_size_counts_updates_and_what_a_reader_got():
    trace = one_column(((1,), 1, 1), ((2,), 2, 1))
    assert trace.size() == StateSize(2, bytes=2 * 24)
    trace.rows(1)
    assert trace.size() == StateSize(2, bytes=2 * 24 + 16)


def test_an_empty_trace():
    trace = Trace([types.BIGINT, types.VARCHAR])
    trace.seal(5, 5)
    columns, diffs = trace.rows(None)
    assert [len(c) for c in columns] == [0, 0]
    assert diffs.dtype == np.int64
    assert len(trace.changes(5, 9)) == 0
