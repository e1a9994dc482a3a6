"""Readers that say what they want are found as by asking each of them, whoever comes and goes."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ivm.analysis.wanted import place_of
from ivm.catalog.types import Physical
from ivm.dataflow import routing
from ivm.dataflow.graph import Graph
from ivm.dataflow.node import Node
from ivm.dataflow.routing import Range, Router, Wants
from ivm.operators.multiplicities import Union
from ivm.trace.columns.column import Column
from ivm.trace.delta import Delta, delta_of
from ivm.trace.ordered.row_order import ordered_words

_ENDS = st.integers(-9, 9)
_RANGES = st.lists(
    st.one_of(
        _ENDS.map(lambda value: (value, value)),
        st.tuples(_ENDS, _ENDS).filter(lambda ends: ends[0] < ends[1]),
        _ENDS.map(lambda low: (low, inf)),
        _ENDS.map(lambda high: (-inf, high)),
    ),
    max_size=4,
)
_WANTS = st.lists(_RANGES, min_size=1, max_size=2)


def delta(*columns: list[int | None]) -> Delta:
    made = []
    for values in columns:
        valid = np.array([value is not None for value in values], np.bool_)
        made.append(Column(np.array([value or 0 for value in values], np.int64), None if valid.all() else valid))
    return delta_of(made, 1, None, len(columns[0]))


def wants(ranges: list[list[Range]]) -> list[Wants]:
    return [Wants(column, Physical.INT64, each) for column, each in enumerate(ranges)]


def lets_pass(ranges: list[list[Range]], row: tuple[int | None, ...]) -> bool:
    """Whether every column has a wanted value."""
    found = zip(ranges, row, strict=False)
    return all(value is not None and any(low <= value <= high for low, high in each) for each, value in found)


@pytest.mark.parametrize("divided", [1, 1 << 15])
@given(st.lists(st.tuples(_WANTS, st.booleans()), max_size=30), st.data())
def test_nobody_who_wants_a_row_is_missed(
    divided: int, readers: list[tuple[list[list[Range]], bool]], data: st.DataObject
) -> None:
    router, there = Router(), dict[Node, list[list[Range]]]()
    for number, (ranges, goes) in enumerate(readers):
        node = Node(str(number), Union())
        router.add(node, wants(ranges))
        there[node] = ranges
        rows = data.draw(st.lists(st.tuples(*[st.one_of(st.none(), _ENDS)] * 2), min_size=1, max_size=9))
        with mock.patch.multiple(routing, _DIVIDED=divided, _FEW=1):
            found = router.wanting(delta(*map(list, zip(*rows, strict=True))))
        for each, its in there.items():
            wanted = [row for row, values in enumerate(rows) if lets_pass(its, values)]
            given = found.get(each, np.array([], np.int64))
            assert given is None or given.tolist() == sorted({*wanted, *given.tolist()})
        for each in found:  # it was found by one of its columns
            assert any(lets_pass([[(-inf, inf)]] * c + [its], row) for row in rows for c, its in enumerate(there[each]))
        if goes:
            router.remove(node)
            router.remove(node)
            del there[node]
    assert len(router) == len(there)


def test_one_who_wants_nothing_is_never_found() -> None:
    router, node = Router(), Node("none", Union())
    router.add(node, [Wants(0, Physical.INT64, []), Wants(1, Physical.INT64, [(1, 1)])])
    assert node in router
    assert not [*router.wanting(delta([1], [1]))]


@given(st.floats(), st.floats())
def test_doubles_stand_where_columns_have_them(one: float, other: float) -> None:
    words = ordered_words(np.array([one, other]), Physical.FLOAT64)[:, 0].tolist()
    assert [place_of(one), place_of(other)] == words


@pytest.mark.parametrize("word", [0, 1, -1, 2**63, -(2**63), 2**64, 2**64 + 1, -(2**64) - 1, 2**126])
def test_wide_values_are_whole(word: int) -> None:
    router, nodes = Router(), [Node(str(i), Union()) for i in range(3)]
    for node, each in zip(nodes, (word - 1, word, word + 1), strict=True):
        router.add(node, [Wants(0, Physical.WIDE, [(each, each)])])
    low = word & (2**64 - 1)
    values = np.array([[low - 2**64 if low >= 2**63 else low, word >> 64]], np.int64)
    assert [*router.wanting(delta_of([Column(values)], 1, None))] == [nodes[1]]


def test_rows_are_routed_from_some_readers_on_and_not_where_others_read_too() -> None:
    notes: list[Node] = []

    class Noted(Union):
        node: Node

        def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
            notes.append(self.node)
            return super().step(inputs)

    def add(inputs: tuple[Node, ...], ranges: Sequence[list[Range]] = ()) -> Node:
        operator = Noted()
        operator.node = graph.add("", operator, inputs, wants=[wants([each]) if each else () for each in ranges])
        return operator.node

    graph = Graph()
    one, other = add(()), add(())
    few = [add((one,), [[(i, i)]]) for i in range(3)]
    graph.step({one: delta([1])})
    assert notes == few
    many = [*few, *(add((one,), [[(i, i)]]) for i in range(3, 40))]
    twice, both = add((one, one), [[(1, 1)], [(1, 1)]]), add((one, other), [[(2, 2)], []])
    behind = add((many[7],))
    plain = add((one,))
    for changes, expected in (
        ({one: delta([7, 7])}, [many[7], twice, plain, behind]),  # by depth
        ({one: delta([None])}, [twice, plain]),
        ({other: delta([5])}, [both]),
        ({one: delta([2]), other: delta([5])}, [many[2], twice, both, plain]),
        ({one: delta([2])}, [many[2], twice, both, plain]),
    ):
        notes.clear()
        graph.step(changes)
        assert notes == expected
    graph.remove([behind, many[7]])
    notes.clear()
    graph.step({one: delta([7, 2])})
    assert notes == [many[2], twice, both, plain]
