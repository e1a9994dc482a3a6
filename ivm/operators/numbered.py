"""Rounds by value: where a loop takes the least of values, small ones come first, so that few come in vain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ivm.catalog.types import Physical
from ivm.kernels.step.records import (
    BASE,
    DELAY,
    DELAY_LEG,
    LARGEST,
    MADE,
    OUTPUTS,
    ROUND_COLUMN,
    ROWS,
    UNIT,
    USED,
    USES,
    VALUE,
)
from ivm.operators.operator import Contents, Operator
from ivm.operators.stage import Leg, Stage
from ivm.trace.columns.column import Column, Ints
from ivm.trace.delta import Columns, Delta, Group, Source
from ivm.trace.route import Route

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
        self.largest = largest
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
            self.counted = int(known.max() if self.largest else known.min()), 0
        if self.counted is None:
            return np.zeros(len(values), np.int64)
        base = self.counted[0]
        above: Ints = np.maximum(base - values if self.largest else values - base, 0)
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
        return delayed(self._by_value, self._column, delta)

    def stages(self, source: int) -> Sequence[Stage]:
        """See `Operator.stages`."""
        return (Delay(self._by_value, self._column),)


class Delay(Stage):
    """Rows that come in rounds by their values, or later."""

    def __init__(self, by_value: ByValue, column: int) -> None:
        self._by_value, self._column = by_value, column

    def passed(self, delta: Delta) -> Iterator[Delta]:
        """See `Stage.passed`."""
        yield delayed(self._by_value, self._column, delta)

    def leg(self, delta: Delta) -> Leg | None:
        """See `Stage.leg`."""
        value, given = delta.layout.places[self._column], delta.layout.places[-1]
        if value is None or given is None or isinstance(value[1], tuple) or isinstance(given[1], tuple):
            return None
        return _DelayLeg(self._by_value, (value[0], value[1]), (given[0], given[1]), delta)


class _DelayLeg(Leg):
    """Rounds are made of the columns at these places; of values that cannot be NULL, in a unit that is known."""

    splits = False
    made = (Physical.INT64,)

    def __init__(self, by_value: ByValue, value: tuple[int, int], given: tuple[int, int], delta: Delta) -> None:
        self._by_value, self._places, groups, width = by_value, (*value, *given), len(delta.groups), len(delta.layout)
        self.reads = [(value[0], (value[1],)), (given[0], (given[1],))]
        self.goes_on = range(groups)
        self.layout = delta.layout.first(width - 1).bind(groups, width - 1, 1)

    def more(self, groups: int) -> int:
        """See `Words.more`."""
        return groups + 1

    def words(self, place: int, edges: tuple[int, int], groups: int) -> list[int]:
        """See `Words.words`."""
        words = [DELAY, *edges, groups, *(0,) * (DELAY_LEG - 4), *self.goes_on, 0, 8, 1, -1]
        words[USED], words[USES], words[ROWS] = place + DELAY_LEG, groups, 1
        words[MADE], words[OUTPUTS] = place + DELAY_LEG + groups, 1
        words[VALUE : ROUND_COLUMN + 1] = self._places
        words[LARGEST] = self._by_value.largest
        return words

    def begin(
        self, route: Route, number: int, delta: Delta, columns: Sequence[int], sources: Sequence[Source]
    ) -> object:
        """See `Leg.begin`: from where, and in which unit is counted."""
        at = route.legs[number]
        route.words[at + BASE], route.words[at + UNIT] = self._by_value.counted or (0, 0)
        return None


def delayed(by_value: ByValue, column: int, delta: Delta) -> Delta:
    """Rows in rounds by the values of a column, or later."""
    width = len(delta.layout) - 1
    rounds = delta.column(width).values.astype(np.int64, copy=False)
    return _with_rounds(delta, width, by_value.delayed(rounds, delta.column(column)))


def _with_rounds(delta: Delta, width: int, rounds: Ints) -> Delta:
    """The first columns of a delta, so many, and the round."""
    kept = Delta(delta.groups, delta.layout.first(width), delta.length, delta.times, delta.diffs)
    return kept.bind(Group(Columns([Column(rounds)])), width, 1)
