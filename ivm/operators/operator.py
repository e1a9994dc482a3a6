"""What every operator promises to the dataflow that drives it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from ivm.trace.delta import Delta
from ivm.trace.layout import plain_layout
from ivm.trace.size import StateSize
from ivm.trace.state import State

__all__ = ["Contents", "Operator", "StateSize"]


Contents = Callable[[], Iterator[Delta]]
"""An input's contents as updates at one time, in chunks as `Operator.contents` gives them; made anew at each call."""

NOTHING = Delta([], plain_layout(0), 0, 0)
"""A chunk without rows: some work was done."""

Each = TypeVar("Each")


class Operator(Protocol):
    """A node of the dataflow.

    In one commit the dataflow calls `step` once with the deltas of all inputs (None where an input did not change); the
    deltas may hold many logical times. Output deltas are new objects; inputs are never written to. Whatever the step
    changes is one of `states`, which the dataflow has marked before, and rolls back or seals after.

    `apart`: whether `step` and the states' `seal` touch nothing but the operator's own state, the columns they are
    given and the dictionary of texts, so that an operator that nobody reads yet can be stepped while others commit.
    `at_once`: whether an operator is filled better by one step than by many, since each does again what those before
    it did.
    """

    apart: bool
    at_once: bool

    @property
    def states(self) -> Sequence[State]:
        """The state that this operator alone changes."""
        ...

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """The change of the output that follows from the changes of the inputs; None if there is none."""
        ...

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """The output's contents as of `time`, as updates at `time` that add up to them, in chunks of bounded size.

        Operators with state answer from it; the others compute it from their inputs' contents. Between two chunks there
        is a bounded amount of work: where that yields no rows, the chunk is `NOTHING`.
        """
        ...

    def drawn_from(self, inputs: Sequence[Each]) -> Sequence[Each]:
        """Those of the inputs whose contents `contents` reads; none, where it answers from the operator's state."""
        ...

    def hold(self, time: int | None) -> None:
        """Lookups may be as of `time`, the present, also after later commits; None: no longer."""
        ...

    def size(self) -> StateSize:
        """The exact size of the state that this operator owns."""
        ...
