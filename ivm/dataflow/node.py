"""A node of the dataflow: an operator, where its input comes from, and what it has done so far."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ivm.operators.operator import Contents, Operator
from ivm.trace.delta import Delta


@dataclass(slots=True)
class Counters:
    """Sums since the node was made. `nanoseconds` is time spent in the operator."""

    updates_in: int = 0
    updates_out: int = 0
    nanoseconds: int = 0


@dataclass(slots=True, eq=False)
class Node:
    """`users` counts the nodes and views that hold on to this one; at zero it is removed.

    `waits` are nodes that must step before this one although no delta flows from them (the arrangements of a join).
    """

    label: str
    operator: Operator
    inputs: tuple[Node, ...] = ()
    waits: tuple[Node, ...] = ()
    users: int = 0
    counters: Counters = field(default_factory=Counters)

    def contents(self, time: int) -> Iterator[Delta]:
        """The node's output as of `time`, the present, as updates of +1, in chunks of bounded size."""
        sources: Sequence[Contents] = [_contents_of(node, time) for node in self.inputs]
        return self.operator.contents(sources, time)


def _contents_of(node: Node, time: int) -> Contents:
    return lambda: node.contents(time)
