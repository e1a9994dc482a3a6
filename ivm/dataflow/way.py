"""How changes go through the nodes of a level: ways, each for the sources that have changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from ivm.dataflow.ahead import Ahead, Step
from ivm.dataflow.node import Node
from ivm.dataflow.routing import Router
from ivm.operators.operator import Leading
from ivm.operators.stage import Stage
from ivm.operators.walk import LastStage, Onward
from ivm.trace.delta import Delta
from ivm.trace.route import Arenas
from ivm.trace.state import Marks

Passed = tuple[Node, Node, list[int]]
"""The last node that a step has gone through, whose changes come of it, and who reads those, by their places."""


@dataclass(slots=True)
class Led:
    """A step that goes onward through nodes, at some `places`, which alone read those before them. `nodes`: its own,
    and those. `givers`: of each whose changes come of it if it goes no further: its own, or if it arranges changes, of
    whom these are. `shorter`: the same through all but the last node. It is only for changes that come, if `comes`.
    """

    run: Step
    onward: Onward
    nodes: list[Node]
    places: list[int]
    givers: list[Node]
    shorter: Led | None
    comes: bool = field(init=False)
    _stops: list[tuple[LastStage, Node, Passed]] = field(init=False)

    def __post_init__(self) -> None:
        self.comes = any(not end.makes for end in self.onward.ends)

    def lay(self, steps: list[WayStep], readers: list[int]) -> None:
        """Find out who reads on from where it may stop. `readers`: of its own node, by their places in `steps`."""
        giver, self._stops = self.nodes[0], []
        for end, place, of in zip(self.onward.ends, self.places, self.givers, strict=True):
            node = steps[place].node
            if of is node:
                giver, readers = node, steps[place].readers
            else:  # the others read on
                readers = [reader for reader in readers if reader != place]
            self._stops.append((end, node, (node, giver, readers)))

    def passed(self) -> Passed:
        """Where a step has stopped that has gone through some nodes. How much has come to each is counted."""
        before = self.nodes[0]
        for end, node, reached in self._stops:
            rows = end.rows
            if not rows:
                break
            before.updates_out += rows
            node.taken += rows
            if not end.gives:
                node.updates_out += rows
            before, found = node, reached
        return found

    def fitting(self, *, gives: bool) -> Led | None:
        """As far as it goes; `gives`: whether what comes of each node is to be there.

        What it goes through, but for arrangements, and does not give itself, nobody else reads.
        """
        last, of = self.nodes[-1], (self.nodes[0], *self.givers)
        is_told = self.onward.ends[-1].gives or not (gives or last.readers)
        if is_told and all(owner in self.nodes for node in of if node is not of[-1] for owner in node.owners):
            return self
        return None if self.shorter is None else self.shorter.fitting(gives=gives)


@dataclass(slots=True)
class WayStep:
    """A node of a way: its `source`, if it has but one, the places of those that read it there, how its changes go on
    through its readers, if that can be one walk, at the longest and now, for so many `owners`, and with whom its walks
    are begun ahead, if they are.
    """

    node: Node
    source: Node | None
    readers: list[int] = field(default_factory=list)
    longest: Led | None = None
    led: Led | None = None
    owners: int = 0
    ahead: Ahead | None = None


@dataclass(slots=True)
class Way:
    """The nodes of a level that changes of some sources may reach, each after those that it reads.

    `first`: at the place of each step a one if it reads what may be there before, one of these sources or a node of an
    earlier level. Left out of both are readers that a router finds: `routers` has that of each node that has one,
    `asked` those of them that find some reader here. `places`: where nodes stand in `steps`. `reached`: what changes
    may reach at any level, the sources too. `sources`: those of the level itself. `above`: of each step the places of
    all that it reads or waits for, and so on from there. `ahead`: what begins walks ahead. `leads`: by the node at
    which they end the steps of walks that may go on; it `is_fitted` if it is known how far they do.
    """

    level: int
    routers: Mapping[Node, Router]
    reached: set[Node]
    marks: Marks
    sources: frozenset[Node]
    arenas: Arenas
    steps: list[WayStep] = field(default_factory=list)
    first: bytes = b""
    places: dict[Node, int] = field(default_factory=dict)
    asked: dict[Node, Router] = field(default_factory=dict)
    leads: dict[Node, list[WayStep]] = field(default_factory=dict)
    above: list[list[int]] = field(default_factory=list)
    ahead: Ahead = field(init=False)
    is_fitted: bool = False

    def __post_init__(self) -> None:
        self.ahead = Ahead(self.above, self.arenas)

    def add(self, node: Node) -> None:
        """One more node of the graph, which was made after all others. Cost: follows its inputs."""
        self.is_fitted = False
        if self.reached.isdisjoint(node.inputs):
            return
        self.reached.add(node)
        if node.level != self.level:
            return
        place, first = len(self.steps), 0
        for other in dict.fromkeys(node.inputs):
            router = self.routers.get(other)
            if router is not None and node in router:
                self.asked[other] = router
            elif other in self.places:
                self.steps[self.places[other]].readers.append(place)
            elif other in self.reached:
                first = 1
        self._let_go_on(node, place)
        source = node.inputs[0] if len(node.inputs) == 1 else None
        before = {self.places[other] for other in (*node.inputs, *node.waits) if other in self.places}
        self.above.append(sorted(before.union(*[self.above[each] for each in before])))
        self.ahead.forget()
        is_begun = isinstance(node.operator, Leading) and not self.sources.isdisjoint(node.inputs)
        step = WayStep(node, source, ahead=self.ahead if is_begun else None)
        self.steps.append(step)
        if isinstance(node.operator, Leading):
            self.leads.setdefault(node, []).append(step)
        self.places[node] = place
        self.first += b"\1" if first else b"\0"

    def _let_go_on(self, node: Node, place: int) -> None:
        """If all that a node reads is the change of one node here, let the walks that end there go on through it."""
        reached = [number for number, other in enumerate(node.inputs) if other in self.reached]
        if len(reached) != 1:
            return
        (number,), source = reached, node.inputs[reached[0]]
        end = node.operator.onward(self.marks)
        for step in list(self.leads.get(source, ())):
            led, operator = step.longest, step.node.operator
            assert isinstance(operator, Leading), "others have no walks"
            if led is None:
                led = Led(operator.step, Onward((), ()), [step.node], [], [], None)
            through = self._through(led, node, number, end)
            if through is None:
                continue
            (last, stages), of = through, node if end is None or end.makes else source
            onward = Onward([*led.onward.ends, last], [*led.onward.stages, *stages])
            run, shorter = partial(operator.step, onward=onward), led if led.places else None
            step.longest = Led(run, onward, [*led.nodes, node], [*led.places, place], [*led.givers, of], shorter)
            if of is node:
                self.leads[source].remove(step)
                self.leads.setdefault(node, []).append(step)

    def _through(
        self, led: Led, node: Node, number: int, end: LastStage | None
    ) -> tuple[LastStage, Sequence[Stage]] | None:
        """What a walk passes that goes on through a node, which reads the change in its input of this number.

        Before, what says how much has come there: that is the node's own `end`, or the arrangement of what it reads.
        """
        ends, operator = led.onward.ends, led.nodes[0].operator
        if any(other in self.reached and other not in led.nodes for other in node.waits):
            return None
        if end is None:
            stages = node.operator.path(number)
            return None if stages is None or led.nodes[-1] not in node.waits else (ends[-1], stages)
        is_behind = ends[-1].makes if ends else isinstance(operator, Leading) and operator.is_end
        if end.follows:
            return (end, [end]) if is_behind and not (ends and ends[-1].follows) else None
        return (end, [end]) if end.makes or not is_behind else None

    def fit(self, *, gives: bool) -> None:
        """Find out how far walks go on, now that nodes have come; `gives` as for `Led.fitting`."""
        for steps in self.leads.values():
            for step in steps:
                step.led = None if step.longest is None else step.longest.fitting(gives=gives)
                if step.led is not None:
                    step.led.lay(self.steps, step.readers)
                step.owners = len(step.node.owners)
        self.is_fitted = True

    def route(self, node: Node, delta: Delta, due: bytearray, mixed: bytearray, parts: dict[Node, Delta]) -> None:
        """Mark as due the readers of a node that want some row of its change, where rows are routed to them.

        `parts` gets the rows of those that want only some. They are `mixed`, as are all that read another node than a
        source.
        """
        router = self.asked.get(node)
        if router is None:
            return
        for reader, rows in router.wanting(delta).items():
            place = self.places.get(reader)
            if place is not None:  # the others are of another level
                due[place] = 1
                if node not in self.sources:
                    mixed[place] = 1
                if rows is not None and len(reader.inputs) == 1:
                    parts[reader] = delta.take(rows)
                    mixed[place] = 1
