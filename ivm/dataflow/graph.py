"""The dataflow graph: nodes in topological order, stepped together so that all views always show the same time."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from time import perf_counter_ns
from types import MappingProxyType

from ivm.catalog.errors import NumericError
from ivm.dataflow.ahead import Step, coming
from ivm.dataflow.bits import Bits
from ivm.dataflow.hydration import Installation, hydrate
from ivm.dataflow.node import Node, Owners
from ivm.dataflow.routing import Router, Wants
from ivm.dataflow.way import Led, Way
from ivm.operators.operator import Leading, Operator
from ivm.operators.walk import Onward
from ivm.trace.delta import Delta
from ivm.trace.route import Arenas
from ivm.trace.state import Marks, State

_MOST_WAYS = 1 << 8
_ROUTED = 32
"""From so many readers on that say what they want rows are routed to them."""
_NONE: Mapping[Node, Delta] = MappingProxyType({})
_ARENAS = 16
"""Of how many walks that are begun ahead something may come."""


def _order(node: Node) -> tuple[int, bool, int]:
    """By which nodes are after what they read and wait for, and walks can be begun together: behind arrangements."""
    return node.depth, isinstance(node.operator, Leading), node.number


class Graph:
    """Nodes, each after what it reads. One step carries one physical batch, which may hold many logical times.

    `time` is the present, that of the last commit. `marks`: all state that the commit under way has touched, whether
    of nodes or of tables. `installation` is the view on its way in, if there is one: nodes that are added meanwhile are
    its own, and whoever commits lets go of no history since it began, so that it can be read between pauses.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.time = 0
        self.installation: Installation | None = None
        self.gives = False
        """Whether `step` tells of the changes of views, too, where nobody reads them here."""
        self.marks = Marks()
        self.last: Node | None = None
        """The node that the step reached last: the one that failed, after an error."""
        self._made = 0
        self._loose: set[int] = set()
        self._arenas = Arenas(_ARENAS)
        self._ways: dict[tuple[int, tuple[Node, ...]], Way] = {}
        self._routers: dict[Node, Router] = {}

    def add(
        self,
        label: str,
        operator: Operator,
        inputs: tuple[Node, ...] = (),
        waits: tuple[Node, ...] = (),
        level: int = 1,
        wants: Sequence[Sequence[Wants]] = (),
    ) -> Node:
        """A new node; it is stepped from the next commit on. What it reads must be in the graph already.

        `level`: the first at which it can be stepped, of one that reads nothing. `wants`: of each input what it wants
        of its rows, if it is not all of them; a row that one of these does not let pass changes nothing.
        """
        self._made += 1
        level = max((level, *(other.level for other in (*inputs, *waits))))
        depth = 1 + max((other.depth for other in (*inputs, *waits)), default=0)
        node = Node(label, operator, inputs, waits, self._made, level, depth, Owners(self._made, self._loose))
        if self.installation is not None:
            self.installation.nodes[node] = None
        self.nodes.append(node)
        for other in (*inputs, *waits):
            other.owners[node] = None
        for other in dict.fromkeys(inputs):
            other.readers.append(node)
        for other, wanted in zip(inputs, wants, strict=False):
            if wanted and inputs.count(other) == 1:
                router = self._routers.setdefault(other, Router())
                router.add(node, wanted)
                if len(router) == _ROUTED:
                    self._ways = {}
        ways, self._ways = self._ways, {}  # they are made anew if this is interrupted
        for way in ways.values():
            way.add(node)
        self._ways = ways
        return node

    def install(self, installation: Installation) -> None:
        """Nodes that are made from now on are those of an installation, which goes on with the one there is, if any."""
        if self.installation is not None:
            installation.nodes, installation.error = self.installation.nodes, self.installation.error
            installation.since = self.installation.since
        self.installation = installation

    def hydrate(self, node: Node, *, whole: bool = False, alone: bool = False) -> Bits[None]:
        """Bring a new stateful node up to the present; see `hydrate`."""
        return hydrate(node, self.time, self.installing, whole=whole, alone=alone)

    @property
    def installing(self) -> Installation:
        """The view on its way in; AssertionError if there is none."""
        assert self.installation is not None, "only an installation makes nodes"
        return self.installation

    def unowned(self) -> list[Node]:
        """The nodes that nobody owns, or only nodes among these, each after its owners. Cost: follows their number."""
        loose = sorted(self._loose, reverse=True)
        places = [bisect_left(self.nodes, number, key=attrgetter("number")) for number in loose]
        found = [self.nodes[at] for at in places if at < len(self.nodes)]
        gone = {node: None for node in found if not node.owners}
        pending = list(gone)
        for node in pending:  # which grows meanwhile
            for other in (*node.inputs, *node.waits):
                if other not in gone and all(owner in gone for owner in other.owners):
                    gone[other] = None
                    pending.append(other)
        return pending

    def remove(self, nodes: Collection[Node]) -> None:
        """Take nodes out. It may be interrupted, and called again."""
        for node in nodes:
            for other in (*node.inputs, *node.waits):
                other.owners.pop(node, None)
                if node in other.readers:
                    other.readers.remove(node)
                if other in self._routers:
                    self._routers[other].remove(node)
            self._routers.pop(node, None)
        gone = set(nodes)
        self.nodes, self._ways = [node for node in self.nodes if node not in gone], {}
        self._loose.difference_update([node.number for node in nodes])
        if self.last in gone:
            self.last = None  # what it holds goes with it

    def users(self, ends: Iterable[tuple[str, Node]]) -> dict[int, tuple[str, ...]]:
        """For each node, by identity, the names of those last nodes that need it."""
        users: dict[int, dict[str, None]] = {}
        for name, last in ends:
            pending, seen = [last], set[int]()
            while pending:
                node = pending.pop()
                if id(node) not in seen:
                    seen.add(id(node))
                    users.setdefault(id(node), {})[name] = None
                    pending += [*node.inputs, *node.waits]
        return {node: tuple(sorted(names)) for node, names in users.items()}

    def states(self) -> Iterator[tuple[Hashable, State]]:
        """All state, each after what it is computed from, under names that are never given again."""
        for node in self.nodes:
            for number, state in enumerate(node.operator.states):
                yield (node.number, number), state

    def step(
        self, changes: Mapping[Node, Delta], before: Mapping[Node, Delta] = _NONE, level: int = 1
    ) -> dict[Node, Delta]:
        """Carry `changes` of source nodes through the nodes of a level; the change of every node of which any is told.

        A commit of several levels begins with the first, and goes on with what the level `before` has returned.
        Raises what an operator raises (NumericError), after which `rollback` must be called; what a node raises whose
        view is not there yet fails its installation alone. Cost: that of the operators that a change reaches.
        """
        deltas: dict[Node, Delta] = {**before, **changes}
        if not deltas:
            return deltas
        sources = level, tuple(changes) if not before else tuple(node for node in deltas if not node.inputs)
        way = self._ways.get(sources) or self._way(sources)
        if not way.is_fitted:
            way.fit(gives=self.gives)
        steps, asked = way.steps, way.asked
        marks, installation, now = self.marks, self.installation, perf_counter_ns()
        for source, change in changes.items():
            source.updates_out += change.length
        due, mixed, at = bytearray(way.first), bytearray(len(steps)), -1
        parts: dict[Node, Delta] | None = None
        if asked:
            parts = {}
            for source, change in deltas.items():
                way.route(source, change, due, mixed, parts)
        comes = coming(changes, due) if installation is None and not before else None
        while (at := due.find(1, at + 1)) >= 0:
            step = steps[at]
            node, readers, ahead = step.node, step.readers, step.ahead
            if comes is not None and ahead is not None and at >= comes.next:
                ahead.begin(comes, due, mixed, at)
                if not due[at]:
                    continue
            inputs, given = [deltas.get(step.source)] if step.source else list(map(deltas.get, node.inputs)), 0
            if parts and node in parts:
                inputs = [parts[node]]
            for each in inputs:
                if each is not None:
                    given += each.length
            if not given:
                continue
            led: Led | None = None
            self.last = node
            if installation is None or node not in installation.nodes:
                marked, states = len(marks), node.operator.states
                if states:
                    marks.add(states)
                run: Step = node.operator.step
                onward: Onward | None = None
                if step.led is not None and installation is None and len(node.owners) == step.owners:
                    led = step.led
                    if led.comes and any(each is not None and each.diffs is not None for each in inputs):
                        led = None
                    else:
                        run, onward = led.run, led.onward
                        onward.begin()
                try:
                    if comes is None or ahead is None or mixed[at]:
                        delta = run(inputs)
                    else:
                        delta = ahead.step(at, node, inputs, run, onward, comes)
                except NumericError:
                    if led is None or not led.onward.has_come:
                        raise
                    marks.rollback(marked)
                    marks.add(states)
                    led, delta = None, node.operator.step(inputs)
            else:
                delta = self._step_of(installation, node, inputs)
            started, now = now, perf_counter_ns()
            node.spent += now - started
            node.taken += given
            giver = node
            if led is not None and led.onward.has_come:
                node, giver, readers = led.passed()
                self.last = node
            if delta is not None and delta.length:
                node.updates_out += delta.length
                deltas[giver] = delta
                for reader in readers:
                    due[reader] = mixed[reader] = 1
                if parts is not None:
                    way.route(giver, delta, due, mixed, parts)
        return deltas

    def seal(self, time: int, since: int) -> None:
        """Make all that was done up to `time` final; nobody reads as of a time before `since` any more."""
        self.marks.seal(time + 1, since, still=self.installation is not None)
        self.time = time  # all that is read without a lock shows it

    def rollback(self) -> None:
        """Undo everything since the last seal."""
        if self.installation is not None:
            self.installation.backlog.pop(self.time, None)
        self.marks.rollback()

    def _way(self, sources: tuple[int, tuple[Node, ...]]) -> Way:
        """How changes go through a level; see `step`."""
        level, changed = sources
        reached, pending = set(changed), list(changed)
        while pending:
            for reader in pending.pop().readers:
                if reader not in reached:
                    reached.add(reader)
                    pending.append(reader)
        routers = {node: router for node, router in self._routers.items() if len(router) >= _ROUTED}
        own = frozenset(node for node in changed if node.level == level)
        way = Way(level, routers, set(changed), self.marks, own, self._arenas)
        for node in sorted(reached.difference(changed), key=_order):
            way.add(node)
        if len(self._ways) >= _MOST_WAYS:
            self._ways = {}
        self._ways[sources] = way
        return way

    def _step_of(self, installation: Installation, node: Node, inputs: Sequence[Delta | None]) -> Delta | None:
        """The step of a node whose view is not there yet."""
        if installation.error is not None:
            return None
        marked = len(self.marks)
        try:
            if node is installation.waiting:
                installation.keep(inputs, self.time)
                return None
            self.marks.add(node.operator.states)
            return node.operator.step(inputs)
        except Exception as error:  # noqa: BLE001  whatever it is, the commit is not to suffer
            installation.error = error
            self.marks.rollback(marked)
            return None
