"""A view's log as the end of walks: a leg that adds rows to it where a route leads to them."""

from __future__ import annotations

from ivm.kernels.step.records import SINK
from ivm.operators.adding_leg import AddingLeg
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


class SinkLeg(AddingLeg):
    """Rows are added to a log; nothing comes of that."""

    kind = SINK
    goes_on = ()
    layout = plain_layout(0)

    def __init__(self, stage: SinkStage, places: At, reads: Reads) -> None:
        super().__init__(stage, stage.log.words, places, reads)
        self.states, self._log = (stage.log,), stage.log

    def more(self, groups: int) -> int:
        """See `Words.more`."""
        return 0

    def make_room(self, rows: int, times: int, lacks: int) -> None:
        """See `AddingLeg.make_room`."""
        self._log.make_room(rows, lacks)

    def come(self, route: Route, number: int, times: Ints | int) -> list[Delta]:
        """See `Leg.come`: nothing."""
        return []
