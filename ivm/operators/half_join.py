"""Half-joins: changes find the rows of their keys in an arrangement, and go on with them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ivm.operators.entered import Entered
from ivm.operators.look_ups import GroupLeg, IndexLeg
from ivm.operators.operator import NOTHING
from ivm.operators.reduce import GroupLookup
from ivm.operators.stage import Leg, Meeting
from ivm.trace.columns.column import Ints, every
from ivm.trace.delta import Delta
from ivm.trace.index.arrangement import Arrangement
from ivm.trace.index.follower import Lookup

PART = 1 << 17
FIRST_PART = 1 << 12
_LEAST_PART = 1 << 8


@dataclass(frozen=True, eq=False)
class HalfJoin(Meeting):
    """Finds the rows of the key, over parts of the delta that meet about `PART` rows each.

    `unique`: at most one row is found for each. `standing`: changes come at the present, as it is in a commit, so that
    walks find the state by themselves. Cost: a probe for each row and what it finds.
    """

    unique: bool
    standing: bool = True

    def over(self, lookups: Iterator[Lookup]) -> HalfJoin:
        """See `Stage.over`."""
        return replace(self, lookup=next(lookups), inclusive=True, standing=False)

    def passed(self, delta: Delta) -> Iterator[Delta]:
        """See `Stage.passed`."""
        start, length, size = 0, len(delta), PART if self.unique else FIRST_PART
        while start < length:
            stop = min(start + min(size, self.lookup.at_once), length)
            joined = self._look_up(delta.slice(start, stop))
            if stop < length:
                size = next_size(stop - start, len(joined))
            yield joined
            start = stop

    def _look_up(self, delta: Delta) -> Delta:
        words, dropped = self.lookup.layout.pack([delta.column(c) for c in self.stream], len(delta))
        positions, rows = self.lookup.look_up(words, dropped, delta.times, self.inclusive, self.wanted)
        if len(positions) == 0:
            return NOTHING
        every = len(positions) == len(delta) and (self.unique or _is_every_row(positions))
        joined = delta if every else delta.take(positions)
        return joined.bind(rows, self.offset, self.width)

    def leg(self, delta: Delta) -> Leg | None:
        """See `Stage.leg`. Groups as they were sealed are read again where others write meanwhile: Python does that."""
        if isinstance(self.lookup, Arrangement):
            return IndexLeg(self, self.standing, self.lookup, delta)
        if isinstance(self.lookup, Entered) and isinstance(self.lookup.lookup, Arrangement):
            return IndexLeg(self, self.standing, self.lookup.lookup, delta, self.lookup)
        if isinstance(self.lookup, GroupLookup) and not self.lookup.is_sealed:
            return GroupLeg(self, self.lookup, delta)
        return None


def next_size(rows: int, matches: int) -> int:
    """How many rows to take next, where so many met so many matches: as many as meet about `PART`."""
    return max(_LEAST_PART, min(PART, PART * rows // max(matches, 1)))


def _is_every_row(positions: Ints) -> bool:
    """Whether each of as many rows found exactly one partner, so that nothing has to move; positions ascend."""
    return bool(positions[-1] == len(positions) - 1 and every(positions[1:] > positions[:-1]))
