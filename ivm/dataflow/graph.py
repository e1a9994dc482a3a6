"""The dataflow graph: nodes in topological order, stepped together so that all views always show the same time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from time import perf_counter_ns

from ivm.dataflow.node import Node
from ivm.operators.operator import Operator
from ivm.trace.delta import Delta


class Graph:
    """Nodes, each after what it reads. One step carries one physical batch, which may hold many logical times."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._stepped: list[Node] = []

    @property
    def last(self) -> Node | None:
        """The node that the step reached last: the one that failed, after an error."""
        return self._stepped[-1] if self._stepped else None

    def add(self, label: str, operator: Operator, inputs: tuple[Node, ...] = (), waits: tuple[Node, ...] = ()) -> Node:
        """A new node; it is stepped from the next commit on. What it reads must be in the graph already."""
        node = Node(label, operator, inputs, waits)
        for other in (*inputs, *waits):
            other.users += 1
        self.nodes.append(node)
        return node

    def hydrate(self, node: Node, time: int) -> None:
        """Bring a new stateful node up to `time`, the present, from the contents of its inputs."""
        for number, source in enumerate(node.inputs):
            for delta in source.contents(time):
                inputs: list[Delta | None] = [None] * len(node.inputs)
                inputs[number] = delta
                node.operator.step(inputs)
                node.operator.commit(time)

    def release(self, node: Node) -> Iterator[Node]:
        """Give up one use of a node; yields every node that nobody uses any more, already taken out."""
        node.users -= 1
        if node.users > 0:
            return
        self.nodes.remove(node)
        yield node
        for other in (*node.inputs, *node.waits):
            yield from self.release(other)

    def step(self, changes: Mapping[Node, Delta]) -> dict[Node, Delta]:
        """Carry `changes` of source nodes through the graph; the change of every node that has one.

        Raises what an operator raises (NumericError), after which `abort` must be called. Cost: that of the operators
        that a change reaches.
        """
        deltas: dict[Node, Delta] = dict(changes)
        self._stepped = []
        for node in self.nodes:
            if node in changes or not any(other in deltas for other in node.inputs):
                continue
            inputs = [deltas.get(other) for other in node.inputs]
            self._stepped.append(node)
            started = perf_counter_ns()
            delta = node.operator.step(inputs)
            counters = node.counters
            counters.nanoseconds += perf_counter_ns() - started
            counters.updates_in += sum(len(d) for d in inputs if d is not None)
            if delta is not None and len(delta):
                counters.updates_out += len(delta)
                deltas[node] = delta
        return deltas

    def commit(self, since: int) -> None:
        """Make the last step final everywhere."""
        for node in self._stepped:
            started = perf_counter_ns()
            node.operator.commit(since)
            node.counters.nanoseconds += perf_counter_ns() - started
        self._stepped = []

    def abort(self) -> None:
        """Undo the last step everywhere, last operator first."""
        for node in reversed(self._stepped):
            node.operator.abort()
        self._stepped = []
