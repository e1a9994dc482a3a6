"""Sums of deltas: parts of one walk keep where their columns lie, others are put together; the rows are the same."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from ivm.kernels.memory.append import copy_rows
from ivm.kernels.memory.places import SIZE, VALIDITY, WORDS
from ivm.trace import sources
from ivm.trace.columns.column import Column, Ints
from ivm.trace.concatenation import Concatenation, concat_deltas
from ivm.trace.delta import Columns, Delta, Group, Layout, delta_of, plain_layout

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


def test_a_sum_may_have_no_rows() -> None:
    none = Delta([Group(ONE, REFS[:0])], plain_layout(1), 0, REFS[:0])
    whole = concat_deltas([none, none])
    assert whole is not None
    assert rows(whole) == []


def test_none_and_one() -> None:
    part = Delta([Group(ONE, REFS)], plain_layout(1), 5, 1)
    assert concat_deltas([]) is None
    assert concat_deltas([part]) is part


INTS = Column(np.array([5, 0, -7, 2**40]), np.array([True, False, True, True]))


class InTwoWords(Columns):
    """Integers that came as decimals of 128 bits."""

    def places(self, columns: Iterable[int]) -> Ints:
        places: Ints = super().places(columns).copy()
        places[:, SIZE] = 16
        return places


LIES = {
    "as they are": Group(Columns([Column(np.arange(4)), INTS])),
    "by references": Group(Columns([Column(np.arange(9) + 50), Column(np.arange(9) - 4)]), np.array([8, 0, 0, 5])),
    "by references, NULLs among them": Group(Columns([INTS, INTS]), np.array([1, 1, 3])),
    "far from each other": Group(Columns([Column(np.arange(12)[::3]), Column(np.arange(8)[::-2])])),
    "in other bytes": Group(Columns([Column(np.arange(4, dtype=np.int32) - 2), INTS]), np.array([2, 3])),
    "in two words": Group(InTwoWords([Column(np.array([7, 0, -7, -1, 9, 0])[::2]), Column(np.arange(6)[::2])])),
    "none": Group(Columns([Column(np.empty(0, np.int64)), Column(np.empty(0, np.int64))])),
    "in parts": Group(
        Concatenation((Group(Columns([INTS, INTS])), Group(Columns([Column(np.arange(4)), INTS]))), (4, 4))
    ),
    "by references that kernels do not read": Group(Columns([INTS, INTS]), np.array([2, 0], np.int32)),
}


def length_of(group: Group) -> int:
    """How many rows a group has."""
    return len(group.column(0))


@pytest.mark.parametrize("first", LIES)
@pytest.mark.parametrize("second", LIES)
@pytest.mark.parametrize("asked", [[[0, 1]], [[1], [0]], [[0], [0, 1]]])
def test_kernels_read_what_is_put_together(first: str, second: str, asked: list[list[int]]) -> None:
    groups = LIES[first], LIES[second], LIES[first]
    whole = Concatenation(groups, [length_of(group) for group in groups])
    for columns in asked:
        places = whole.places(columns)
        for index in columns:
            assert read(places[index], length_of(groups[0]) * 2 + length_of(groups[1])) == [
                value for group in groups for value in shown(group.column(index))
            ]


def shown(column: Column) -> list[int | None]:
    """The values of a column of integers."""
    valid = [True] * len(column) if column.valid is None else column.valid.tolist()
    return [value if there else None for value, there in zip(column.values.tolist(), valid, strict=True)]


def read(place: Any, rows: int) -> list[int | None]:
    """What kernels read at a place."""
    to: Any = np.zeros((1, WORDS), np.int64)
    room: Any = np.zeros(3 * rows + 8, np.int64)
    copy_rows(place[None], np.arange(rows), np.array([0]), room, to)
    size = to[0, SIZE] or 8
    values = room.view(np.int32)[:rows] if size == 4 else room[: rows * size // 8 : size // 8]
    valid = None
    if to[0, VALIDITY]:
        begin = to[0, VALIDITY] - room.ctypes.data
        valid = room.view(np.bool_)[begin : begin + rows]
    return shown(Column(values, valid))


def test_columns_of_several_sources_are_put_together_by_one_call() -> None:
    pair = Delta([Group(ONE, REFS), Group(OTHER, REFS[::-1].copy())], Layout([(1, 0), (0, 0)]), 5, 1)
    whole = concat_deltas([pair, delta_of([INTS, Column(np.arange(4))], 1, None)])
    assert whole is not None
    (group,) = whole.groups
    places = group.source.places([0, 1])
    assert [read(places[index], 9) for index in (0, 1)] == [shown(column) for column in whole.columns()]


@pytest.mark.parametrize("other", [Layout([(0, 0)]), plain_layout(1)])
def test_parts_whose_times_overlap_are_in_the_order_of_time(other: Layout) -> None:
    diffs = np.array([-1, 1, -1, 1, 1])
    parts = [
        Delta([Group(ONE, REFS)], plain_layout(1), 5, np.array([1, 2, 2, 4, 7]), diffs),
        Delta([Group(OTHER, REFS)], other, 5, np.array([2, 2, 3, 4, 9])),
        Delta([Group(ONE, REFS)], plain_layout(1), 5, 2, diffs),
    ]
    whole = concat_deltas(parts)
    assert whole is not None
    assert rows(whole) == sorted([row for part in parts for row in rows(part)], key=lambda row: row[1])
    (group,) = whole.groups
    kept = read(group.source.places([0])[0], 15)
    assert group.refs is not None
    assert [kept[row] for row in group.refs.tolist()] == [row[0] for row in rows(whole)]


def test_a_layout_that_is_read_in_many_ways_forgets_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_MOST", 2)
    columns = [Column(np.arange(4) + 10 * index) for index in range(4)]
    parts = [delta_of(columns, 1, None), delta_of(columns[::-1], 1, None)]
    layout = parts[0].layout
    for chosen in ([0], [1, 2], [3], [0, 3], [0], [1, 2]):
        whole = Concatenation(parts, (4, 4))
        places = whole.places(chosen)
        for index in chosen:
            assert read(places[index], 8) == [*shown(columns[index]), *shown(columns[3 - index])]
        assert len(layout.sources) <= 2
