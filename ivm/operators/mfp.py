"""Map-filter-project: a program over each delta. State: none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from ivm.catalog.errors import NumericError
from ivm.catalog.types import SqlType
from ivm.operators.mfp_leg import MfpStage
from ivm.operators.operator import NOTHING, Contents, Leading
from ivm.operators.stage import Stage
from ivm.operators.walk import Onward, Walk
from ivm.trace.concatenation import concat_deltas
from ivm.trace.consolidate import consolidate
from ivm.trace.delta import Delta
from ivm.trace.state import Marks


class Program(Protocol):
    """What gives the rows of a delta that pass, mapped."""

    def __call__(self, delta: Delta, /) -> Delta | None:
        """See `MfpProgram.run`."""


class Mfp(Leading):
    """Runs a compiled or interpreted program; cost: one pass over what the program reads.

    A change may hold rows that it takes back itself, which were never there: where the program raises NumericError, it
    has the last word on the consolidated change. `types` are those of the input's columns.
    """

    def __init__(
        self,
        program: Program,
        types: Sequence[SqlType],
        pieces: Sequence[Stage] | None = None,
        walk: Walk | None = None,
    ) -> None:
        """`pieces`: the stages that the program is, if that is known; `walk`: the one through them that it makes."""
        self._program = program
        self._types = types
        self._pieces = pieces
        self._walk = walk

    def stages(self, source: int) -> Sequence[Stage] | None:
        """See `Operator.stages`."""
        return self._pieces

    def step(self, inputs: Sequence[Delta | None], onward: Onward | None = None) -> Delta | None:
        """The rows that pass, mapped."""
        delta, walk = inputs[0], self._walk
        if delta is None or not delta.length:
            return None
        try:
            if walk is None:
                return self._program(delta)
            passed = walk.all(delta, onward)
            return passed[0] if len(passed) == 1 else concat_deltas(passed)
        except NumericError:
            if onward is not None and onward.has_come:
                raise
            return over_net(self._program, [delta], self._types)

    def walks(self, inputs: Sequence[Delta | None], onward: Onward | None) -> Sequence[tuple[Walk, Delta]] | None:
        """See `Leading.walks`."""
        (delta,), walk = inputs, self._walk
        if walk is None or delta is None:
            return None
        return ((walk if onward is None else walk.led(onward), delta),)

    def onward(self, marks: Marks) -> MfpStage | None:
        """See `Operator.onward`."""
        stages = () if self._walk is None else self._walk.stages
        return MfpStage(stages[0], marks) if len(stages) == 1 else None

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """The program over the input's contents."""
        return self._passed(inputs[0]())

    def _passed(self, parts: Iterator[Delta]) -> Iterator[Delta]:
        for delta in parts:
            if len(delta) == 0:
                yield NOTHING
                continue
            try:
                result = self._program(delta)
            except NumericError:
                # The rows that take those back come later, since they would raise as well.
                rest = [delta]
                for part in parts:
                    if len(part):
                        rest.append(part)
                    yield NOTHING
                result = over_net(self._program, rest, self._types)
            yield NOTHING if result is None else result


def over_net(program: Program, deltas: Sequence[Delta], types: Sequence[SqlType]) -> Delta | None:
    """The program over what is left of the sum of `deltas`."""
    merged = concat_deltas(deltas)
    net = None if merged is None else consolidate(merged, types)
    return None if net is None else program(net)
