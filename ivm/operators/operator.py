"""What every operator promises to the dataflow that drives it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from ivm.trace.delta import Delta
from ivm.trace.size import StateSize

__all__ = ["Contents", "Operator", "StateSize"]


Contents = Callable[[], Iterator[Delta]]
"""An input's present contents as updates of +1 at one time, in chunks of bounded size; made anew at each call."""


class Operator(Protocol):
    """A node of the dataflow.

    In one commit the dataflow calls `step` once with the deltas of all inputs (None where an input did not change); the
    deltas may hold many logical times. Output deltas are new objects; inputs are never written to. Then either `commit`
    or `abort` is called on every operator whose `step` ran. After `abort` the operator must answer as if `step` had not
    been called. `commit(since)` makes the step final; no reader will ask for times before `since` any more, so
    history before it may be forgotten (logical compaction).
    """

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """The change of the output that follows from the changes of the inputs; None if there is none."""
        ...

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """The output's present contents, as updates of +1 at `time`, in chunks of bounded size.

        Operators with state answer from it; the others compute it from their inputs' contents.
        """
        ...

    def commit(self, since: int) -> None:
        """Make the last step final."""
        ...

    def abort(self) -> None:
        """Undo the last step."""
        ...

    def size(self) -> StateSize:
        """The exact size of the state that this operator owns."""
        ...
