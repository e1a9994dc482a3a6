"""Hydration: a new node brought up to the present, while commits go on.

The node takes the contents of its input as of the time at which it began. What later commits bring to it waits, and
is applied, in order, when the contents are through. So the installation may pause after every chunk, and whatever
happens meanwhile, the node ends up as if it had been there all along.

Contents add up to a collection, their first chunks alone need not: a chunk may take back rows that a later one brings,
and what has come so far may have a sum that does not fit though the whole has. Neither is the operator to suffer.

Reading a chunk takes a bounded time. What the new operator does with it may not, as when a table grows: but nobody else
knows its state, so others commit meanwhile. An operator whose output goes to the new one alone waits with it, so that
no commit has to keep a copy of what is being read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from math import inf
from typing import Any

import numpy as np

from catalog.errors import NumericError
from ivm.dataflow.node import Node
from ivm.operators.mfp import Mfp
from ivm.operators.negate import Negate
from ivm.operators.operator import NOTHING, Contents, Operator, StateSize
from ivm.operators.present import Present
from ivm.trace.concat import concat_deltas
from ivm.trace.delta import Delta
from ivm.trace.state import Marks
from ivm.trace.time import BEGINNING
from ivm.trace.turns import Aside, at_once

_SOON = 8
"""How many commits are caught up with while others wait."""
_MOST = 1 << 10
"""With so many at once while there are more."""
_SMALL = 1 << 10
"""Changes of at most so many rows are kept as values, so that no wait is for many of them to be gathered at once."""

Fill = Callable[[Operator, Delta, int], Delta | None]
"""Steps an operator and makes it final as of a time."""


@dataclass
class Installation:
    """A view on its way in: the nodes made for it, which nobody else may come to harm by.

    `pause(rows)` is called between two chunks, with the rows read since it was called last; commits may come meanwhile,
    as they may while `aside` does what it is given.
    `error` is what one of the new nodes raised in such a commit: the commit goes on without them, the installation not.
    """

    pause: Callable[[int], None]
    aside: Aside = at_once
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
            for state in node.operator.states:
                state.seal(BEGINNING, BEGINNING)

    def fill(self, operator: Operator, delta: Delta, since: int, *, gathered: bool = False) -> Delta | None:
        """Step an operator that nobody reads yet, and make it final; others are let in meanwhile where that can be.

        `gathered`: reading the delta's columns reads no store.
        """
        if not operator.apart:
            return _fill(operator, delta, since)
        delta = delta if gathered else delta.gathered()
        return self.aside(partial(_fill, operator, delta, since))

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
    """Stands in for the operator of a node that is being hydrated: keeps what comes to it until its turn.

    `behind`: operators that get its output, each that of the one before, and whose nodes see nothing meanwhile.
    """

    def __init__(self, operator: Operator, behind: Sequence[Operator] = ()) -> None:
        self._operators = (operator, *behind)
        self._queue: deque[Delta | None] = deque()

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """Keep the changes. Columns of many rows are read later: no store renumbers its rows during an installation."""
        (delta,) = inputs
        self._queue.append(delta.gathered() if delta is not None and len(delta) <= _SMALL else delta)
        return None

    def reader(self, time: int) -> Contents:
        """What there was when the waiting began, for the one behind."""
        assert len(self._operators) > 1, "internal error: a node was read before it was hydrated"
        return partial(self._operators[0].contents, [], time)

    @property
    def states(self) -> tuple[Any, ...]:
        """What waits. Nobody asks it for codes: no texts are freed while a view is installed."""
        return (self,)

    def mark(self) -> int:
        """How many changes wait."""
        return len(self._queue)

    def seal(self, upper: int, since: int) -> None:
        """The changes stay."""

    def rollback(self, mark: int) -> None:
        """Forget the last changes."""
        while len(self._queue) > mark:
            self._queue.pop()

    def size(self) -> StateSize:
        """That of the operator so far."""
        return self._operators[0].size()

    def catch_up(self, since: int, installation: Installation) -> None:
        """Apply what has come, and what comes while others are let in, until nothing is left.

        What has come is applied, many changes at once, while others go on, as long as that leaves fewer each time.
        They wait for the rest, so that no stream of commits keeps it from ending.
        """
        before: float = inf
        while _SOON < len(self._queue) < before:
            before = len(self._queue)
            self._apply(self._taken(_MOST), since, installation.fill)
            installation.rest()
        if self._queue:
            self._apply(self._taken(len(self._queue)), since, _fill)

    def _taken(self, most: int) -> Delta | None:
        """What came first, at most so many changes, out of the queue."""
        taken = [self._queue.popleft() for _ in range(min(most, len(self._queue)))]
        return concat_deltas([delta for delta in taken if delta is not None])

    def _apply(self, delta: Delta | None, since: int, fill: Fill) -> None:
        for operator in self._operators:
            if delta is not None:
                delta = fill(operator, delta, since)


def hydrate(node: Node, time: int, installation: Installation) -> None:
    """Bring a new node up to the present from the contents of its input as of `time`, which is the present now.

    Raises what the operator raises; the installation must then be undone. Cost: that of stepping all the input's rows
    through the operator. Others are let in after every chunk.
    """
    way = _way_to(node, installation)
    operators = [each.operator for each in way]
    first = way[0]
    waiting = first.operator = Waiting(operators[0], operators[1:])
    (source,) = node.inputs
    if first is node:
        installation.hold(source, time)
    contents = source.contents(time, installation.read)
    if operators[-1].at_once:
        whole = _together(contents, installation)
        if whole is not None:
            installation.fill(operators[-1], whole, time, gathered=True)
    else:
        _fill_in_parts(operators[-1], contents, time, installation)
    installation.let_go()
    waiting.catch_up(time, installation)
    first.operator = operators[0]


def _way_to(node: Node, installation: Installation) -> list[Node]:
    """The nodes from one with state to this one, if nobody sees that one's output but through this one; else this."""
    way = [node]
    while len(way[0].inputs) == 1:
        source = way[0].inputs[0]
        if source not in installation.nodes or len(source.owners) > 1 or source.waits:
            break
        way.insert(0, source)
        if isinstance(source.operator, Present):
            return way
        if not isinstance(source.operator, Mfp | Negate):
            break
    return [node]


def _fill_in_parts(operator: Operator, contents: Iterator[Delta], time: int, installation: Installation) -> None:
    """Step `contents` through the operator; where a chunk raises NumericError, all that is left has the last word."""
    parts = _coming_first(contents)
    for delta in parts:
        if len(delta):
            try:
                installation.fill(operator, delta, time)
            except NumericError:
                rest = _together(chain([delta], parts), installation) or delta
                installation.fill(operator, rest, time, gathered=True)
        installation.rest()


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


def _together(parts: Iterator[Delta], installation: Installation) -> Delta | None:
    """All parts as one; others are let in after each."""
    found = []
    for delta in parts:
        if len(delta):
            found.append(delta.gathered())
        installation.rest()
    return concat_deltas(found)


def _fill(operator: Operator, delta: Delta, since: int) -> Delta | None:
    """Step an operator and make it final; nothing has happened if it raises NumericError."""
    marks = Marks()
    marks.add(operator.states)
    try:
        out = operator.step([delta])
    except NumericError:
        marks.rollback()
        raise
    marks.seal(since + 1, since)
    return out
