"""What an index of a log finds is what a look at all finds, through any history of the log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from time import monotonic

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ivm.catalog import types
from ivm.catalog.types import SqlType
from ivm.trace import log_index, view_log
from ivm.trace.columns.column import Column, Ints
from ivm.trace.consolidate import merge_equal
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.view_log import Sealed, ViewLog
from tests.trace_in.columns import column_of
from tests.trace_in.test_view_log import LogModel, commits
from tests.trace_in.updates import Row, drawn_delta, rows_of


def found(log: ViewLog, sealed: Sealed, columns: tuple[int, ...], wanted: Sequence[Row]) -> dict[Row, int] | None:
    """The rows, with how often they count, among which all are that have one of these values."""
    index = log.indexes.asked(columns, sealed.updates, sealed.length)
    if index is None:
        return None
    keys = [
        column_of(sealed.types[column].physical, [row[place] for row in wanted]) for place, column in enumerate(columns)
    ]
    places = index.find(sealed.updates, sealed.length, keys, sealed.length)
    if places is None:
        return None
    assert places.tolist() == sorted(set(places.tolist()))
    assert not len(places) or int(places[-1]) < sealed.length
    there, _, diffs = sealed.updates.part(0, sealed.length)
    few = [column.take(places) for column in there]
    rows, sums = merge_equal(few, sealed.types, len(places), diffs[places], None)
    return dict(zip(rows_of([column.take(rows) for column in few], len(rows)), sums.tolist(), strict=True))


@given(commits(), st.data())
def test_what_is_found_is_what_there_is(drawn, data):
    sql_types, history, batches = drawn
    columns = tuple(range(len(sql_types)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(view_log, "_SPARE_ROWS", 3)
        patch.setattr(log_index, "_TAIL", data.draw(st.integers(0, 3)))
        patch.setattr(log_index, "_CHUNK", data.draw(st.integers(1, 5)))
        log, twin, since = ViewLog(sql_types, TextDictionary()), LogModel(), 0
        held: list[tuple[Sealed, dict[Row, int]]] = []
        for number, (batch, fails, reads) in enumerate(batches, 1):
            mark = log.mark()
            if batch:
                rows, times, diffs = (list(part) for part in zip(*batch, strict=True))
                log.append(drawn_delta(sql_types, rows, times, diffs))
            if fails:
                log.rollback(mark)
            else:
                twin.log += batch
                since = max(2 * number - history, since)
                log.seal(2 * number + 1, since)
            if reads:
                log.rows(None)
            held.append((log.sealed, twin.rows(2 * number)))
            for sealed, there in held[-3:] if columns else ():  # readers that are late ask, too
                chosen = data.draw(st.sampled_from([columns, columns[:1], columns[-1:]]))
                wanted = [tuple(row[c] for c in chosen) for row in there if all(row[c] is not None for c in chosen)][:2]
                got = found(log, sealed, chosen, wanted)
                if got is not None:
                    asked_for = {row: n for row, n in there.items() if tuple(row[c] for c in chosen) in wanted}
                    assert asked_for.items() <= got.items() <= there.items()


VALUES = st.lists(st.sampled_from([0.0, -0.0, float("nan"), -float("nan"), 1.5, None]), min_size=1, max_size=30)


@given(VALUES)
def test_doubles_are_found_that_are_equal_to_sql(values):
    log = ViewLog([types.DOUBLE], TextDictionary())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_index, "_TAIL", 0)
        log.append(drawn_delta([types.DOUBLE], [(value,) for value in values], 1, None))
        log.seal(2, 1)
        for wanted in (0.0, -0.0, float("nan"), 1.5):
            found(log, log.sealed, (0,), [(wanted,)])
            places = places_of(log, column_of(types.DOUBLE.physical, [wanted]), 100)
            same = {
                place
                for place, value in enumerate(values)
                if value is not None and (value == wanted or (value != value and wanted != wanted))
            }
            assert places is not None
            assert same <= set(places.tolist())


def places_of(log: ViewLog, wanted: Column, most: int) -> Ints | None:
    """Where rows of one column lie that have one of these values, if an index knows."""
    index = log.indexes.asked((0,), log.sealed.updates, log.sealed.length)
    return None if index is None else index.find(log.sealed.updates, log.sealed.length, [wanted], most)


def filled(count: int, sql_types: Sequence[SqlType] = (types.BIGINT,)) -> ViewLog:
    log = ViewLog(sql_types, TextDictionary())
    log.append(drawn_delta(list(sql_types), [(number,) * len(sql_types) for number in range(count)], 1, None))
    log.seal(2, 1)
    return log


def test_an_index_is_made_the_second_time_and_counted(monkeypatch):
    log = filled(5000)
    before = log.size().bytes
    assert found(log, log.sealed, (0,), [(7,)]) is None
    assert log.size().bytes == before
    assert found(log, log.sealed, (0,), [(7,), (4999,)]) == {(7,): 1, (4999,): 1}
    assert log.size().bytes == before + 8 * 5000
    many = column_of(types.BIGINT.physical, list(range(100)))
    assert places_of(log, many, 99) is None
    assert places_of(log, many, 100) is not None
    later = monotonic() + 2 * log_index._SECONDS
    monkeypatch.setattr(log_index, "monotonic", lambda: later)
    log.append(drawn_delta([types.BIGINT], [(-1,)], 2, None))
    log.seal(3, 2)
    assert log.size().bytes == before + 16 + 8  # nobody has asked for long
    assert found(log, log.sealed, (0,), [(7,)]) == {(7,): 1}


def test_what_is_new_costs_as_much_as_it_is(monkeypatch):
    """Of each update's hash, made once, is moved only a few times."""
    log, moved = filled(4000), Counter[str]()
    hashed = log_index.hashes_of

    def counted(columns: Sequence[Column]) -> log_index.Words:
        moved.update(n=len(columns[0]))
        return hashed(columns)

    monkeypatch.setattr(log_index, "hashes_of", counted)
    monkeypatch.setattr(log_index, "_TAIL", 63)
    found(log, log.sealed, (0,), [(7,)])
    for time in range(2, 600):
        log.append(drawn_delta([types.BIGINT], [(10_000 * time + each,) for each in range(16)], time, None))
        log.seal(time + 1, time)
        assert found(log, log.sealed, (0,), [(7,), (10_000 * time,)]) == {(7,): 1, (10_000 * time,): 1}
    assert moved["n"] < 4000 + 600 * (16 + 64)


def test_few_ways_of_asking_are_remembered():
    log = filled(3000, [types.BIGINT] * 8)
    for _ in range(2):
        for column in range(8):
            assert found(log, log.sealed, (column,), [(7,)]) is None  # others have come in between
    assert found(log, log.sealed, (7,), [(7,)]) == {(7,) * 8: 1}
    assert log.indexes.nbytes == 8 * 3000


def test_no_array_of_a_log_stays_that_was_made_anew():
    log = filled(3000)
    found(log, log.sealed, (0,), [(7,)])
    found(log, log.sealed, (0,), [(7,)])
    log.append(drawn_delta([types.BIGINT], [(7,)] * 2, 2, [-1, 1]))
    log.seal(3, 2)
    log.rows(None)
    log.append(drawn_delta([types.BIGINT], [(7,)], 3, [-1]))
    log.seal(4, 3)
    assert log.indexes.nbytes == 0
    assert found(log, log.sealed, (0,), [(7,), (8,)]) == {(8,): 1}
    assert log.indexes.nbytes == 8 * np.int64(3001)
