"""Compiled loops as legs of a route: bound to a way in which the columns lie that they read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ivm.catalog.types import Physical
from ivm.kernels.compiling.calling import address_of
from ivm.kernels.memory.frame import HEAD, ROOM
from ivm.kernels.memory.places import WORDS
from ivm.kernels.step.records import FRAME, LOOP, LOOP_LEG, frame_words
from ivm.operators.stage import Leg
from ivm.render.scalars.codegen import OTHERWISE, Loop, generate
from ivm.render.scalars.columns import Rows, dense
from ivm.render.scalars.compiler import Compiler, Ticket
from ivm.render.scalars.functions import Context, Evaluate
from ivm.render.scalars.interpret import interpreter
from ivm.render.scalars.loop_inputs import Looked, LoopInputs
from ivm.render.scalars.shape import Shape
from ivm.render.scalars.writer import Access, NotCompiledError
from ivm.trace.columns.column import DTYPES, Array, Column, Ints
from ivm.trace.delta import Columns, Delta, Group, Source
from ivm.trace.route import Route

_NOWHERE: Ints = np.zeros(WORDS, np.int64)
"""The place of what is not kept any more."""


class _Output(NamedTuple):
    """A map that the loop writes: to which row of the room, items of so many bytes, so many to a value; in which row
    its mask stands, -1 if it has none.
    """

    row: int
    item: int
    items: int
    mask: int


@dataclass(slots=True)
class BoundLoop:
    """A loop for columns that lie in one way.

    `constants` are those that its frame has the address of. `rows`: of a room, but for those that are narrowed. `left`
    are maps that the interpreter computes of what passes.
    """

    shape: Shape
    loop: Loop
    ticket: Ticket
    constants: Ints
    evaluated: list[tuple[Evaluate, bool]]
    outputs: tuple[_Output, ...]
    rows: int
    left: list[tuple[int, Evaluate]]


class LoopLeg(Leg):
    """A loop over deltas of one layout, whose columns lie as `looked` says."""

    def __init__(self, bound: BoundLoop, held: LoopInputs, looked: Looked, groups: int) -> None:
        self._bound, self._held, self._given = bound, held, looked.made
        shape, loop = bound.shape, bound.loop
        self.extra = int(bool(looked.made))
        self.makes = bool(looked.made or bound.evaluated)
        self.is_first = self.makes or looked.numbered
        self.is_last = bool(bound.left)
        self.splits = bool(shape.early or shape.late) and not bound.evaluated
        self.reads = list(looked.reads)
        if looked.made:
            self.reads.append((groups, range(len(looked.made))))
        self._kept = [read for _, read in looked.kept]
        self.asks = [group for group, _ in looked.kept]
        # As the loop counts its sources.
        self._sources = [group for group, _ in (*looked.reads, *looked.kept)] + [groups] * self.extra
        self._first_kept = len(looked.reads)
        self.goes_on, self.layout = held.used, held.projected
        self.made = tuple(shape.maps[k].type.physical for k, _ in loop.stored)
        memos = sum(1 + (memo.values is not None) for memo in loop.arguments.memos)
        self._further = memos + sum(1 + masked for _, masked in bound.evaluated)
        self.tells = bool(self._further or self._kept)

    def more(self, groups: int) -> int:
        """See `Words.more`."""
        return len(self.goes_on) + bool(self.made)

    def words(self, place: int, edges: tuple[int, int], groups: int) -> list[int]:
        """See `Words.words`."""
        bound, used = self._bound, self.goes_on
        read = [word for group in self._sources for word in (group, 0)]
        kernel = bound.ticket.kernel
        assert kernel is not None, "what is not compiled has no place in a route"
        shape, lists = bound.shape, place + LOOP_LEG
        made = lists + len(read) + len(used)
        outputs = [word for output in bound.outputs for word in output]
        return [
            *(LOOP, *edges, groups, address_of(kernel), bound.constants.ctypes.data),
            *(lists, len(self._sources), lists + len(read), len(used), self._further, bool(shape.early or shape.late)),
            *(made, len(bound.outputs), bound.rows, made + len(outputs)),
            *(*read, *used, *outputs),
            *(0,) * frame_words(len(self._sources), self._further, len(used)),
        ]

    def extended(self, delta: Delta) -> Delta:
        """See `Leg.extended`: with what is made before it is read."""
        made = Columns([delta.groups[group].column(read) for group, read in self._given])
        return Delta([*delta.groups, Group(made)], delta.layout, delta.length, delta.times, delta.diffs)

    def begin(
        self, route: Route, number: int, delta: Delta, columns: Sequence[int], sources: Sequence[Source]
    ) -> object:
        """See `Leg.begin`: where memos lie, what is kept of functions, and what has no compiled form."""
        words, leg = route.words, route.legs[number]
        at = leg + LOOP_LEG + 2 * self._first_kept + 1
        for place, read in enumerate(self._kept):
            values = sources[place].values_of(*read)
            words[at] = _NOWHERE.ctypes.data if values is None else values.address
            at += 2
        if not self._further:
            return None
        arrays = self._asked(delta)
        at = words.item(leg + FRAME) + HEAD + 4 * len(self._sources)
        told = [word for array in arrays for word in (array.ctypes.data, array.strides[0])]
        words[at : at + len(told)] = told
        return arrays

    def _asked(self, delta: Delta) -> list[Array]:
        arrays: list[Array] = []
        for memo in self._bound.loop.arguments.memos:
            memo.cover()
            arrays.append(memo.states)
            if memo.values is not None:
                arrays.append(memo.values)
        if self._bound.evaluated:
            rows = Rows(self._held.read(delta))
            with np.errstate(all="ignore"):
                for evaluate, masked in self._bound.evaluated:
                    column = dense(evaluate(rows), rows.length)
                    arrays.append(np.ascontiguousarray(column.values))
                    if masked:
                        arrays.append(np.ones(rows.length, np.bool_) if column.valid is None else column.valid)
        return arrays

    def is_otherwise(self, said: int) -> bool:
        """See `Leg.is_otherwise`."""
        return said == OTHERWISE

    def finish(self, route: Route, number: int, before: Delta, made: Delta) -> Delta:
        """See `Leg.finish`: with the maps that have no compiled form, of the rows that passed."""
        rows = Rows(self._held.read(before))
        if made.length != before.length:
            frame = route.words.item(route.legs[number] + FRAME)
            positions = route.moved(route.words.item(frame + ROOM), made.length)
            rows = rows.take(positions - route.words.item(frame))
        bound, width, maps = self._bound, self._bound.shape.width, dict[int, Column]()
        for place, (k, _) in enumerate(bound.loop.stored):
            maps[k] = made.groups[-1].source.column(place)
            rows.append(width + k, maps[k])
        with np.errstate(all="ignore"):
            for k, evaluate in bound.left:
                maps[k] = dense(evaluate(rows), rows.length)
                rows.append(width + k, maps[k])
        groups = [*made.groups[: len(self.goes_on)], Group(Columns([maps[k] for k in bound.shape.kept_maps]))]
        return Delta(groups, made.layout, made.length, made.times, made.diffs)


def bind(shape: Shape, context: Context, compiler: Compiler, accesses: dict[int, Access]) -> BoundLoop | None:
    """Order the loop of a program over columns that lie so; None if it has none."""
    try:
        loop = generate(shape, accesses, context)
    except NotCompiledError:
        return None
    taken = loop.arguments
    outputs, row = list[_Output](), 0
    for k, masked in loop.stored:
        physical = shape.maps[k].type.physical
        items = 1 + (physical is Physical.WIDE)
        outputs.append(_Output(row, DTYPES[physical].itemsize, items, row + items if masked else -1))
        row += items + masked
    sets = [word for each in taken.sets for word in (each.ctypes.data, len(each))]
    return BoundLoop(
        shape,
        loop,
        compiler.order(loop.source),
        np.array([*taken.integers, *np.array(taken.doubles, np.float64).view(np.int64).tolist(), *sets], np.int64),
        [(interpreter(scalar, context), masked) for scalar, masked in taken.evaluated],
        tuple(outputs),
        row,
        [(k, interpreter(shape.maps[k], context)) for k in loop.left],
    )
