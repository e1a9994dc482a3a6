"""A reduce as the end of a walk: a leg that steps the groups where a route leads to them."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct

import numpy as np

from ivm.kernels.groups.block import PHASE, UNTOUCHED
from ivm.kernels.groups.step import AT, BLOCK, IDLE, OPENING, STEP, WRITTEN
from ivm.kernels.groups.step import STAGE as DOING
from ivm.kernels.step.records import ELSEWHERE, LENGTH, REDUCE, REQUEST
from ivm.operators.accumulable import Accumulators
from ivm.operators.group_step import NO_OUTPUT, OutputForm, what_stays
from ivm.operators.stage import At, Leg, Reads, read_at
from ivm.operators.walk import LastStage
from ivm.trace.columns.column import Ints
from ivm.trace.delta import Delta, plain_layout
from ivm.trace.keyed.group_table import NO_CELLS
from ivm.trace.keyed.groups import Groups
from ivm.trace.route import Route
from ivm.trace.state import Marks

_NOTHING = plain_layout(0)
_pack = Struct("7q").pack_into


class ReduceStage(LastStage):
    """The step of a reduce of `groups` at the end of walks, where all changes have one time.

    The groups are added to the `marks` before they are changed.
    """

    def __init__(self, groups: Groups[Accumulators], form: OutputForm, marks: Marks) -> None:
        self.groups, self.form, self.marks, self.states = groups, form, marks, (groups,)

    def leg(self, delta: Delta) -> Leg | None:
        """See `Stage.leg`."""
        found = read_at(delta.layout, self.form.reads)
        return None if found is None or not isinstance(delta.times, int) else ReduceLeg(self, *found)


class ReduceLeg(Leg):
    """Rows are added up in groups; `places` are those of the columns of the key, then of the arguments."""

    is_end = True
    tells = False
    goes_on = ()
    layout = _NOTHING

    def __init__(self, stage: ReduceStage, places: At, reads: Reads) -> None:
        self._stage, self.reads, form = stage, reads, stage.form
        self._places: Ints = np.array(places, np.int64).reshape(len(places), 2)
        self._key_form = form.layout.form_of(places[: form.keys])
        self._cells, self._output = NO_CELLS, NO_OUTPUT

    def more(self, groups: int) -> int:
        """See `Words.more`."""
        return 0

    def words(self, place: int, edges: tuple[int, int], groups: int) -> list[int]:
        """See `Words.words`."""
        request = what_stays(self._stage.form, self._key_form, self._places)
        return [REDUCE, *edges, groups, *request, *(0,) * (STEP - len(request))]

    def asked(self, route: Route, number: int, delta: Delta, columns: Sequence[int]) -> object:
        """See `Leg.asked`: a step, or room for its rows, for groups, or for cells."""
        words, request, stage, cells = route.words, route.legs[number] + REQUEST, self._stage, self._cells
        doing, at, groups = words.item(request + DOING), words.item(request + AT), stage.groups
        rows = words.item(route.edges[number] + LENGTH)
        if doing == IDLE:
            doing, at = OPENING, 0
            stage.marks.add(stage.states)
            self._cells = cells = groups.begin(rows, delta.times)
            self._output = stage.form.room(cells, min(rows, groups.expected))
        elif doing != OPENING:
            self._output = stage.form.room(cells, len(cells))
        elif cells.memory.item(PHASE) == UNTOUCHED:
            cells.make_room(rows)
        else:
            groups.make_room()
        after, room = cells.after, self._output.room
        _pack(
            route.view, 8 * (request + BLOCK), id(groups.block()), id(cells.memory), doing, at, id(after), len(after),
            id(room),
        )  # fmt: skip
        return cells

    def leave(self, route: Route, number: int) -> None:
        """See `Leg.leave`: what was begun is taken back."""
        at, groups = route.legs[number] + REQUEST + DOING, self._stage.groups
        if route.words.item(at) > IDLE:
            groups.rollback(groups.mark() - 1)
        self._cells, self._output = NO_CELLS, NO_OUTPUT
        route.give(at, ELSEWHERE)

    def ended(self, route: Route, number: int, rows: int, times: Ints | int) -> list[Delta]:
        """See `Leg.ended`: the changes of the groups' rows."""
        if not rows:
            return []
        stage, output = self._stage, self._output
        self._cells, self._output = NO_CELLS, NO_OUTPUT
        stage.groups.end()
        stage.rows, written = rows, route.words.item(route.legs[number] + REQUEST + WRITTEN)
        return [output.delta(written, times)] if written else []
