"""A compiled loop, bound to a way in which deltas hold the columns that it reads: makes its arguments and calls it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ivm.render.scalars.codegen import Loop, generate
from ivm.render.scalars.columns import Passed, Rows, dense
from ivm.render.scalars.compiler import Compiler, Ticket
from ivm.render.scalars.functions import Context, Evaluate
from ivm.render.scalars.interpret import interpreter
from ivm.render.scalars.shape import Shape
from ivm.render.scalars.writer import Access, NotCompiledError
from ivm.trace.column import DTYPES, Array, Column
from ivm.trace.delta import Delta

Pattern = tuple[int, ...]
"""How a delta holds the columns that a loop reads: for each, twice its group if it is read through references, else -2;
one more if it has a mask of NULLs."""


@dataclass(slots=True)
class BoundLoop:
    """A loop for deltas of one pattern."""

    shape: Shape
    loop: Loop
    ticket: Ticket
    constants: list[Any]
    refs: tuple[int, ...]
    slots: tuple[tuple[int, bool], ...]
    evaluated: list[tuple[Evaluate, bool]]
    outputs: tuple[tuple[int, tuple[int, ...], Any, bool], ...]
    left: list[tuple[int, Evaluate]]

    def run(self, kernel: Any, delta: Delta, columns: list[Column]) -> Passed | bool:
        """What passes; False if no row does; True if a row raises, and the interpreter must say which."""
        length = delta.length
        arguments: list[Any] = [length, *self.constants]
        for memo in self.loop.arguments.memos:
            memo.cover()
            arguments.append(memo.states)
            if memo.values is not None:
                arguments.append(memo.values)
        for group in self.refs:
            arguments.append(_words(delta.groups[group].refs))
        for slot, masked in self.slots:
            column = columns[slot]
            arguments.append(column.values)
            if masked:
                arguments.append(column.valid)
        if self.evaluated:
            arguments += _evaluated(self.evaluated, delta)
        positions = np.empty(length, np.int64)
        arguments.append(positions)
        outputs: list[tuple[int, Array, Any]] = []
        for k, shape, dtype, masked in self.outputs:
            values = np.empty((length, *shape), dtype)
            valid = np.empty(length, np.bool_) if masked else None
            outputs.append((k, values, valid))
            arguments.append(values)
            if masked:
                arguments.append(valid)
        count = kernel(*arguments)
        if count <= 0:
            return count < 0
        maps: list[Column | None] = [None] * len(self.shape.maps)
        kept = None if count == length else positions[:count]
        for k, values, valid in outputs:
            maps[k] = Column(values[:count], None if valid is None else valid[:count])
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


def bind(
    shape: Shape, context: Context, compiler: Compiler, columns: tuple[int, ...], pattern: Pattern
) -> BoundLoop | None:
    """Order the loop of a program over `columns` that are held so; None if it has none."""
    numbers: dict[int, int] = {}
    access: dict[int, Access] = {}
    for slot, (column, code) in enumerate(zip(columns, pattern, strict=True)):
        group, masked = code >> 1, bool(code & 1)
        refs = None if group < 0 else numbers.setdefault(group, len(numbers))
        access[column] = Access(slot, refs, masked)
    try:
        loop = generate(shape, access, context)
    except NotCompiledError:
        return None
    groups = list(numbers)
    types = [m.type.physical for m in shape.maps]
    taken = loop.arguments
    return BoundLoop(
        shape,
        loop,
        compiler.order(loop.source),
        [np.array(taken.integers, np.int64), np.array(taken.doubles, np.float64), *taken.sets],
        tuple(groups[r] for r in loop.refs),
        tuple((access[c].slot, access[c].masked) for c in loop.columns),
        [(interpreter(scalar, context), masked) for scalar, masked in taken.evaluated],
        tuple((k, (2,) if types[k].name == "WIDE" else (), DTYPES[types[k]], masked) for k, masked in loop.stored),
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


def _words(refs: Any) -> Array:
    words: Array = refs if refs.dtype == np.int64 else refs.astype(np.int64)
    return words
