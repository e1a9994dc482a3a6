"""What every operator promises to the dataflow that drives it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence

from ivm.operators.stage import Stage
from ivm.operators.walk import LastStage, Onward, Walk
from ivm.trace.delta import Delta, in_time_order, plain_layout
from ivm.trace.state import Marks, State, StateSize

__all__ = ["Contents", "Kept", "Operator", "StateSize", "live_input"]


Contents = Callable[[], Iterator[Delta]]
"""An input's contents as updates at one time, in chunks as `Operator.contents` gives them, held from the call on."""

NOTHING = Delta([], plain_layout(0), 0, 0)
"""A chunk without rows: some work was done."""


class Operator(ABC):
    """A node of the dataflow.

    In one commit the dataflow calls `step` once with the deltas of all inputs (None where an input did not change); the
    deltas may hold many logical times. Output deltas are new objects; inputs are never written to. Whatever the step
    changes is one of `states`, which the dataflow has marked before, and rolls back or seals after.
    """

    states: Sequence[State] = ()
    """The state that this operator alone changes."""

    @abstractmethod
    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """The change of the output that follows from the changes of the inputs; None if there is none."""

    def onward(self, marks: Marks) -> LastStage | None:
        """What walks that lead here may go on through, in place of `step`; it adds to the marks what it changes."""
        return None

    def stages(self, source: int) -> Sequence[Stage] | None:
        """What changes of an input, of this number, pass on their way, if that is all that is done with them."""
        return None

    def path(self, source: int) -> Sequence[Stage] | None:
        """The same of changes of this input alone, which may raise NumericError where `step` does not."""
        return None

    @abstractmethod
    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """The output's contents as of `time`, as updates at `time` that add up to them, in chunks of bounded size.

        Operators with state answer from it; the others compute it from their inputs' contents. `time` is the present;
        commits may come between two chunks, since what is read is held from the call on, or keeps its history. Between
        two chunks there is a bounded amount of work: where that yields no rows, the chunk has none, as `NOTHING`.
        """

    @property
    def visited(self) -> int:
        """Nodes of ordered state that were visited so far."""
        return sum(state.visited for state in self.states)

    def size(self) -> StateSize:
        """The exact size of the state that this operator owns."""
        sizes = [state.size() for state in self.states]
        rows, entries = sum(each.rows for each in sizes), sum(each.entries for each in sizes)
        return StateSize(rows, entries, sum(each.bytes for each in sizes))


class Leading(Operator):
    """An operator whose changes are made by a walk, which may go on through their only reader.

    `is_end`: by one that ends here before, so that what follows an end may follow.

    NumericError goes through the step where something has come to the first end of those `onward`: what was done there
    is to be undone, before the step is made anew without them.
    """

    is_end = False

    @abstractmethod
    def step(self, inputs: Sequence[Delta | None], onward: Onward | None = None) -> Delta | None:
        """See `Operator.step`; what comes of the changes if they have gone `onward`."""

    def walks(self, inputs: Sequence[Delta | None], onward: Onward | None) -> Sequence[tuple[Walk, Delta]] | None:
        """The walks that a step begins, each with what goes along, where it does nothing else before; else None."""
        return None


class Kept(Operator):
    """Sources, views and operators with state: their contents are kept, here or in a table, and ask no input."""


def live_input(inputs: Sequence[Delta | None]) -> Delta | None:
    """The first input's updates as `in_time_order` gives them; None if there are none."""
    delta = inputs[0]
    return None if delta is None or not delta.length else in_time_order(delta)
