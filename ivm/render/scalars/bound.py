"""A compiled loop, bound to a way in which deltas hold the columns that it reads: makes its arguments and calls it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from catalog.types import Physical
from ivm.render.scalars.codegen import OTHERWISE, Loop, generate
from ivm.render.scalars.columns import Passed, Rows, dense
from ivm.render.scalars.compiler import Compiler, Ticket
from ivm.render.scalars.functions import Context, Evaluate
from ivm.render.scalars.interpret import interpreter
from ivm.render.scalars.shape import Shape
from ivm.render.scalars.writer import Access, NotCompiledError
from ivm.trace.column import DTYPES, Array, Column
from ivm.trace.delta import Delta
from ivm.trace.helpers import Errands, at_hand, parts

_INT64 = DTYPES[Physical.INT64]
_BOOL = DTYPES[Physical.BOOL]


@dataclass(slots=True)
class BoundLoop:
    """A loop for deltas that hold their columns in one way."""

    shape: Shape
    loop: Loop
    ticket: Ticket
    constants: list[Any]
    evaluated: list[tuple[Evaluate, bool]]
    outputs: tuple[tuple[int, bool, Any, bool], ...]
    left: list[tuple[int, Evaluate]]

    def run(self, kernel: Any, delta: Delta, held: list[Any], places: list[int]) -> Passed | bool | None:
        """What passes; False if no row does; True if a row raises, and the interpreter must say which; None if the
        columns do not lie as they do for this loop.

        It is given what stands at these `places` of what is `held`.
        """
        length = delta.length
        arguments: list[Any] = [0, length, *self.constants]
        for memo in self.loop.arguments.memos:
            memo.cover()
            arguments.append(memo.states)
            if memo.values is not None:
                arguments.append(memo.values)
        for place in places:
            arguments.append(held[place])
        if self.evaluated:
            arguments += _evaluated(self.evaluated, delta)
        positions: Array = np.empty(length, _INT64)
        arguments.append(positions)
        made: list[Any] = []
        for _, wide, dtype, masked in self.outputs:
            values = np.empty((length, 2) if wide else length, dtype)
            arguments.append(values)
            made.append(values)
            if masked:
                valid = np.empty(length, _BOOL)
                arguments.append(valid)
                made.append(valid)
        errands = at_hand(length)
        count = kernel(*arguments) if errands is None else _by_parts(errands, kernel, arguments, [positions, *made])
        if count <= 0:
            return None if count == OTHERWISE else count < 0
        kept = None
        if count != length:
            kept, made = positions[:count], [each[:count] for each in made]
        maps: list[Column | None] = [None] * len(self.shape.maps)
        arrays = iter(made)
        for k, _, _, masked in self.outputs:
            maps[k] = Column(next(arrays), next(arrays) if masked else None)
        if self.left:
            self._finish(delta, kept, maps)
        return kept, maps

    def _finish(self, delta: Delta, kept: Array | None, maps: list[Column | None]) -> None:
        """The maps without a compiled form, on the rows that passed."""
        rows = Rows(delta)
        if kept is not None:
            rows = rows.take(kept)
        width = self.shape.width
        for k, column in enumerate(maps):
            if column is not None:
                rows.append(width + k, column)
        with np.errstate(all="ignore"):
            for k, evaluate in self.left:
                column = dense(evaluate(rows), rows.length)
                rows.append(width + k, column)
                maps[k] = column


def _by_parts(errands: Errands, kernel: Any, arguments: list[Any], made: list[Array]) -> int:
    """What a loop gives for all rows, part by part of them; what they have `made` moves to the front."""
    _, length, *others = arguments
    spans = parts(length)
    counts: list[int] = errands.all([partial(kernel, span.start, span.stop, *others) for span in spans])
    end = 0
    for span, count in zip(spans, counts, strict=True):
        if count < 0:
            return count
        if span.start != end:
            for each in made:
                each[end : end + count] = each[span.start : span.start + count]
        end += count
    return end


def bind(shape: Shape, context: Context, compiler: Compiler, accesses: dict[int, Access]) -> BoundLoop | None:
    """Order the loop of a program over columns that are held so; None if it has none."""
    try:
        loop = generate(shape, accesses, context)
    except NotCompiledError:
        return None
    types = [m.type.physical for m in shape.maps]
    taken = loop.arguments
    constants: list[Any] = [*taken.sets]
    if taken.doubles:
        constants.insert(0, np.array(taken.doubles, np.float64))
    if taken.integers:
        constants.insert(0, np.array(taken.integers, np.int64))
    return BoundLoop(
        shape,
        loop,
        compiler.order(loop.source),
        constants,
        [(interpreter(scalar, context), masked) for scalar, masked in taken.evaluated],
        tuple((k, types[k] is Physical.WIDE, DTYPES[types[k]], masked) for k, masked in loop.stored),
        [(k, interpreter(shape.maps[k], context)) for k in loop.left],
    )


def _evaluated(expressions: list[tuple[Evaluate, bool]], delta: Delta) -> list[Any]:
    """The sub-expressions without a compiled form, on all rows."""
    rows, arguments = Rows(delta), []
    with np.errstate(all="ignore"):
        for evaluate, masked in expressions:
            column = dense(evaluate(rows), rows.length)
            arguments.append(column.values)
            if masked:
                arguments.append(np.ones(rows.length, np.bool_) if column.valid is None else column.valid)
    return arguments
