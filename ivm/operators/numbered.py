"""Rounds by value: where a loop takes the least of values, small ones come first, so that few come in vain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ivm.operators.operator import Contents, Operator
from ivm.trace.columns.column import Column, Ints
from ivm.trace.delta import Columns, Delta, Group

_APART = 256
"""So many rounds lie between values of one length in bits and those of the next."""
_STEPS = 64
"""So many rounds lie between the least value there is at first and the greatest that follows from it at once."""


class ByValue:
    """In which rounds rows come, by a value of which the least counts, or the greatest if `largest`.

    Values that are passed on unchanged enter in rounds by their length in bits, counted from the least: small ones are
    everywhere before larger ones come. Of values that grow each comes in its own round, in units, or later, which is
    Dijkstra's order: what is the least by then stays so, but for what less than a unit leads to. `counted`: the value
    from which is counted, and the unit, 0 until some other value is known. They stay as they are, for what goes has to
    go in the round in which it came.
    """

    def __init__(self, largest: bool) -> None:
        self._largest = largest
        self.counted: tuple[int, int] | None = None

    def entering(self, column: Column) -> Ints:
        """The rounds in which values enter; NULL, which counts for nothing, in round 0."""
        bits: Ints = np.frexp(self._above(column).astype(np.float64))[1].astype(np.int64)
        return _APART * bits

    def delayed(self, rounds: Ints, column: Column) -> Ints:
        """The rounds in which values come that are there in those given, or later."""
        above = self._above(column)
        if self.counted is None:
            return rounds
        base, unit = self.counted
        if not unit and above.any():
            unit = max(1, int(above.max()) // _STEPS)
            self.counted = base, unit
        return np.maximum(rounds, above if unit <= 1 else above // unit)

    def _above(self, column: Column) -> Ints:
        """How far values are from that from which is counted, on the side on which more are expected."""
        values = column.values.astype(np.int64)
        known = values if column.valid is None else values[column.valid]
        if self.counted is None and len(known):
            self.counted = int(known.max() if self._largest else known.min()), 0
        if self.counted is None:
            return np.zeros(len(values), np.int64)
        base = self.counted[0]
        above: Ints = np.maximum(base - values if self._largest else values - base, 0)
        if column.valid is not None:
            above[~column.valid] = 0
        return above


class Numbered(Operator):
    """The input with one more column, the round in which it enters a loop. State: the loop's."""

    def __init__(self, by_value: ByValue, column: int) -> None:
        self._by_value, self._column = by_value, column

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """The input's changes."""
        delta = inputs[0]
        if delta is None or not delta.length:
            return None
        rounds = self._by_value.entering(delta.column(self._column))
        return _with_rounds(delta, len(delta.layout), rounds)

    def contents(self, inputs: Sequence[Contents], time: int) -> Iterator[Delta]:
        """Nobody reads it but the loop."""
        raise AssertionError("what is in a loop is read of its result")


class Delayed(Numbered):
    """The input in rounds by its values, or later: in the last column. State: the loop's."""

    def step(self, inputs: Sequence[Delta | None]) -> Delta | None:
        """The input's changes. Cost: reads both columns."""
        delta = inputs[0]
        if delta is None or not delta.length:
            return None
        width = len(delta.layout) - 1
        rounds = delta.column(width).values.astype(np.int64, copy=False)
        later = self._by_value.delayed(rounds, delta.column(self._column))
        return _with_rounds(delta, width, later)


def _with_rounds(delta: Delta, width: int, rounds: Ints) -> Delta:
    """The first columns of a delta, so many, and the round."""
    kept = Delta(delta.groups, delta.layout.first(width), delta.length, delta.times, delta.diffs)
    return kept.bind(Group(Columns([Column(rounds)])), width, 1)
