"""A view's log as the end of walks: a leg that adds rows to it where a route leads to them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ivm.kernels.step.records import APPENDED, IS_LEFT, LACKS, LENGTH, SINK, SINK_LEG
from ivm.operators.stage import At, Leg, Reads, read_at
from ivm.operators.walk import LastStage
from ivm.trace.columns.column import Ints
from ivm.trace.delta import Delta, plain_layout
from ivm.trace.route import Route
from ivm.trace.state import Marks
from ivm.trace.view_log import ViewLog


class SinkStage(LastStage):
    """The step of a sink on walks."""

    gives = False

    def __init__(self, log: ViewLog, marks: Marks) -> None:
        self.log, self.marks = log, marks

    def leg(self, delta: Delta) -> Leg | None:
        """See `Stage.leg`."""
        found = read_at(delta.layout, range(len(self.log.types)))
        return None if found is None else SinkLeg(self, *found)


class SinkLeg(Leg):
    """Rows are added to a log; `places` are those of its columns."""

    is_end = True
    tells = False
    goes_on = ()
    layout = plain_layout(0)

    def __init__(self, stage: SinkStage, places: At, reads: Reads) -> None:
        self._stage, self.reads, self.states, self.marks = stage, reads, (stage.log,), stage.marks
        self._places: Ints = np.array(places, np.int64).reshape(len(places), 2)

    def more(self, groups: int) -> int:
        """See `Words.more`."""
        return 0

    def words(self, place: int, edges: tuple[int, int], groups: int) -> list[int]:
        """See `Words.words`."""
        told = [SINK, *edges, groups, self._stage.log.words.ctypes.data, self._places.ctypes.data, len(self._places)]
        return told + [0] * (SINK_LEG - len(told))

    def asked(self, route: Route, number: int, delta: Delta, columns: Sequence[int]) -> object:
        """See `Leg.asked`: room for the rows, and a mask, if they need one."""
        rows, lacks = route.words.item(route.edges[number] + LENGTH), route.words.item(route.legs[number] + LACKS)
        self._stage.log.make_room(rows, lacks)
        return None

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

    def come(self, route: Route, number: int, times: Ints | int) -> list[Delta]:
        """See `Leg.come`: nothing."""
        return []
