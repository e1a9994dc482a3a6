"""When the rows of a store came, beside a list of (time, row) that says the same."""

from __future__ import annotations

from itertools import pairwise
from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ivm.trace import time as of_time
from ivm.trace.time import BEGINNING, Births, ascend, bounds_of


@given(
    st.lists(st.lists(st.integers(1, 40), min_size=1, max_size=30).map(sorted), max_size=6),
    st.lists(st.integers(-1, 300), max_size=30),
    st.integers(0, 200),
    st.sampled_from([0, 1, 8]),
)
def test_rows_come_at_their_times(batches, asked, since, together):
    """However many batches' times are forgotten `together`, and however few are kept at least."""
    with patch.object(of_time, "_BATCHES", together), patch.object(of_time, "_FEW", 8 * together or 64):
        _come(batches, asked, since)


def _append(births, times, first):
    """Rows come at times, ascending, as a kernel notes it."""
    births.make_room(len(times))
    known = births.times.length
    for row, (before, time) in enumerate(pairwise([births.last, *times]), first):
        if time != before:
            births.times.array[known], births._rows.array[known] = time, row
            known += 1
    births.came(times[-1], known)


def _come(batches, asked, since):
    births, came = Births(), list[int]()
    base = 0
    for batch in batches:
        times = [base + each for each in batch]
        base = times[-1] - (len(batch) % 2)  # the next batch may go on at the time at which this one ends
        times = [max(each, births.last) for each in times]
        _append(births, times, len(came))
        came += times
        births = births.since(min(since, births.last))
    rows = len(came)
    assert births.last == (came[-1] if came else BEGINNING)
    kept = [time for time in asked if time >= since]
    expected = [sum(each <= time for each in came) for time in kept]
    assert births.limits(np.array(kept, np.int64), rows).tolist() == expected
    assert [births.limit(time, rows) for time in kept] == expected
    mark = births.times.length, births.last
    _append(births, [births.last + 3, births.last + 5] if came else [7, 7], rows)
    births.truncate(*mark)
    assert births.limits(np.array(kept, np.int64), rows).tolist() == expected


@given(st.sampled_from([1, 2, 1023, 1024, 1025, 1026, 2049, 2050]), st.integers(0, 2049), st.integers(0, 3))
def test_the_bounds_of_times_that_ascend_or_fall_somewhere(length, place, less):
    times = np.arange(length) // 3
    times[place % length :] -= less
    assert ascend(times) == bool((np.diff(times) >= 0).all())
    assert bounds_of(times) == (times.min(), times.max())
    assert ascend(times[::-1]) == bool((np.diff(times[::-1]) >= 0).all())
