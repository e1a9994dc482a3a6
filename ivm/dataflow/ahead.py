"""Walks that are begun ahead: those of all steps that what comes in decides, in one call.

Most walks of a small commit end early: nothing passes a filter, nobody is found by a key. To begin one from Python
costs several times what it does. So before the first of the steps that need nothing but what comes in, and what lies
before them, the walks of all of them are begun by one call of machine code, but for those that wait for a step that is
due, which are begun by a later one. Steps of which nothing comes are done then; the others end with what comes of their
walks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from struct import Struct
from time import perf_counter_ns
from typing import NamedTuple

import numpy as np

from ivm.catalog.errors import NumericError
from ivm.dataflow.node import Node
from ivm.kernels.step.ahead import ABOVE, ABOVES, COMING, MEMBER, SAID, walk_ahead
from ivm.operators.operator import Leading
from ivm.operators.walk import Onward, Walk
from ivm.operators.way import Way, flags_of
from ivm.trace.columns.column import Array, Ints
from ivm.trace.concatenation import concat_deltas
from ivm.trace.delta import Delta, Group, Layout
from ivm.trace.route import Arenas, Route, listed_of

MOST_ROWS = 1 << 11
"""How many rows come in at most: more are worth a call for each walk."""
LEAST_DUE = 3
"""From so many steps on that are due it is worth it."""
_MOST_WALKS = 1 << 8
_MOST_FORMS = 16
_PATIENCE = 1 << 10
"""How often a step is stepped at most before it is asked again whether its walks can be begun."""
_LISTED: list[Array | None] = []
_pack_coming, _pack_member = Struct("3q").pack_into, Struct("5q").pack_into

Step = Callable[[Sequence[Delta | None]], Delta | None]
_Form = tuple[tuple[tuple[type, int], ...], Layout, int, bool]
Form = tuple[_Form, ...]
"""How what comes in lies: of each change of what kinds its sources are, since what has just come is read otherwise than
what goes, and by which numbering they tell of functions of texts; its layout, its flags, and whether some rows come and
others go.
"""


class Coming:
    """The changes of a level's sources, each of which has rows, and the `form` that they have.

    `next`: from which step on walks can be begun. `table`: what has begun walks of them; `begun`: of which steps.
    """

    __slots__ = ("begun", "deltas", "form", "groups", "listed", "next", "rows", "table")

    def __init__(self, deltas: Sequence[Delta], rows: int, steps: int) -> None:
        self.deltas, self.rows = deltas, rows
        self.next, self.begun = 0, bytearray(steps)
        self.table: _Table | None = None
        self.listed: list[list[Array | None]] = []
        self.groups: list[Sequence[Group]] = [delta.groups for delta in deltas]
        self.form: Form = tuple([_form_of(delta) for delta in deltas])


def _form_of(delta: Delta) -> _Form:
    sources = [group.source for group in delta.groups]
    kinds = tuple([(type(source), source.numbered_by) for source in sources])
    return kinds, delta.layout, flags_of(delta), delta.is_mixed


def coming(changes: Mapping[Node, Delta], due: bytearray) -> Coming | None:
    """What comes into a level; None where walks are not begun ahead, for few steps or many rows."""
    if due.count(1) < LEAST_DUE:
        return None
    rows = 0
    for delta in changes.values():
        if not delta.length:
            return None
        rows += delta.length
    return Coming(list(changes.values()), rows, len(due)) if rows <= MOST_ROWS else None


class Ahead:
    """The steps of a level whose walks can be begun together; `above`: which steps come before each."""

    def __init__(self, above: Sequence[Sequence[int]], arenas: Arenas) -> None:
        self._above, self._arenas = above, arenas
        self._tables: dict[Form, _Table] = {}

    def begin(self, coming: Coming, due: bytearray, mixed: bytearray, at: int) -> None:
        """Begin the walks of steps from number `at` on that are `due`, not `mixed`, and wait for nothing that is due.

        Those of which nothing comes are not due any more. What is left is begun from the `next` of them on.
        Cost: that of the walks, and a microsecond for each of which something comes.
        """
        if not coming.next:
            table = self._tables.get(coming.form)
            if table is not None and table.noted:
                table = self._tables[coming.form] = table.changed()
            is_worth_it = table is not None and len(table.walks) > 1 and due.count(1, at) >= LEAST_DUE
            coming.table = table if is_worth_it else None
        coming.next = len(due)
        if coming.table is not None:
            coming.table.begin(coming, due, mixed, at)

    def step(
        self, place: int, node: Node, inputs: Sequence[Delta | None], step: Step, onward: Onward | None, coming: Coming
    ) -> Delta | None:
        """What comes of a `step` by these inputs, which goes `onward`: of its walks, if all of them were begun.

        If they were not, see to it that they are the next time, if they can be.
        """
        found = None if coming.table is None else coming.table.end(place, onward, coming)
        if found is not None:
            return concat_deltas(found)
        delta, tables = step(inputs), self._tables
        table = tables.get(coming.form)
        if table is None:
            if len(tables) >= _MOST_FORMS:
                del tables[next(iter(tables))]
            table = tables[coming.form] = _Table((), len(coming.deltas), {}, self._above, self._arenas)
        table.note(place, node, inputs, onward, coming)
        return delta

    def forget(self) -> None:
        """Ask all steps anew: the graph has changed."""
        self._tables.clear()


class _Begin(NamedTuple):
    """A walk that can be begun: of a node, along a way, which leads `onward`, by the changes of a source.

    Where the first stage `varies`, it sees for itself whether these are of the variant that the way is for.
    """

    place: int
    node: Node
    walk: Walk
    way: Way
    onward: Onward | None
    source: int
    varies: bool


_NONE: Sequence[_Begin] = ()


class _Table:
    """The walks that are begun for one form of what comes in from so many sources."""

    def __init__(
        self,
        walks: Sequence[_Begin],
        sources: int,
        left: dict[int, tuple[int, int]],
        above: Sequence[Sequence[int]],
        arenas: Arenas,
    ) -> None:
        """`left`: of each step that was asked in vain how often it is stepped before it is asked again, and how often
        it was the last time. `above`: see `Ahead`.
        """
        self.walks = walks = sorted(walks, key=attrgetter("place"))
        self.noted: dict[int, Sequence[_Begin]] = {}
        """The walks of steps that are to be here, or of none that are not any more."""
        self._left, self._above, self._arenas = left, above, arenas
        self._of: dict[int, list[int]] = {}
        self._by_place: dict[int, list[_Begin]] = {}
        """By its place the numbers of the walks of each step, and these walks."""
        heads: list[list[dict[int, None]]] = [[] for _ in range(sources)]
        for number, walk in enumerate(walks):
            self._of.setdefault(walk.place, []).append(number)
            self._by_place.setdefault(walk.place, []).append(walk)
            head = heads[walk.source]
            for group, columns in enumerate(walk.way.head):
                if group == len(head):
                    head.append({})
                head[group].update(dict.fromkeys(columns))
        self._heads = [[tuple(columns) for columns in head] for head in heads]
        self._members: Ints = np.zeros((len(walks), MEMBER), np.int64)
        aboves = [above[walk.place] for walk in walks]
        self._aboves: Ints = np.array([place for each in aboves for place in each], np.int64)
        self._members[:, ABOVES] = [len(each) for each in aboves]
        self._members[:, ABOVE] = np.cumsum(self._members[:, ABOVES]) - self._members[:, ABOVES]
        self._not_begun: Ints = np.zeros(2, np.int64)
        self._found: Ints = np.empty(len(arenas.ids), np.int64)
        self._coming: Ints = np.zeros((sources, COMING), np.int64)
        self._routes: dict[int, Route] = {}
        self._spent = list(range(len(walks)))
        self._telling = [(number, walk) for number, walk in enumerate(walks) if walk.way.tells]
        self._nanoseconds = 0

    def begin(self, coming: Coming, due: bytearray, mixed: bytearray, at: int) -> None:
        """See `Ahead.begin`."""
        walks, listed, begun, told_before = self.walks, coming.listed, coming.begun, bool(coming.listed)
        if not told_before:
            self._renew()
            for number, (delta, head) in enumerate(zip(coming.deltas, self._heads, strict=True)):
                listed.append(listed_of(delta, head) if head else _LISTED)
                time = delta.times if isinstance(delta.times, int) else 0
                _pack_coming(self._coming.data, 8 * COMING * number, id(listed[-1]), delta.length, time)
        told: dict[int, object] = {}
        for number, walk in self._telling:
            place = walk.place
            if due[place] and not mixed[place] and not begun[place]:
                told[number] = walk.way.tell(self._routes[number], coming.deltas[walk.source])
        arenas, started = self._arenas, perf_counter_ns()
        count = walk_ahead(
            self._members, self._aboves, self._coming, np.frombuffer(due, np.uint8), np.frombuffer(mixed, np.uint8),
            np.frombuffer(begun, np.uint8), at, arenas.renewed(), self._nanoseconds, coming.rows * len(walks),
            self._found, self._not_begun,
        )  # fmt: skip
        if not told_before:
            self._nanoseconds = (perf_counter_ns() - started) // len(walks)
        left, first = self._not_begun.tolist()
        if left:
            coming.next = first
        found = self._found[:count].tolist()
        for number in found:
            numbers = self._of[walks[number].place]
            for other in numbers if len(numbers) > 1 else ():
                if not self._members.item(other, SAID):  # it was begun, and nothing has come of it
                    walks[other].way.begun = coming.groups[walks[other].source], None, 0, None
        for each, number in enumerate(found):
            walk, route, said = walks[number], self._routes[number], self._members.item(number, SAID)
            route.take(arenas.give(each))
            if not said:  # it has but met what indexes learn from
                walk.way.leave(route)
                continue
            self._spent.append(number)
            if said < 0 and walk.varies and walk.way.is_otherwise(route, said):
                walk.way.take_back(route)
                self._put_off(walk.place)
                continue
            kept = listed[walk.source], told.get(number)
            walk.way.begun = coming.groups[walk.source], route, said, kept

    def end(self, place: int, onward: Onward | None, coming: Coming) -> list[Delta] | None:
        """End the walks that were begun for a step: what comes of it, in parts; None if they were not, or not all."""
        walks = self._by_place.get(place, _NONE)
        for walk in walks:
            begun = walk.way.begun
            if begun is None or begun[0] is not coming.groups[walk.source]:
                return None
            if walk.onward is not onward or not walk.walk.goes(walk.way):
                return None
        found: list[Delta] = []
        try:
            for walk in walks:
                found += walk.walk.along(walk.way, coming.deltas[walk.source])
        except NumericError:  # the operator says what that means
            if onward is not None and onward.has_come:
                raise
            return None
        return found if walks else None

    def note(
        self, place: int, node: Node, inputs: Sequence[Delta | None], onward: Onward | None, coming: Coming
    ) -> None:
        """A step was stepped by these inputs: see to it that its walks are begun, if they can be; see `changed`."""
        if place in self._of:
            if any(self.walks[number].way.begun is not None for number in self._of[place]):
                self.noted[place] = ()  # it goes another way by now
            return
        left, before = self._left.get(place, (0, 0))
        if left or len(self.walks) >= _MOST_WALKS:
            self._left[place] = max(left - 1, 0), before
            return
        found = _walks_of(place, node, inputs, onward, coming)
        if found is None:
            self._put_off(place)
        else:
            self.noted[place] = found

    def _put_off(self, place: int) -> None:
        """Leave a step out, and ask it anew when it has been stepped some times, each time twice as often."""
        if place in self._of:
            self.noted[place] = ()
        _, before = self._left.get(place, (0, 0))
        self._left[place] = (min(2 * before + 1, _PATIENCE),) * 2

    def changed(self) -> _Table:
        """The table that is to take the place of this one, with what was noted."""
        walks = [walk for walk in self.walks if walk.place not in self.noted]
        walks += [walk for each in self.noted.values() for walk in each]
        return _Table(walks, len(self._heads), self._left, self._above, self._arenas)

    def _renew(self) -> None:
        """Have routes in the place of those that others have had: the same, if nobody else has been quicker."""
        routes, arenas = self._routes, self._arenas
        for number in self._spent:
            walk = self.walks[number]
            walk.way.begun = None
            route = walk.way.lend()
            arenas.room = max(arenas.room, route.room)
            if routes.get(number) is not route:
                routes[number] = route
                _pack_member(
                    self._members.data, 8 * MEMBER * number,
                    walk.place, route.address, len(route.words), walk.source, walk.node.ahead.address,
                )  # fmt: skip
        self._spent.clear()


def _walks_of(
    place: int, node: Node, inputs: Sequence[Delta | None], onward: Onward | None, coming: Coming
) -> Sequence[_Begin] | None:
    """The walks of a step, if all that it does begins with walks of what comes in, as it lies."""
    assert isinstance(node.operator, Leading), "others have no walks"
    walks = list[_Begin]()
    for walk, delta in node.operator.walks(inputs, onward) or ():
        way = walk.way(delta)
        source = [number for number, groups in enumerate(coming.groups) if groups is delta.groups]
        if way is None or way.makes or not source:
            return None
        walks.append(_Begin(place, node, walk, way, onward, source[0], walk.stages[0].varies))
    return walks or None
