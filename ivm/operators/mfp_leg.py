"""A program behind an end of walks: a leg that maps what comes of it, and lets it go on."""

from __future__ import annotations

from ivm.kernels.memory.places import PLACES, REFERENCES, SOURCE
from ivm.kernels.step.records import DIFFS, GROUPS, LENGTH, TIMES
from ivm.operators.stage import Leg, Stage
from ivm.operators.walk import LastStage
from ivm.trace.columns.column import Ints
from ivm.trace.delta import Delta, Group
from ivm.trace.made import Made
from ivm.trace.route import Route
from ivm.trace.state import Marks

_MOST_LEGS = 32
"""How often a stage makes a leg, before columns are taken to lie otherwise too often."""


class MfpStage(LastStage):
    """The step of a program on walks; it is the one stage, `piece`."""

    follows = True

    def __init__(self, piece: Stage, marks: Marks) -> None:
        self.piece, self.marks = piece, marks
        self._left = _MOST_LEGS

    def leg(self, delta: Delta) -> Leg | None:
        """See `Stage.leg`: if nothing is to be told before. Columns that lie otherwise each time get no new one."""
        inner = None if not self._left or self.piece.varies else self.piece.leg(delta)
        if inner is None or inner.tells or inner.is_first or inner.is_last or inner.extra:
            return None
        self._left -= 1
        return MfpLeg(self, inner)


class MfpLeg(Leg):
    """A piece of a program, whose own leg is `inner`. It has no state."""

    is_end = follows = True
    tells = False

    def __init__(self, stage: MfpStage, inner: Leg) -> None:
        self._stage, self._inner, self.marks = stage, inner, stage.marks
        self.reads, self.goes_on, self.made, self.layout = inner.reads, inner.goes_on, inner.made, inner.layout

    def more(self, groups: int) -> int:
        """See `Words.more`."""
        return self._inner.more(groups)

    def words(self, place: int, edges: tuple[int, int], groups: int) -> list[int]:
        """See `Words.words`."""
        return self._inner.words(place, edges, groups)

    def is_otherwise(self, said: int) -> bool:
        """See `Leg.is_otherwise`."""
        return self._inner.is_otherwise(said)

    def ended(self, route: Route, number: int, times: Ints | int) -> bool:
        """See `Leg.ended`: if anything has come of the end before, and the walk has not stopped here."""
        rows = route.words.item(route.edges[number] + LENGTH)
        if not rows or 0 <= route.at <= number:
            return False
        self._stage.rows = rows
        return True

    def led_on(self, route: Route, number: int, delta: Delta) -> Delta:
        """See `Leg.led_on`."""
        edge = route.edge(number + 1)
        length, groups, at = edge[LENGTH], list[Group](), GROUPS
        if length == delta.length and not self.made:
            groups = [delta.groups[place] for place in self.goes_on]
            return Delta(groups, self.layout, length, delta.times, delta.diffs)
        for place in self.goes_on:
            references, given = edge[at + REFERENCES], delta.groups[place]
            groups.append(Group(given.source, route.moved(references, length, given.refs) if references else None))
            at += SOURCE
        if self.made:
            arena, begin = route.arena_of(edge[at + PLACES])
            groups.append(Group(Made(arena, begin, edge[at + PLACES], self.made, length)))
        times = delta.times if isinstance(delta.times, int) else route.moved(edge[TIMES], length, delta.times)
        diffs = route.moved(edge[DIFFS], length, delta.diffs) if edge[DIFFS] else None
        return Delta(groups, self.layout, length, times, diffs)
