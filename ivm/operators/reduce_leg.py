"""A reduce as the end of a walk: a leg that steps the groups where a route leads to them."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from sys import getrefcount

import numpy as np

from ivm.kernels.groups.block import PHASE, UNTOUCHED
from ivm.kernels.groups.step import AT, BLOCK, IDLE, OPENING, STAGE, STEP, WRITTEN
from ivm.kernels.step.records import ELSEWHERE, LENGTH, REDUCE, REQUEST
from ivm.operators.accumulable import Accumulators
from ivm.operators.group_step import Output, OutputForm, what_stays
from ivm.operators.stage import At, Leg, Reads, read_at
from ivm.operators.walk import LastStage
from ivm.trace.columns.column import NOBODY, Ints
from ivm.trace.delta import Delta, plain_layout
from ivm.trace.keyed.group_table import NO_CELLS
from ivm.trace.keyed.groups import Groups
from ivm.trace.route import Route
from ivm.trace.state import Marks

_NOTHING = plain_layout(0)
_pack = Struct("7q").pack_into
_OURS = 2
"""The references that an attribute and an argument are."""
_MOST_KEPT = 1 << 13
"""How many words of room are used again, once nobody else has them."""


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
        self._cells = NO_CELLS
        self._room, self._capacity = NOBODY, 0

    def more(self, groups: int) -> int:
        """See `Words.more`."""
        return 0

    def words(self, place: int, edges: tuple[int, int], groups: int) -> list[int]:
        """See `Words.words`."""
        request = what_stays(self._stage.form, self._key_form, self._places)
        return [REDUCE, *edges, groups, *request, *(0,) * (STEP - len(request))]

    def asked(self, route: Route, number: int, delta: Delta, columns: Sequence[int]) -> object:
        """See `Leg.asked`: a step, or room for its rows, for groups, or for cells."""
        words, request, cells = route.words, route.legs[number] + REQUEST, self._cells
        stage, at = words.item(request + STAGE), words.item(request + AT)
        rows = words.item(route.edges[number] + LENGTH)
        if stage == IDLE:
            stage, at = OPENING, 0
            self._begin(rows, delta.times)
        elif stage != OPENING:
            self._make_room(len(cells))
        elif cells.memory.item(PHASE) == UNTOUCHED:
            cells.make_room(rows)
        else:
            self._stage.groups.make_room()
        self._lend(words, request, stage, at)
        return self._cells

    def _begin(self, rows: int, times: Ints | int) -> None:
        """Begin a step, with room for about so many cells as there were lately."""
        stage, groups = self._stage, self._stage.groups
        stage.marks.add(stage.states)
        self._cells = cells = groups.begin(rows, times)
        count = min(rows, groups.expected)
        if not count <= self._capacity <= len(cells.after) or getrefcount(self._room) > _OURS:
            self._make_room(count)

    def _make_room(self, count: int) -> None:
        """Room for what comes of so many cells, and for their fields."""
        form, self._capacity = self._stage.form, 0
        self._cells.after = np.empty((count, form.parts.fields), np.int64)
        self._room, self._capacity = form.room(2 * count, False), count

    def _lend(self, words: Ints, request: int, stage: int, at: int) -> None:
        """Tell of what a step has, which is at a stage."""
        cells, block = self._cells, self._stage.groups.block()
        _pack(
            words.data, 8 * (request + BLOCK), id(block), id(cells.memory), stage, at,
            id(cells.after), self._capacity, id(self._room),
        )  # fmt: skip

    def leave(self, route: Route, number: int) -> None:
        """See `Leg.leave`: what was begun is taken back."""
        at, groups = route.legs[number] + REQUEST + STAGE, self._stage.groups
        if route.words.item(at) > IDLE:
            groups.rollback(groups.mark() - 1)
        route.words[at] = ELSEWHERE
        route.given.append(at)

    def ended(self, route: Route, number: int, rows: int, times: Ints | int) -> Sequence[Delta]:
        """See `Leg.ended`: the changes of the groups' rows."""
        stage, room = self._stage, self._room
        if not rows:
            return ()
        stage.groups.end()
        stage.rows, written = rows, route.words.item(route.legs[number] + REQUEST + WRITTEN)
        output = Output(stage.form, 2 * self._capacity, False, room)
        self._cells = NO_CELLS
        if len(room) > _MOST_KEPT:
            self._room, self._capacity = NOBODY, 0
        return (output.delta(written, times),) if written else ()
