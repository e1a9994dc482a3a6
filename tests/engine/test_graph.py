"""A step takes every node that a change reaches once, and after all that it reads."""

from __future__ import annotations

import numpy as np

from ivm.dataflow.graph import Graph
from ivm.dataflow.node import Node
from ivm.operators.mfp import Mfp
from ivm.operators.multiplicities import Union
from ivm.trace.columns.column import Column
from ivm.trace.delta import Delta, delta_of


class Noting(Union):
    """Adds its inputs up, and notes its steps."""

    def __init__(self, name: str, notes: list[str]) -> None:
        self.name, self.notes = name, notes

    def step(self, inputs):
        self.notes.append(self.name)
        return super().step(inputs)


def rows(*values: int) -> Delta:
    return delta_of([Column(np.array(values, np.int64))], 1, None)


def diamond(notes: list[str]) -> tuple[Graph, dict[str, Node]]:
    """a and b are sources; c and d read a, e reads d twice, c and b; f stands alone behind b."""
    graph = Graph()
    nodes = {name: graph.add(name, Noting(name, notes)) for name in "ab"}
    for name, inputs in (("c", "a"), ("d", "a"), ("e", "dcdb"), ("f", "b")):
        nodes[name] = graph.add(name, Noting(name, notes), tuple(nodes[i] for i in inputs))
    return graph, nodes


def test_each_node_that_is_reached_steps_once_and_in_order():
    notes: list[str] = []
    graph, nodes = diamond(notes)
    deltas = graph.step({nodes["a"]: rows(1, 2)})
    assert notes == ["c", "d", "e"]
    assert sorted(deltas[nodes["e"]].column(0).values.tolist()) == [1, 1, 1, 2, 2, 2]
    assert nodes["f"] not in deltas
    assert (nodes["e"].updates_in, nodes["e"].updates_out) == (6, 6)


def test_changes_of_two_sources_meet():
    notes: list[str] = []
    graph, nodes = diamond(notes)
    deltas = graph.step({nodes["b"]: rows(7), nodes["a"]: rows(1)})
    assert notes == ["c", "d", "f", "e"]  # those that less lies before come first
    assert sorted(deltas[nodes["e"]].column(0).values.tolist()) == [1, 1, 1, 7]


def test_what_lets_nothing_through_reaches_nobody():
    notes: list[str] = []
    graph = Graph()
    source = graph.add("source", Noting("source", notes))
    nothing = graph.add("mfp", Mfp(lambda delta: None, ()), (source,))
    graph.add("after", Noting("after", notes), (nothing,))
    assert list(graph.step({source: rows(1)})) == [source]
    assert notes == []


def test_a_node_that_is_gone_is_not_reached():
    notes: list[str] = []
    graph, nodes = diamond(notes)
    for held in "aef":
        nodes[held].owners[held] = None
    del nodes["e"].owners["e"]
    gone = graph.unowned()
    assert [node.label for node in gone] == ["e", "d", "c"]
    graph.remove(gone)
    graph.step({nodes["a"]: rows(1), nodes["b"]: rows(2)})
    assert notes == ["f"]
    assert nodes["a"].readers == []
    assert nodes["b"].readers == [nodes["f"]]
