"""The end of a view's dataflow: the log of its output, from which it is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ivm.operators.operator import Contents, StateSize
from ivm.trace.delta import Delta, delta_of
from ivm.trace.trace import Trace


class Sink:
    """Appends the output's changes to a trace. Cost: one copy of them; reading consolidates."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._mark = trace.mark()

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """Append; the delta is passed on to whatever reads the view."""
        delta = inputs[0]
        if delta is not None:
            self._mark = self.trace.mark()
            self.trace.append(delta)
        return delta

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """The view's rows."""
        columns, diffs = self.trace.rows(None)
        if len(diffs):
            yield delta_of(columns, time, diffs, len(diffs))

    def commit(self, since: int) -> None:
        """Let the trace forget what nobody can read any more."""
        self.trace.compact(since)

    def abort(self) -> None:
        """Cut the tail off."""
        self.trace.abort(self._mark)

    def size(self) -> StateSize:
        """The trace's rows and bytes."""
        rows, size = self.trace.size()
        return StateSize(rows=rows, bytes=size)
