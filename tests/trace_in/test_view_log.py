from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ivm.catalog import types
from ivm.catalog.types import SqlType
from ivm.trace import view_log as module
from ivm.trace.columns.column import Column
from ivm.trace.consolidate import EqualRows
from ivm.trace.delta import delta_of
from ivm.trace.distinct_rows import DistinctRows
from ivm.trace.state import StateSize
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.view_log import ViewLog
from tests.trace_in.updates import SMALL, Row, drawn_delta, rows_of

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


def contents(log: ViewLog, as_of: int | None) -> dict[Row, int]:
    columns, diffs = log.rows(as_of)
    rows = rows_of(columns, len(diffs))
    assert len(set(rows)) == len(rows)
    return dict(zip(rows, diffs.tolist(), strict=True))


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
def test_a_log_shows_every_time_that_it_keeps(drawn, spare):
    sql_types, history, batches = drawn
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_SPARE_ROWS", 3 if spare else 1 << 16)
        log, twin, since = ViewLog(sql_types, TextDictionary()), LogModel(), 0
        for number, (batch, fails, reads) in enumerate(batches, 1):
            now = 2 * number
            mark = log.mark()
            if batch:
                rows, times, diffs = (list(part) for part in zip(*batch, strict=True))
                log.append(drawn_delta(sql_types, rows, times, diffs))
            if fails:
                log.rollback(mark)
            else:
                twin.log += batch
                since = max(now - history, since)
                log.seal(now + 1, since)
            if reads:
                assert contents(log, None) == twin.rows(now)
                for time in range(since, now + 1):
                    assert contents(log, time) == twin.rows(time)
        assert contents(log, None) == twin.rows(2 * len(batches))


def one_column(*updates: Update, since: int = 0) -> ViewLog:
    """A log of rows of one number, sealed, with history from `since` on."""
    log = ViewLog([types.BIGINT], TextDictionary())
    for row, time, diff in updates:
        log.append(drawn_delta([types.BIGINT], [row], time, [diff]))
    log.seal(max((time for _, time, _ in updates), default=0) + 1, since)
    return log


def test_what_is_read_again_is_not_made_again():
    log = one_column(((1,), 1, 1), ((2,), 2, 1))
    assert log.rows(1)[0] is log.rows(1)[0]
    first = log.rows(None)[0]
    assert log.rows(2)[0] is first
    log.append(drawn_delta([types.BIGINT], [(3,)], 3, None))
    assert log.rows(None)[0] is first
    log.seal(4, 0)
    assert contents(log, None) == {(1,): 1, (2,): 1, (3,): 1}
    assert first[0].values.tolist() == [1, 2]


def test_a_reader_keeps_its_rows_when_the_log_is_compacted():
    log = one_column(((1,), 1, 1), since=1)
    columns, diffs = log.rows(None)
    log.append(drawn_delta([types.BIGINT], [(1,), (2,)], 2, [-1, 1]))
    log.seal(3, 2)
    assert contents(log, None) == {(2,): 1}
    assert (columns[0].values.tolist(), diffs.tolist()) == ([1], [1])


def test_who_has_what_was_sealed_reads_it_while_others_append_and_take_back(monkeypatch):
    monkeypatch.setattr(module, "_SPARE_ROWS", 3)
    log = one_column(((1,), 1, 1))
    held = []
    for time in range(2, 60):
        mark = log.mark()
        for value in (time, -time, None):
            log.append(drawn_delta([types.BIGINT], [(value,), (1,)], time, [1, 1]))
        held.append((time, log.sealed))
        log.rollback(mark)
        log.append(drawn_delta([types.BIGINT], [(time,), (1,)], time, [1, 1]))
        log.append(drawn_delta([types.BIGINT], [(time,)], time, [-1] if time % 3 else [1]))
        log.seal(time + 1, time)
    for time, sealed in held:
        columns, diffs = sealed.rows(None)
        found = dict(zip(rows_of(columns, len(diffs)), diffs.tolist(), strict=True))
        assert found == {(1,): time - 1} | {(each,): 2 for each in range(3, time, 3)}


def test_what_reading_has_merged_becomes_the_log():
    log = one_column(((1,), 1, 1), ((1,), 1, 1), ((2,), 1, 1), since=1)
    assert contents(log, None) == {(1,): 2, (2,): 1}
    log.append(drawn_delta([types.BIGINT], [(2,)], 2, [-1]))
    assert len(log) == 4
    log.seal(3, 2)
    assert len(log) == 3
    assert contents(log, None) == {(1,): 2}


def test_a_rollback_does_not_take_back_what_is_final():
    log = ViewLog([types.BIGINT], TextDictionary())
    mark = log.mark()
    log.append(drawn_delta([types.BIGINT], [(1,)], 1, None))
    log.seal(2, 1)
    log.rollback(mark)
    assert contents(log, None) == {(1,): 1}


def test_churn_does_not_grow_the_log():
    log = ViewLog([types.BIGINT], TextDictionary())
    values = [(i,) for i in range(1000)]
    sizes = []
    for time in range(1, 300):
        log.append(drawn_delta([types.BIGINT], values, time, None))
        log.append(drawn_delta([types.BIGINT], values, time, [-1] * 1000))
        log.seal(time + 1, time)
        sizes.append(log.size())
    assert max(size.rows for size in sizes) <= (1 << 16) + 20_000
    assert contents(log, None) == {}
    log.append(drawn_delta([types.BIGINT], values, 300, None))
    log.seal(301, 300)
    assert len(log) == 1000


def test_no_seal_merges_all_of_a_long_log(monkeypatch):
    """Every seal looks at as many rows as its commit is worth."""
    log, looked_at = one_column(((0,), 1, 1)), list[int]()
    add = EqualRows.add

    def counted(merge: EqualRows, rows: int) -> None:
        looked_at.append(rows)
        add(merge, rows)

    monkeypatch.setattr(EqualRows, "add", counted)
    for time in range(2, 300):
        log.append(drawn_delta([types.BIGINT], [(i,) for i in range(1000)], time, [1 if time % 2 else -1] * 1000))
        log.seal(time + 1, time)
    assert 0 < max(looked_at) < 20_000
    assert len(log) < 90_000


def changed(log: ViewLog, times: range, held: int | None = None, history: int = 0) -> list[int]:
    """A row goes and another comes at each time, of three in all; how long the log is each time. It keeps what is since
    the time `held`, or so many times as `history`.
    """
    sizes = []
    for time in times:
        log.append(drawn_delta([types.BIGINT], [(time % 3,), ((time + 1) % 3,)], time, [-1, 1]))
        log.seal(time + 1, max(time - history, 1) if held is None else held)
        sizes.append(len(log))
    return sizes


def test_what_was_held_and_is_let_go_is_merged_soon(monkeypatch):
    monkeypatch.setattr(module, "_SPARE_ROWS", 8)
    log = one_column(((1,), 1, 1), since=1)
    for begin in (4, 1004):  # held for long, let go, and once more
        held = changed(log, range(begin, begin + 900), begin)
        assert held[-1] >= 1800
        assert contents(log, begin + 100) == {((begin + 101) % 3,): 1}
        after = changed(log, range(begin + 900, begin + 1000))
        assert after[-1] < 100
        assert contents(log, None) == {((begin + 1000) % 3,): 1}


def test_history_that_moves_on_is_kept_once_or_twice_and_merged_seldom(monkeypatch):
    merged, add = list[int](), EqualRows.add

    def counted(merge: EqualRows, rows: int) -> None:
        merged.append(rows)
        add(merge, rows)

    monkeypatch.setattr(module, "_SPARE_ROWS", 8)
    monkeypatch.setattr(EqualRows, "add", counted)
    log = one_column(((1,), 1, 1), since=1)
    sizes = changed(log, range(4, 4000), history=200)
    assert max(sizes) < 1200
    assert sum(merged) < 8 * 2 * len(sizes)
    assert contents(log, 3850) == {(3851 % 3,): 1}


def grown(values: Sequence[int], monkeypatch: pytest.MonkeyPatch) -> tuple[ViewLog, list[int]]:
    """A log of these, four to a commit, of which none is taken back; of how many rows it was counted whether they differ."""
    counted = list[int]()

    class Counted(DistinctRows):
        def __init__(self, columns: Sequence[Column], types: Sequence[SqlType], length: int) -> None:
            counted.append(length)
            super().__init__(columns, types, length)

    monkeypatch.setattr(module, "_SPARE_ROWS", 8)
    monkeypatch.setattr(module, "DistinctRows", Counted)
    log = ViewLog([types.BIGINT], TextDictionary())
    for time, begin in enumerate(range(0, len(values), 4), 1):
        log.append(drawn_delta([types.BIGINT], [(value,) for value in values[begin : begin + 4]], time, None))
        log.seal(time + 1, time)
    return log, counted


def test_equal_rows_of_a_log_that_only_grows_are_merged(monkeypatch):
    log, _ = grown([number % 5 for number in range(2000)], monkeypatch)
    assert len(log) < 400
    assert contents(log, None) == {(value,): 400 for value in range(5)}


def test_distinct_rows_of_a_log_that_only_grows_are_counted_seldom_and_stay(monkeypatch):
    log, counted = grown(range(2000), monkeypatch)
    assert len(log) == 2000
    assert 0 < sum(counted) <= 2000, "each once, at most"
    assert len(contents(log, None)) == 2000


def test_retracting_what_is_not_there_is_an_internal_error():
    with pytest.raises(AssertionError, match="does not hold"):
        one_column(((1,), 1, -1)).rows(None)


def test_history_that_is_gone():
    log = one_column(((1,), 1, 1), ((2,), 5, 1), since=3)
    with pytest.raises(AssertionError, match="history begins at 3"):
        log.rows(2)


def test_size_counts_updates_and_what_a_reader_got():
    log = one_column(((1,), 1, 1), ((2,), 2, 1))
    assert log.size() == StateSize(2, bytes=2 * 24)
    log.rows(1)
    assert log.size() == StateSize(2, bytes=2 * 24 + 16)


def test_an_empty_log():
    log = ViewLog([types.BIGINT, types.VARCHAR], TextDictionary())
    log.seal(5, 5)
    columns, diffs = log.rows(None)
    assert [len(c) for c in columns] == [0, 0]
    assert diffs.dtype == np.int64


def test_who_reads_a_large_log_keeps_what_was_read_while_later_ones_get_memory_of_earlier_ones():
    types_, rows = [types.BIGINT], 60_000
    log, read = ViewLog(types_, TextDictionary()), []
    for number in range(1, 13):
        mark = log.mark()
        values = np.arange(rows) + number
        for sign, each in ((-1, values - 1), (1, values)):
            if sign > 0 or number > 1:
                log.append(delta_of([Column(each, None)], number, np.full(rows, sign)))
        if number % 5 == 0:  # it fails, and is made again
            log.rollback(mark)
            log.append(delta_of([Column(values - 1, None)], number, np.full(rows, -1)))
            log.append(delta_of([Column(values, None)], number, np.full(rows, 1)))
        log.seal(number + 1, number)
        if number % 3:
            columns, diffs = log.rows(None)
            read.append((number, columns[0].values, diffs))
    assert len(log) < 8 * rows, "the log was merged"
    for number, found, diffs in read:
        assert (diffs == 1).all()
        assert np.array_equal(np.sort(found), np.arange(rows) + number)
