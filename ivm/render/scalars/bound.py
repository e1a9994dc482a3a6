"""A compiled loop, bound to a way in which the columns lie that it reads: fills its frame and calls it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from struct import Struct
from typing import Any, NamedTuple

import numpy as np

from catalog.types import Physical
from ivm.kernels.memory.frame import HEAD
from ivm.render.scalars.codegen import OTHERWISE, Loop, generate
from ivm.render.scalars.columns import Rows, dense
from ivm.render.scalars.compiler import Compiler, Ticket
from ivm.render.scalars.functions import Context, Evaluate
from ivm.render.scalars.held import Held, in_words
from ivm.render.scalars.interpret import interpreter
from ivm.render.scalars.shape import Shape
from ivm.render.scalars.writer import Access, NotCompiledError
from ivm.trace.columns.column import DTYPES, Array, Column, Ints
from ivm.trace.columns.exported import taken_from
from ivm.trace.delta import Columns, Delta, Group, narrowed
from ivm.trace.helpers import LARGE, Errands, at_hand, parts

_INT64 = DTYPES[Physical.INT64]
_BOOL = DTYPES[Physical.BOOL]
_LONG = 4096
"""Rows from which on others may run meanwhile: that is told to the entry of a loop by the length of the frame."""
_NONE = id(None)
_pack = Struct(f"={HEAD}q").pack_into
_idle: list[tuple[Ints, Ints, Any]] = []
"""Frames that nobody uses: for many rows, for few, and as what is written to. Each call has one of its own."""


class _Output(NamedTuple):
    """A map that the loop writes: to which row of the room; as items of which of its dtypes, so many to a word; how
    many of these a value has, and in which row its mask stands.
    """

    map: int
    row: int
    view: int
    to_word: int
    items: int
    mask: int | None


@dataclass(slots=True)
class BoundLoop:
    """A loop for columns that lie in one way.

    `constants` are those that its frame has the address of. `rows`: of a room, but for those that are narrowed.
    """

    shape: Shape
    loop: Loop
    ticket: Ticket
    constants: Ints
    evaluated: list[tuple[Evaluate, bool]]
    outputs: tuple[_Output, ...]
    dtypes: list[Any]
    rows: int
    left: list[tuple[int, Evaluate]]
    asks: bool
    _constants_at: int = 0

    def __post_init__(self) -> None:
        self._constants_at = self.constants.ctypes.data

    def run(self, kernel: Any, delta: Delta, way: Held[Any], arrays: list[Array | None]) -> Delta | bool | None:
        """The rows that pass, projected; None if no row does; False if a row raises, and the interpreter must say
        which; True if the columns do not lie as they do for this loop.
        """
        length, groups, times, diffs = delta.length, delta.groups, delta.times, delta.diffs
        if self.asks:
            self._ask(arrays, way.read(delta))
        moved: list[Any] = [in_words(refs) for number in way.used if (refs := groups[number].refs) is not None]
        if not isinstance(times, int):
            moved.append(times)
        if diffs is not None:
            moved.append(diffs)
        begin = (1 + len(moved)) * length
        room: Any = np.empty(begin + self.rows * length, _INT64)
        errands = at_hand(length) if length >= LARGE else None
        if errands is None:
            try:
                frame = _idle.pop()
            except IndexError:
                frame = _new_frame()
            given = self._constants_at, id(arrays), len(moved), id(moved), _NONE
            _pack(frame[2], 0, 0, length, length, id(room), 0, *given)
            count = kernel(frame[length < _LONG])
            _idle.append(frame)
        else:
            count = self._by_parts(errands, kernel, arrays, moved, room, length)
        if count <= 0:
            return None if count == 0 else count == OTHERWISE
        positions, kept = None, [groups[number] for number in way.used]
        if count != length:
            positions = room[:count]
            kept, times, diffs = narrowed(delta, kept, room, length, length, count)
        if self.left:
            kept.append(Group(Columns(self._finished(way.read(delta), positions, room, begin, count))))
        elif self.outputs:
            kept.append(Group(Columns(self._made(room, begin, length, count))))
        return Delta(kept, way.projected, count, times, diffs)

    def _made(self, room: Any, begin: int, rows: int, count: int) -> list[Column]:
        """The first `count` values of what the loop has made, to a room of so many `rows`, from `begin` on."""
        made, views = [], [room]
        for dtype in self.dtypes:
            views.append(room.view(dtype))
        for _, row, view, to_word, items, mask in self.outputs:
            at = (begin + row * rows) * to_word
            values, valid = views[view][at : at + items * count], None
            if items > 1:
                values = values.reshape(count, items)
            if mask is not None:
                at = (begin + mask * rows) * _INT64.itemsize
                valid = views[-1][at : at + count]
            made.append(Column(values, valid))
        return made

    def _by_parts(
        self, errands: Errands, kernel: Any, arrays: list[Array | None], moved: list[Array], room: Array, length: int
    ) -> int:
        """What the loop gives for all rows, part by part of them; what parts have made moves to the front."""
        spans = parts(length)
        given = length, id(room), 0, self._constants_at, id(arrays), len(moved), id(moved), _NONE
        counts = errands.all([partial(_part, kernel, span.start, span.stop, *given) for span in spans])
        begin = (1 + len(moved)) * length
        columns = self._made(room, begin, length, length)
        made = [room[:length], *(each for c in columns for each in (c.values, c.valid) if each is not None)]
        end = 0
        for span, count in zip(spans, counts, strict=True):
            if count < 0:
                return count
            if span.start != end:
                for each in made:
                    each[end : end + count] = each[span.start : span.start + count]
            end += count
        if 0 < end < length:
            for row, array in enumerate(moved, 1):
                room[row * length : row * length + end] = array[room[:end]]
        return end

    def _ask(self, arrays: list[Array | None], delta: Delta) -> None:
        """Behind the arrays that are held, those of memos, and the sub-expressions without a compiled form."""
        for memo in self.loop.arguments.memos:
            memo.cover()
            arrays.append(memo.states)
            if memo.values is not None:
                arrays.append(memo.values)
        if self.evaluated:
            rows = Rows(delta)
            with np.errstate(all="ignore"):
                for evaluate, masked in self.evaluated:
                    column = dense(evaluate(rows), rows.length)
                    arrays.append(in_words(column.values) if column.values.ndim == 2 else column.values)
                    if masked:
                        arrays.append(np.ones(rows.length, np.bool_) if column.valid is None else column.valid)

    def _finished(self, delta: Delta, positions: Array | None, room: Array, begin: int, count: int) -> list[Column]:
        """All maps that are kept, with those that have no compiled form, on the rows that passed."""
        rows = Rows(delta)
        if positions is not None:
            rows = rows.take(positions)
        width = self.shape.width
        maps: dict[int, Column] = {}
        for output, column in zip(self.outputs, self._made(room, begin, len(delta), count), strict=True):
            maps[output.map] = column
            rows.append(width + output.map, column)
        with np.errstate(all="ignore"):
            for k, evaluate in self.left:
                maps[k] = dense(evaluate(rows), rows.length)
                rows.append(width + k, maps[k])
        return [maps[k] for k in self.shape.kept_maps]


def _new_frame() -> tuple[Ints, Ints, Any]:
    frame = np.zeros(_LONG, np.int64)
    return frame, frame[:-1], frame.data.cast("B")


def _part(kernel: Any, *head: int) -> int:
    """What a loop gives for some of the rows, in a frame with this head."""
    frame = taken_from(_idle) or _new_frame()
    _pack(frame[2], 0, *head)
    count: int = kernel(frame[0])
    _idle.append(frame)
    return count


def bind(shape: Shape, context: Context, compiler: Compiler, accesses: dict[int, Access]) -> BoundLoop | None:
    """Order the loop of a program over columns that lie so; None if it has none."""
    try:
        loop = generate(shape, accesses, context)
    except NotCompiledError:
        return None
    types = [m.type.physical for m in shape.maps]
    taken = loop.arguments
    dtypes = list(dict.fromkeys(DTYPES[types[k]] for k, _ in loop.stored))
    dtypes = [_INT64, *(dtype for dtype in dtypes if dtype not in (_INT64, _BOOL)), _BOOL]
    outputs, row = list[_Output](), 0
    for k, masked in loop.stored:
        physical = types[k]
        items, dtype = 1 + (physical is Physical.WIDE), DTYPES[physical]
        to_word, behind = _INT64.itemsize // dtype.itemsize, row + items
        outputs.append(_Output(k, row, dtypes.index(dtype), to_word, items, behind if masked else None))
        row = behind + masked
    if all(each.mask is None and dtypes[each.view] is not _BOOL for each in outputs):
        dtypes.pop()
    sets = [word for each in taken.sets for word in (each.ctypes.data, len(each))]
    return BoundLoop(
        shape,
        loop,
        compiler.order(loop.source),
        np.array([*taken.integers, *np.array(taken.doubles, np.float64).view(np.int64).tolist(), *sets], np.int64),
        [(interpreter(scalar, context), masked) for scalar, masked in taken.evaluated],
        tuple(outputs),
        dtypes[1:],
        row,
        [(k, interpreter(shape.maps[k], context)) for k in loop.left],
        bool(taken.memos or taken.evaluated),
    )
