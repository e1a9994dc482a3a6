"""Map-filter-project: a program over each delta. State: none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ivm.operators.operator import Contents, StateSize
from ivm.trace.delta import Delta

Program = Callable[[Delta], Delta | None]


class Stateless:
    """What operators without state share: nothing to commit, undo or count."""

    def commit(self, since: int) -> None:
        """Nothing to make final."""

    def abort(self) -> None:
        """Nothing to undo."""

    def size(self) -> StateSize:
        """No state."""
        return StateSize()


class Mfp(Stateless):
    """Runs a compiled or interpreted program; cost: one pass over what the program reads."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """The rows that pass, mapped."""
        delta = inputs[0]
        return None if delta is None else self._program(delta)

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """The program over the input's contents."""
        for delta in inputs[0]():
            result = self._program(delta)
            if result is not None:
                yield result
