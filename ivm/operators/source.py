"""Where changes enter the dataflow: base tables and constants."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ivm.operators.operator import Contents, Kept
from ivm.trace.delta import Delta


class Source(Kept):
    """Stands for a collection kept elsewhere; the dataflow puts its deltas in, `read(time)` gives what is there."""

    def __init__(self, read: Callable[[int], Iterator[Delta]]) -> None:
        self._read = read

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """What is there."""
        return self._read(time)

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """The given delta."""
        return inputs[0]
