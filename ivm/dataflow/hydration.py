"""Hydration: a new node brought up to the present, while commits go on.

The node takes the contents of its input as of the time at which it began. What later commits bring to it waits, and
is applied, in order, when the contents are through. So the installation may pause after every chunk, and whatever
happens meanwhile, the node ends up as if it had been there all along.

Contents add up to a collection, their first chunks alone need not: a chunk may take back rows that a later one brings,
and what has come so far may have a sum that does not fit though the whole has. Neither is the operator to suffer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from catalog.errors import NumericError
from ivm.dataflow.node import Node
from ivm.operators.operator import NOTHING, Contents, Operator, StateSize
from ivm.operators.present import Present
from ivm.trace.concat import concat_deltas
from ivm.trace.delta import Delta
from ivm.trace.time import BEGINNING

_PART_ROWS = 1 << 16


@dataclass
class Installation:
    """A view on its way in: the nodes made for it, which nobody else may come to harm by.

    `pause(rows)` is called between two chunks, with the rows read since it was called last; commits may come meanwhile.
    `error` is what one of the new nodes raised in such a commit: the commit goes on without them, the installation not.
    """

    pause: Callable[[int], None]
    nodes: dict[Node, None] = field(default_factory=dict)
    error: Exception | None = None
    _read: int = 0
    _held: set[Node] = field(default_factory=set)
    _keeping: set[Node] = field(default_factory=set)

    def hold(self, node: Node, time: int) -> None:
        """Until `let_go`, let the contents of `node` be read as of `time`, the present."""
        self._held.update(node.hold(time))

    def let_go(self) -> None:
        """Nobody reads what was held any more."""
        for node in self._held:
            node.let_go()
        self._held.clear()

    def keep_history(self, node: Node) -> None:
        """An older node is about to change: what it has of the past stays, since it may be read."""
        if node not in self._keeping:
            self._keeping.add(node)
            node.operator.commit(BEGINNING)

    def read(self, rows: int) -> None:
        """So many rows were read."""
        self._read += rows

    def rest(self) -> None:
        """Let others in. Raises what the new nodes have raised meanwhile."""
        rows, self._read = self._read, 0
        self.pause(rows)
        if self.error is not None:
            raise self.error


class Waiting(Present):
    """Stands in for the operator of a node that is being hydrated: keeps what comes to it until its turn."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        self._queue: deque[list[Delta | None]] = deque()

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """Keep the changes. Their columns may be read later: no store renumbers its rows during an installation."""
        self._queue.append(list(inputs))
        return None

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """Nobody reads a node that is not there yet."""
        raise AssertionError("internal error: a node was read before it was hydrated")

    def commit(self, since: int) -> None:
        """The changes stay."""

    def abort(self) -> None:
        """Forget the last changes."""
        self._queue.pop()

    def size(self) -> StateSize:
        """That of the operator so far."""
        return self._operator.size()

    def catch_up(self, since: int, rest: Callable[[], None]) -> None:
        """Apply what has come, and what comes while others are let in, until nothing is left.

        Each time twice as much is done before others are let in, so that no stream of commits keeps it from ending.
        """
        rows, most = 0, _PART_ROWS
        while self._queue:
            inputs = self._queue.popleft()
            self._operator.step(inputs)
            self._operator.commit(since)
            rows += sum(len(delta) for delta in inputs if delta is not None)
            if rows >= most:
                rows, most = 0, 2 * most
                rest()


def hydrate(node: Node, time: int, installation: Installation) -> None:
    """Bring a new node up to the present from the contents of its input as of `time`, which is the present now.

    Raises what the operator raises; the installation must then be undone. Cost: that of stepping all the input's rows
    through the operator. Others are let in after every chunk.
    """
    operator = node.operator
    waiting = node.operator = Waiting(operator)
    (source,) = node.inputs
    installation.hold(source, time)
    _fill(operator, source.contents(time, installation.read), time, installation.rest)
    installation.let_go()
    waiting.catch_up(time, installation.rest)
    node.operator = operator


def _fill(operator: Operator, contents: Iterator[Delta], time: int, rest: Callable[[], None]) -> None:
    """Step `contents` through the operator; where a chunk raises NumericError, all that is left has the last word."""
    parts = _coming_first(contents)
    for delta in parts:
        if len(delta):
            try:
                operator.step([delta])
            except NumericError:
                operator.abort()
                operator.step([_together(delta, parts, rest)])
            operator.commit(time)
        rest()


def _coming_first(contents: Iterator[Delta]) -> Iterator[Delta]:
    """The same updates, those that take rows back behind all others. Size: references to what is held back."""
    going: deque[Delta] = deque()
    for delta in contents:
        negative = None if delta.diffs is None else delta.diffs < 0
        if negative is None or not negative.any():
            yield delta
        elif negative.all():
            going.append(delta)
            yield NOTHING
        else:
            going.append(delta.take(np.flatnonzero(negative)))
            yield delta.take(np.flatnonzero(~negative))
    while going:
        yield going.popleft()


def _together(first: Delta, others: Iterator[Delta], rest: Callable[[], None]) -> Delta:
    """One chunk and all that are left as one."""
    parts = [first]
    for delta in others:
        if len(delta):
            parts.append(delta)
        rest()
    return concat_deltas(parts) or first
