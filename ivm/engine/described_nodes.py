"""The dataflow, node by node: what each does, reads and holds, and how much has gone through it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from ivm.dataflow.loop import Iterate
from ivm.dataflow.node import Node
from ivm.engine.part import Part
from ivm.operators.operator import StateSize
from ivm.plan.arrangement import ArrangementPlan
from ivm.plan.node import Plan

_NO_VIEWS: tuple[str, ...] = ()
Names = Callable[[str], tuple[str, ...]]
"""The columns of a table or view."""


class DescribedNode(NamedTuple):
    """A node. `node` is its name among all there are, `within` that of the loop that it is a part of, or empty.

    `reads`: the nodes whose changes come to it; `looks_up`: those that it searches. `views`: those that need it.
    The counts and `millis` are from its making on; `rows` and `bytes` are what it holds, of a table all of that.
    """

    node: str
    within: str
    operator: str
    what: str
    reads: list[str]
    looks_up: list[str]
    views: tuple[str, ...]
    updates_in: int
    updates_out: int
    visited: int
    millis: float
    rows: int
    bytes: int


def described_nodes(part: Part, names: Names) -> list[DescribedNode]:
    """All nodes, each after those that it reads. Cost: looks at every node, and at every view's."""
    users = part.users_of_nodes()
    texts = {id(node): _text(plan, names) for plan, node in part.rendered()}
    sizes = {
        id(node): part.tables[name].size()
        for name, feeds in part.renderer.sources.items()
        if name in part.tables
        for node in feeds.values()
    }
    found: list[DescribedNode] = []
    for node in part.renderer.graph.nodes:
        found += _described(node, "", users.get(id(node), _NO_VIEWS), texts, sizes)
    return found


def _described(
    node: Node, within: str, views: tuple[str, ...], texts: Mapping[int, str], sizes: Mapping[int, StateSize]
) -> Iterator[DescribedNode]:
    """A node, and what is within it if it is a loop."""
    own, size = _name(within, node), sizes.get(id(node)) or node.operator.size()
    yield DescribedNode(
        own, within, node.label, texts.get(id(node), ""), [_name(within, each) for each in node.inputs],
        [_name(within, each) for each in node.waits], views, node.updates_in, node.updates_out, node.operator.visited,
        node.nanoseconds / 1e6, size.rows, size.bytes,
    )  # fmt: skip
    if isinstance(node.operator, Iterate):
        for each in node.operator.within:
            yield from _described(each, own, views, {}, {})


def _name(within: str, node: Node) -> str:
    """Numbers are those of one graph, and a loop has one of its own."""
    return f"{within}.{node.number}" if within else str(node.number)


def _text(plan: Plan | ArrangementPlan, names: Names) -> str:
    return plan.text(names) if isinstance(plan, ArrangementPlan) else plan.short_text()
