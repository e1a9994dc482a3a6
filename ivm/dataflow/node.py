"""A node of the dataflow: an operator, where its input comes from, and what it has done so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from ivm.operators.operator import Contents, Operator
from ivm.operators.present import Present
from ivm.trace.delta import Delta


@dataclass(slots=True)
class Counters:
    """Sums since the node was made. `nanoseconds` is time spent in the operator."""

    updates_in: int = 0
    updates_out: int = 0
    nanoseconds: int = 0


@dataclass(slots=True, eq=False)
class Node:
    """`owners` are the nodes that read this one or wait for it, and the names of views; without any it is removed.

    `waits` are nodes that must step before this one although no delta flows from them (the arrangements of a join).
    `number` is greater than that of any node made before; `readers` are the nodes that have this one as an input.
    `snapshot` is there while a new node reads the contents as of a time, and the operator keeps no history.
    """

    label: str
    operator: Operator
    inputs: tuple[Node, ...] = ()
    waits: tuple[Node, ...] = ()
    number: int = 0
    owners: dict[Node | str, None] = field(default_factory=dict, repr=False)
    readers: list[Node] = field(default_factory=list, repr=False)
    counters: Counters = field(default_factory=Counters)
    snapshot: Contents | None = None

    def contents(self, time: int, read: Callable[[int], None]) -> Iterator[Delta]:
        """The node's output as of `time` in chunks of bounded size, as `Operator.contents` gives it.

        `read` is told the rows of each chunk where they are kept: in tables, views and operators with state.
        """
        if self.snapshot is not None:
            return _counted(self.snapshot(), read)
        sources: Sequence[Contents] = [partial(node.contents, time, read) for node in self.inputs]
        contents = self.operator.contents(sources, time)
        return contents if self.operator.drawn_from(self.inputs) else _counted(contents, read)

    def hold(self, time: int) -> list[Node]:
        """Let the contents be read as of `time`, the present, though the node goes on.

        What keeps history is read as of any time, as long as commits let go of none. Returns the nodes that keep
        something for it, until their `let_go` is called.
        """
        if isinstance(self.operator, Present):
            if self.snapshot is None:
                self.snapshot = self.operator.reader(time)
            return [self]
        for arrangement in self.waits:
            arrangement.operator.hold(time)
        held = list(self.waits)
        for node in self.operator.drawn_from(self.inputs):
            held += node.hold(time)
        return held

    def let_go(self) -> None:
        """Nobody reads the node as of a time that is past any more."""
        self.snapshot = None
        self.operator.hold(None)


def _counted(contents: Iterator[Delta], read: Callable[[int], None]) -> Iterator[Delta]:
    for delta in contents:
        read(len(delta))
        yield delta
