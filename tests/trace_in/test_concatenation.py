"""Sums of deltas: parts of one walk keep where their columns lie, others are put together; the rows are the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ivm.trace.columns.column import Column
from ivm.trace.delta import Columns, Delta, Group, Layout, concat_deltas, delta_of, plain_layout

ONE, OTHER = (Columns([Column(np.arange(10) + start)]) for start in (0, 100))
PAIR = Layout([(0, 0), (1, 0)])
REFS = np.array([3, 1, 4, 1, 5])


def rows(delta: Delta | None) -> list[tuple[Any, ...]]:
    """The updates of a delta."""
    if delta is None:
        return []
    values = [column.values.tolist() for column in delta.columns()]
    return list(zip(*values, delta.time_array().tolist(), delta.diff_array().tolist(), strict=True))


def test_what_is_of_one_source_is_of_it_still() -> None:
    parts = [
        Delta([Group(ONE, REFS), Group(ONE)], PAIR, 5, 1),
        Delta([Group(ONE), Group(OTHER, REFS[::-1])], PAIR, 5, 1),
        Delta([Group(ONE, REFS.astype(np.int32)), Group(ONE, REFS)], PAIR, 5, 1),
    ]
    parts[0].groups[1] = Group(ONE, np.arange(5))
    parts[1].groups[0] = Group(ONE, np.arange(5))
    whole = concat_deltas(parts)
    assert whole is not None
    assert rows(whole) == [row for part in parts for row in rows(part)]
    assert whole.groups[0].source is ONE
    assert whole.layout is PAIR


def test_rows_of_a_source_need_no_references() -> None:
    parts = [Delta([Group(ONE)], plain_layout(1), 10, 1), Delta([Group(ONE, REFS)], plain_layout(1), 5, 1)]
    whole = concat_deltas(parts)
    assert rows(whole) == [row for part in parts for row in rows(part)]


@pytest.mark.parametrize("times", [(1, 1), (1, np.array([2, 3, 4, 4, 5]))])
@pytest.mark.parametrize("diffs", [(None, None), (None, np.array([1, -1, 2, 1, 1]))])
def test_times_and_diffs_are_those_of_the_parts(times: Any, diffs: Any) -> None:
    parts = [Delta([Group(ONE, REFS)], plain_layout(1), 5, *told) for told in zip(times, diffs, strict=True)]
    whole = concat_deltas(parts)
    assert rows(whole) == [row for part in parts for row in rows(part)]
    assert whole is not None
    assert isinstance(whole.times, int) == isinstance(times[1], int)


def test_parts_that_lie_otherwise_are_put_together() -> None:
    more = Delta([Group(ONE, REFS), Group(OTHER, REFS)], plain_layout(1), 5, 1)
    for other in (delta_of([Column(np.arange(3))], 1, None), Delta([Group(OTHER, REFS)], Layout([(0, 0)]), 5, 1), more):
        parts = [Delta([Group(ONE, REFS)], plain_layout(1), 5, 1), other]
        assert rows(concat_deltas(parts)) == [row for part in parts for row in rows(part)]


def test_none_and_one() -> None:
    part = Delta([Group(ONE, REFS)], plain_layout(1), 5, 1)
    assert concat_deltas([]) is None
    assert concat_deltas([part]) is part
