"""A reduce as an end of walks: a leg that steps the groups where a route leads to them."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct

import numpy as np

from ivm.kernels.groups.block import PHASE, UNTOUCHED
from ivm.kernels.groups.step import AT, BLOCK, IDLE, OPENING, STEP, WRITTEN
from ivm.kernels.groups.step import STAGE as DOING
from ivm.kernels.step.records import ELSEWHERE, LENGTH, REDUCE, REQUEST
from ivm.operators.accumulable import Accumulators
from ivm.operators.group_step import NO_OUTPUT, Output, OutputForm, what_stays
from ivm.operators.stage import At, Leg, Reads, read_at
from ivm.operators.walk import LastStage
from ivm.trace.columns.column import Ints
from ivm.trace.delta import Delta
from ivm.trace.keyed.group_table import NO_CELLS
from ivm.trace.keyed.groups import Groups
from ivm.trace.route import Route
from ivm.trace.state import Marks

_pack = Struct("7q").pack_into


class ReduceStage(LastStage):
    """The step of a reduce of `groups` on walks."""

    def __init__(self, groups: Groups[Accumulators], form: OutputForm, marks: Marks) -> None:
        self.groups, self.form, self.marks = groups, form, marks

    def leg(self, delta: Delta) -> Leg | None:
        """See `Stage.leg`."""
        found = read_at(delta.layout, self.form.reads)
        return None if found is None else ReduceLeg(self, *found)


class ReduceLeg(Leg):
    """Rows are added up in groups; `places` are those of the columns of the key, then of the arguments.

    The kernel begins a step with what the groups offer, and asks for one where that is too little. The cells of it are
    here until the walk has ended, or if it has failed, until the next one has.
    """

    is_end = True
    tells = False
    goes_on = ()

    def __init__(self, stage: ReduceStage, places: At, reads: Reads) -> None:
        self._stage, self.reads, form = stage, reads, stage.form
        self.states, self.marks, self.layout, self.made = (stage.groups,), stage.marks, form.plain, form.types
        self._places: Ints = np.array(places, np.int64).reshape(len(places), 2)
        self._key_form = form.layout.form_of(places[: form.keys])
        self._cells, self._output = NO_CELLS, NO_OUTPUT

    def more(self, groups: int) -> int:
        """See `Words.more`."""
        return 1

    def words(self, place: int, edges: tuple[int, int], groups: int) -> list[int]:
        """See `Words.words`."""
        request = what_stays(self._stage.form, self._key_form, self._places)
        return [REDUCE, *edges, groups, self._stage.groups.offer_at, *request, *(0,) * (STEP - len(request))]

    def asked(self, route: Route, number: int, delta: Delta, columns: Sequence[int]) -> object:
        """See `Leg.asked`: a step, or room for its rows, for groups, or for cells."""
        words, request, stage = route.words, route.legs[number] + REQUEST, self._stage
        if words.item(request + DOING) == ELSEWHERE:
            return None
        self._take_over()
        doing, at, groups, cells = words.item(request + DOING), words.item(request + AT), stage.groups, self._cells
        rows = words.item(route.edges[number] + LENGTH)
        if doing == IDLE:
            doing, at = OPENING, 0
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
        self._take_over()
        if route.words.item(at) > IDLE:
            groups.rollback(groups.mark() - 1)
        self._cells, self._output = NO_CELLS, NO_OUTPUT
        route.give(at, ELSEWHERE)

    def ended(self, route: Route, number: int, times: Ints | int) -> bool:
        """See `Leg.ended`."""
        words, request, stage = route.words, route.legs[number] + REQUEST, self._stage
        if words.item(request + DOING) != IDLE:
            return False
        if stage.groups.has_ended(route.address + 8 * request):
            self._cells, self._output = NO_CELLS, NO_OUTPUT
            stage.marks.offers.append(stage.groups.offer_at)
        elif self._cells is NO_CELLS or not stage.groups.is_last(self._cells):
            return False
        else:
            stage.groups.offer_next()
            self._cells = NO_CELLS
        stage.rows = words.item(route.edges[number] + LENGTH)
        return True

    def come(self, route: Route, number: int, times: Ints | int) -> list[Delta]:
        """See `Leg.come`: the changes of the groups' rows."""
        if self._output is NO_OUTPUT:
            self._take_over()
        assert self._output is not NO_OUTPUT, "the step has ended"
        output, self._output, self._cells = self._output, NO_OUTPUT, NO_CELLS
        written = route.words.item(route.legs[number] + REQUEST + WRITTEN)
        return [output.delta(written, times)] if written else []

    def _take_over(self) -> None:
        """Have the step that the kernel has begun by itself, if it has."""
        cells = self._stage.groups.taken_over()
        if cells is not None:
            assert isinstance(cells.output, Output), "nobody else offers room"
            self._cells, self._output = cells, cells.output
