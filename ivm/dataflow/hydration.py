"""Hydration: a new node brought up to the present, while commits go on.

The node takes the contents of its input as of the time at which it began. What later commits bring to it waits, and
is applied, in order, when the contents are through. So others may be let in after every chunk, and whatever happens
meanwhile, the node ends up as if it had been there all along.

Contents add up to a collection, their first chunks alone need not: a chunk may take back rows that a later one brings,
and what has come so far may have a sum that does not fit though the whole has. Neither is the operator to suffer.

Reading a chunk takes a bounded time. What the new operator does with it may not, as when a window is computed: but
nobody else knows its state, so others commit meanwhile.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from math import inf
from typing import cast

import numpy as np

from ivm.catalog.errors import NumericError
from ivm.dataflow.bits import Bits, Made
from ivm.dataflow.node import Node
from ivm.operators.operator import NOTHING, Operator
from ivm.trace.concatenation import concat_deltas
from ivm.trace.delta import Delta
from ivm.trace.helpers import Errands, Helpers
from ivm.trace.lessons import Lessons
from ivm.trace.state import Marks
from ivm.trace.time import BEGINNING
from ivm.trace.turns import Aside, at_once

_SOON = 1 << 10
"""How many changes are caught up with while others wait."""
_EACH = 1 << 7
"""As so many changes a commit counts that brought fewer."""
_MOST = 1 << 10
"""With so many at once while there are more."""
_SMALL = 1 << 10
"""Changes of at most so many rows are kept as values, so that no wait is for many of them to be gathered at once."""

Step = Callable[[Sequence[Delta | None]], None]
"""What is done with a chunk. Where others are let in meanwhile, it must not read a store."""


@dataclass
class Installation:
    """A view on its way in: the nodes made for it, which nobody else may come to harm by.

    Commits may come between two bits of it, and while `aside` does what it is given. Others help by its `errands`.
    History from `since` on is kept.
    `waiting` is the node that is being hydrated, `backlog` what commits have brought to it meanwhile, each under the
    time that was present before it.
    `error` is what one of the new nodes raised in such a commit: the commit goes on without them, the installation not.
    `lessons`: what the searches among what is read have met.
    """

    aside: Aside = at_once
    errands: Errands = field(default_factory=lambda: Errands(Helpers(1)))
    since: int = BEGINNING
    nodes: dict[Node, None] = field(default_factory=dict)
    waiting: Node | None = None
    backlog: dict[int, Sequence[Delta | None]] = field(default_factory=dict)
    error: Exception | None = None
    lessons: Lessons = field(default_factory=Lessons)
    _read: int = 0

    def keep(self, inputs: Sequence[Delta | None], time: int) -> None:
        """Let a change wait. Columns of many rows are read later: no store renumbers its rows meanwhile."""
        if any(delta is not None for delta in inputs):
            self.backlog[time] = [
                delta.gathered() if delta is not None and len(delta) <= _SMALL else delta for delta in inputs
            ]

    def read(self, rows: int) -> None:
        """So many rows were read."""
        self._read += rows

    def bits(self, work: Bits[Made]) -> Bits[Made]:
        """The same work, which raises what the new nodes have raised meanwhile.

        After each bit what was searched learns from it: that is the seal of what has been read.
        """
        with closing(work):
            while True:
                try:
                    with self.errands, self.lessons:
                        rows = next(work) if self.error is None else work.throw(self.error)
                except StopIteration as end:
                    return cast(Made, end.value)
                self.lessons.teach()
                rows, self._read = self._read + rows, 0
                yield rows


def hydrate(node: Node, time: int, installation: Installation, *, whole: bool, alone: bool) -> Bits[None]:
    """Bring a new node up to the present from the contents of its inputs as of `time`, which is the present now.

    Those of one input come after those of the one before, as if there were nothing else.
    `whole`: in one step, where each of many would do again what those before it did. `alone`: nobody commits during a
    step, since it uses what commits use. Raises what the operator raises; the installation must then be undone. Cost:
    that of stepping all the input's rows through the operator. A bit is a chunk of them.
    """
    installation.waiting = node
    each = [source.contents(time, installation.read) for source in node.inputs]
    step = partial(_step, node.operator, since=time)
    fill: Step = step if alone else lambda inputs: installation.aside(partial(step, inputs))
    try:
        for number, contents in enumerate(each):
            fill_one = partial(_of_input, fill, number, len(each))
            yield from _filled_whole(fill_one, contents) if whole else _filled_in_parts(fill_one, contents)
    finally:
        installation.errands.wait()
    yield from catch_up(node.operator, time, installation, fill)
    installation.waiting = None


def _of_input(fill: Step, number: int, count: int, found: Sequence[Delta | None]) -> None:
    """Fill with what there is of the input of this number, and of the others nothing."""
    fill([found[0] if each == number else None for each in range(count)])


def _step(operator: Operator, inputs: Sequence[Delta | None], since: int) -> None:
    """Step an operator that nobody reads yet, and make it final; nothing has happened if it raises NumericError."""
    marks = Marks()
    marks.add(operator.states)
    try:
        operator.step(inputs)
    except NumericError:
        marks.rollback()
        raise
    marks.seal(max(int(np.max(delta.times)) for delta in inputs if delta is not None) + 1, since)


def _filled_whole(fill: Step, contents: Iterator[Delta]) -> Bits[None]:
    """Fill an operator in one step; others are let in after each chunk is read."""
    whole = yield from whole_of(contents)
    if whole is not None:
        fill([whole])


def whole_of(contents: Iterator[Delta]) -> Bits[Delta | None]:
    """All of some contents, a chunk a bit."""
    found = []
    for delta in contents:
        if len(delta):
            found.append(delta.gathered())
        yield 0
    return concat_deltas(found)


def _filled_in_parts(fill: Step, contents: Iterator[Delta]) -> Bits[None]:
    """Fill an operator chunk by chunk. Where one raises NumericError, all that is left has the last word.

    The next is not read meanwhile: who reads keeps commits waiting, and would wait for the interpreter's lock himself.
    """
    parts = _coming_first(contents)
    for delta in parts:
        if len(delta):
            ready = delta.gathered()
            try:
                fill([ready])
            except NumericError:
                yield from _filled_whole(fill, chain([ready], parts))
                return
        yield 0


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


def catch_up(operator: Operator, since: int, installation: Installation, fill: Step | None = None) -> Bits[None]:
    """Apply what has come, and what comes while others are let in, until nothing is left.

    What has come is applied, many commits at once, while others go on, as long as that leaves fewer changes each time.
    They wait for the rest, so that no stream of commits keeps it from ending. `fill`: how that is done while others go
    on; None: they wait.
    """
    backlog, step = installation.backlog, partial(_step, operator, since=since)
    fill, before = step if fill is None else fill, inf
    while _SOON < (left := sum(_size(inputs) for inputs in backlog.values())) < before:
        before = left
        fill([None if delta is None else delta.gathered() for delta in _first(backlog, _MOST)])
        yield 0
    if backlog:
        step(_first(backlog, len(backlog)))


def _size(inputs: Sequence[Delta | None]) -> int:
    """How many changes a commit counts as."""
    return max(sum(len(delta) for delta in inputs if delta is not None), _EACH)


def _first(backlog: dict[int, Sequence[Delta | None]], most: int) -> list[Delta | None]:
    """What came first, of at most so many commits, out of the backlog."""
    taken = [backlog.pop(time) for time in tuple(islice(backlog, most))]
    return [concat_deltas([delta for delta in of_input if delta is not None]) for of_input in zip(*taken, strict=True)]
