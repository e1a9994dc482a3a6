"""The ends of the dataflow: where changes enter, base tables and constants, and the logs that views are read from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import repeat

from ivm.operators.operator import Contents, Kept
from ivm.operators.sink_leg import SinkStage
from ivm.trace.delta import Delta, delta_of
from ivm.trace.state import Marks
from ivm.trace.view_log import ViewLog

_CHUNK = 1 << 16


class Feed(Kept):
    """Stands for a collection kept elsewhere; the dataflow puts its deltas in, `read(time)` gives what is there.

    `width`: how many columns of it are read, those in front; 0: all.
    """

    def __init__(self, read: Callable[[int], Iterator[Delta]], width: int = 0) -> None:
        self._read, self._width = read, width

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """What is there."""
        found = self._read(time)
        return map(Delta.first, found, repeat(self._width)) if self._width else found

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """The given delta."""
        return inputs[0]


class Sink(Kept):
    """Appends the output's changes to a log. Cost: one copy of them; reading consolidates."""

    def __init__(self, log: ViewLog) -> None:
        self.log = log
        self.states = (log,)

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """Append; the delta is passed on to whatever reads the view."""
        delta = inputs[0]
        if delta is not None:
            self.log.append(delta)
        return delta

    def onward(self, marks: Marks) -> SinkStage:
        """See `Operator.onward`."""
        return SinkStage(self.log, marks)

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """The view's rows; consolidated first, in one go, if they have changed since they were last read."""
        columns, diffs = self.log.rows(time)
        rows = delta_of(columns, time, diffs, len(diffs))
        for start in range(0, len(rows), _CHUNK):
            yield rows.slice(start, min(start + _CHUNK, len(rows)))
