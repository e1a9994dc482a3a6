"""Programs of a loop that may raise: rows at which they do are held back until their round is over.

What a round holds comes bit by bit, and some of it before the round: a row that is looked up brings the round in
which it came, while what takes it back comes in the pass of that round. So a row may be met that no round holds. A
program has the last word on those that are left when all of a round has come.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ivm.catalog.errors import NumericError
from ivm.catalog.types import SqlType
from ivm.operators.mfp import Mfp, Program
from ivm.operators.operator import NOTHING
from ivm.operators.stage import Leg, Stage
from ivm.operators.walk import Onward
from ivm.trace.columns.column import Ints
from ivm.trace.concatenation import concat_deltas
from ivm.trace.consolidate import consolidate
from ivm.trace.delta import Delta


class MfpByRound(Mfp):
    """An MFP over rows of which the last column is the round; see `Mfp`. Rows at which its program raises give nothing
    until `settle` is asked. Cost: beside that of the program a logarithm of calls for each such row.
    """

    def __init__(self, program: Program, types: Sequence[SqlType], pieces: Sequence[Stage] | None = None) -> None:
        super().__init__(program, types, pieces)
        self._held: list[Delta] = []

    @property
    def holds(self) -> bool:
        """Whether rows are held back."""
        return bool(self._held)

    def stages(self, source: int) -> Sequence[Stage] | None:
        """See `Operator.stages`: of several pieces, one may hold back what it cannot give back as it came."""
        return None if self._pieces is None or len(self._pieces) > 1 else (_Holding(self, *self._pieces),)

    def step(self, inputs: Sequence[Delta | None], onward: Onward | None = None) -> Delta | None:
        """The rows that pass, mapped; without those at which the program raises."""
        delta = inputs[0]
        if delta is None or not delta.length:
            return None
        try:
            return self._program(delta)
        except NumericError:
            return concat_deltas(self._passing(delta))

    def settle(self, number: int | None = None) -> None:
        """All has come of the rounds up to a number, or of all rounds. Raises NumericError where that leaves rows."""
        merged = concat_deltas([Delta(each.groups, each.layout, each.length, 0, each.diffs) for each in self._held])
        net = None if merged is None else consolidate(merged, self._types)
        self._held = [] if net is None else [net]
        if net is None:
            return
        if number is None:
            self._program(net)
            return
        rounds: Ints = net.column(len(self._types) - 1).values.astype(np.int64, copy=False)
        over = net.take(np.flatnonzero(rounds <= number))
        if len(over):
            self._program(over)

    def forget(self) -> None:
        """Nothing is held back any more."""
        self._held = []

    def _passing(self, delta: Delta) -> list[Delta]:
        """What the program makes of rows, in halves for as long as it raises."""
        try:
            found = self._program(delta)
        except NumericError:
            if delta.length > 1:
                half = delta.length // 2
                return [*self._passing(delta.slice(0, half)), *self._passing(delta.slice(half, delta.length))]
            self._held.append(delta.copied())
            return []
        return [] if found is None else [found]


class _Holding(Stage):
    """The one piece of a program: where it raises, `program` holds rows back."""

    def __init__(self, program: MfpByRound, piece: Stage) -> None:
        self._program, self._piece, self.varies = program, piece, piece.varies

    def passed(self, delta: Delta) -> Iterator[Delta]:
        """See `Stage.passed`."""
        yield self._program.step([delta]) or NOTHING

    def variant(self, delta: Delta) -> int:
        """See `Stage.variant`."""
        return self._piece.variant(delta)

    def leg(self, delta: Delta) -> Leg | None:
        """See `Stage.leg`."""
        return self._piece.leg(delta)
