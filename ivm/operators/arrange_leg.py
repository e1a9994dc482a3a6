"""An arrangement on the way of walks: a leg that adds rows to it, and lets them go on, through the join that reads it.

So a program, the arrangement of what comes of it, and the join that alone reads both are one walk.
"""

from __future__ import annotations

from ivm.kernels.step.records import ARRANGE
from ivm.operators.adding_leg import AddingLeg
from ivm.operators.stage import At, Leg, Reads, read_at
from ivm.operators.walk import LastStage
from ivm.trace.columns.column import Ints
from ivm.trace.delta import Delta
from ivm.trace.route import Route
from ivm.trace.rows.rows import Arranged, DerivedRows
from ivm.trace.state import Marks


class ArrangeStage(LastStage):
    """The step of an arrangement on walks: changes go on as they are, but only once it has them."""

    makes = False

    def __init__(self, rows: DerivedRows[Arranged], marks: Marks) -> None:
        self.kept, self.marks = rows, marks

    @property
    def holds(self) -> bool:
        """See `Stage.holds`."""
        return not self.rows

    def leg(self, delta: Delta) -> Leg | None:
        """See `Stage.leg`."""
        found = read_at(delta.layout, range(len(self.kept.store.types)))
        return None if found is None else ArrangeLeg(self, delta, *found)


class ArrangeLeg(AddingLeg):
    """Rows are added to a collection, and go on."""

    kind = ARRANGE
    passes = True

    def __init__(self, stage: ArrangeStage, delta: Delta, places: At, reads: Reads) -> None:
        super().__init__(stage, stage.kept.kept, places, reads)
        self.states, self.goes_on, self.layout = (stage.kept,), range(len(delta.groups)), delta.layout
        self._kept = stage.kept

    def more(self, groups: int) -> int:
        """See `Words.more`."""
        return groups

    def make_room(self, rows: int, times: int, lacks: int) -> None:
        """See `AddingLeg.make_room`."""
        self._kept.make_room(lacks, rows, times)

    def ended(self, route: Route, number: int, times: Ints | int) -> bool:
        """See `Leg.ended`: the collection takes note of the rows."""
        has_come = super().ended(route, number, times)
        if has_come:
            self._kept.came(self._stage.rows)
        return has_come
