"""What makes another row of one without computing anything: as a leg, and as a stage."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ivm.kernels.step.records import FRAME, LOOP, LOOP_LEG, USED, USES, frame_words
from ivm.operators.stage import Leg, Reads, Stage
from ivm.trace.columns.column import every
from ivm.trace.delta import Columns, Delta, Layout


class Projection(Leg):
    """A piece that computes nothing: some groups go on."""

    splits = tells = False

    def __init__(self, used: Sequence[int], layout: Layout, reads: Reads = ()) -> None:
        self.goes_on, self.layout, self.reads = used, layout, reads

    def more(self, groups: int) -> int:
        """See `Words.more`."""
        return len(self.goes_on)

    def words(self, place: int, edges: tuple[int, int], groups: int) -> list[int]:
        """See `Words.words`."""
        words = [LOOP, *edges, groups, *(0,) * (LOOP_LEG - 4), *self.goes_on]
        words[USED], words[USES] = place + LOOP_LEG, len(self.goes_on)
        words[FRAME] = place + len(words)
        return [*words, *(0,) * frame_words(0, 0, len(self.goes_on))]


class Laid(Stage):
    """Rows with their columns at other places. `lay` gives the layout that comes of one."""

    def __init__(self, lay: Callable[[Layout], Layout]) -> None:
        self.lay = lay

    def passed(self, delta: Delta) -> Iterator[Delta]:
        """See `Stage.passed`."""
        yield Delta(delta.groups, self.lay(delta.layout), delta.length, delta.times, delta.diffs)

    def leg(self, delta: Delta) -> Leg | None:
        """See `Stage.leg`."""
        return Projection(range(len(delta.groups)), self.lay(delta.layout))


class ReadInPlace(Stage):
    """Rows as they are; says that whoever lets them come reads these columns where they lie."""

    def __init__(self, columns: Sequence[int]) -> None:
        self._columns = columns

    def passed(self, delta: Delta) -> Iterator[Delta]:
        """See `Stage.passed`."""
        yield delta

    def leg(self, delta: Delta) -> Leg | None:
        """See `Stage.leg`."""
        reads = dict[int, dict[int, None]]()
        for column in self._columns:
            place = delta.layout.places[column]
            if place is None or isinstance(place[1], tuple):
                return None
            reads.setdefault(place[0], {})[place[1]] = None
        return Projection(range(len(delta.groups)), delta.layout, [(each, tuple(of)) for each, of in reads.items()])


class Given(Columns):
    """Rows that groups have given, as they come back; the last column is one, as that of rows which are signed."""

    __slots__ = ()


class Unsign(Stage):
    """Rows without their last column, a sign, by which their diffs are multiplied."""

    varies = True

    def passed(self, delta: Delta) -> Iterator[Delta]:
        """See `Stage.passed`."""
        yield unsigned(delta)

    def variant(self, delta: Delta) -> int:
        """See `Stage.variant`: whether no sign is to be looked at."""
        group, column = delta.layout.places[-1] or (0, -1)
        source = delta.groups[group].source
        return int(isinstance(source, Given) and column == len(source.columns) - 1)

    def leg(self, delta: Delta) -> Leg | None:
        """See `Stage.leg`."""
        if not self.variant(delta):
            return None
        return Projection(range(len(delta.groups)), delta.layout.first(len(delta.layout) - 1))


def unsigned(delta: Delta) -> Delta:
    """Rows without their last column, a sign, by which their diffs are multiplied."""
    width = len(delta.layout) - 1
    signs, diffs = delta.column(width).values.astype(np.int64, copy=False), delta.diffs
    if not every(signs == 1):
        diffs = delta.diff_array() * signs
    return Delta(delta.groups, delta.layout.first(width), delta.length, delta.times, diffs)
