"""What adds the rows of a walk to a collection: the legs of a view's log, and of an arrangement."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from ivm.kernels.step.records import ADDING_LEG, APPENDED, IS_LEFT, LACKS, LENGTH, TIMES
from ivm.operators.stage import At, Leg, Reads
from ivm.operators.walk import LastStage
from ivm.trace.columns.column import Ints
from ivm.trace.delta import Delta
from ivm.trace.route import Route


class AddingLeg(Leg):
    """Rows are added to what `stage` is of, which tells of itself in `told`; `places` are those of its columns."""

    is_end = True
    tells = False
    kind: int

    def __init__(self, stage: LastStage, told: Ints, places: At, reads: Reads) -> None:
        self._stage, self._told, self.reads, self.marks = stage, told, reads, stage.marks
        self._places: Ints = np.array(places, np.int64).reshape(len(places), 2)

    def words(self, place: int, edges: tuple[int, int], groups: int) -> list[int]:
        """See `Words.words`."""
        told = [self.kind, *edges, groups, self._told.ctypes.data, self._places.ctypes.data, len(self._places)]
        return told + [0] * (ADDING_LEG - len(told))

    def asked(self, route: Route, number: int, delta: Delta, columns: Sequence[int]) -> object:
        """See `Leg.asked`: what the leg lacks before it can add the rows."""
        words, edge = route.words, route.edges[number]
        rows = words.item(edge + LENGTH)
        self.make_room(rows, rows if words.item(edge + TIMES) else 1, words.item(route.legs[number] + LACKS))
        return None

    @abstractmethod
    def make_room(self, rows: int, times: int, lacks: int) -> None:
        """Room for so many rows more, at so many times, and what is lacking besides."""

    def leave(self, route: Route, number: int) -> None:
        """See `Leg.leave`."""
        route.give(route.legs[number] + IS_LEFT, 1)

    def ended(self, route: Route, number: int, times: Ints | int) -> bool:
        """See `Leg.ended`."""
        at = route.legs[number] + APPENDED
        rows = route.words.item(at)
        if rows:
            route.words[at], self._stage.rows = 0, rows
        return rows > 0
