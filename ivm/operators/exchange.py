"""Where a shard's dataflow ends and begins: what leaves for other shards, and what comes from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ivm.operators.operator import Contents, Kept, Operator
from ivm.trace.delta import Delta


class Outlet(Operator):
    """Passes the changes of a fragment on to whoever sends them. It keeps nothing."""

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """The delta."""
        return inputs[0]

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """Those of the fragment."""
        return inputs[0]()


def nothing(time: int) -> Iterator[Delta]:
    """No rows."""
    return iter(())


class Channel(Kept):
    """Stands for what other shards send. It keeps nothing: what needs the rows again has arranged them.

    `arrived` gives all rows that there are as of a time, while what is new is filled from them; they are sent once more
    for that.
    """

    def __init__(self) -> None:
        self.arrived: Callable[[int], Iterator[Delta]] = nothing

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """The given delta."""
        return inputs[0]

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """What has arrived."""
        return self.arrived(time)
