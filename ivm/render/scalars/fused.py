"""A program as a compiled loop: binds a delta's columns to the loop's arguments and runs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ivm.render.scalars.codegen import Loop, generate, inputs
from ivm.render.scalars.columns import dense
from ivm.render.scalars.compiler import Compiler, Ticket
from ivm.render.scalars.functions import Context, Evaluate
from ivm.render.scalars.interpret import interpreter
from ivm.render.scalars.rows import Rows
from ivm.render.scalars.shape import Shape
from ivm.render.scalars.writer import Access, NotCompiledError
from ivm.trace.column import DTYPES, Array, Column
from ivm.trace.delta import Delta
from sql.ir.scalar import Column as Reference
from sql.ir.scalar import walk

Passed = tuple[Array | None, list[Column | None]]
"""Positions of the rows that pass (None: all do), and each map's column over them (None: nobody reads it)."""


@dataclass(slots=True)
class _Bound:
    """A loop for deltas of one access pattern."""

    loop: Loop
    ticket: Ticket
    constants: list[Any]
    refs: tuple[int, ...]
    slots: tuple[tuple[int, bool], ...]
    evaluated: list[tuple[Evaluate, bool]]
    outputs: tuple[tuple[int, tuple[int, ...], Any, bool], ...]
    left: list[tuple[int, Evaluate]]


class Fused:
    """The compiled half of a program. Which loop runs depends on how a delta holds the columns that it reads."""

    def __init__(self, shape: Shape, context: Context, compiler: Compiler) -> None:
        self._shape, self._context, self._compiler = shape, context, compiler
        scalars = (*shape.early, *shape.maps, *shape.late)
        nullable = {s.index for e in scalars for s in walk(e) if isinstance(s, Reference) and s.nullable}
        self._columns = inputs(shape)
        self._inputs = [(c, c in nullable) for c in self._columns]
        self._bound: dict[tuple[int, ...], _Bound | None] = {}

    @property
    def ready(self) -> bool:
        """Whether a loop is compiled for some way in which deltas hold their columns."""
        return any(b is not None and b.ticket.kernel is not None for b in self._bound.values())

    def run(self, delta: Delta) -> Passed | bool:
        """What passes; False if no row does; True if the interpreter must say (not compiled yet, or a row raises)."""
        places, groups = delta.layout.places, delta.groups
        key: list[int] = []
        columns: list[Column] = []
        for index, nullable in self._inputs:
            place = places[index]
            assert place is not None, f"column {index} is not bound"
            group = groups[place[0]]
            column = group.source.piece(place[1])
            refs = -1 if group.refs is None or column is None else place[0]
            if column is None:
                column = group.column(place[1])
            columns.append(column)
            masked = nullable and column.valid is not None
            key.append(refs * 2 + masked)
        pattern = tuple(key)
        try:
            bound = self._bound[pattern]
        except KeyError:
            bound = self._bound[pattern] = self._bind(pattern)
        if bound is None or bound.ticket.kernel is None:
            return True
        return self._call(bound, bound.ticket.kernel, delta, columns)

    def _bind(self, pattern: tuple[int, ...]) -> _Bound | None:
        """Order the loop for an access pattern; None if it has none."""
        numbers: dict[int, int] = {}
        access: dict[int, Access] = {}
        for slot, (column, code) in enumerate(zip(self._columns, pattern, strict=True)):
            group, masked = code >> 1, bool(code & 1)
            refs = None if group < 0 else numbers.setdefault(group, len(numbers))
            access[column] = Access(slot, refs, masked)
        try:
            loop = generate(self._shape, access, self._context)
        except NotCompiledError:
            return None
        groups = list(numbers)
        types = [m.type.physical for m in self._shape.maps]
        taken = loop.arguments
        return _Bound(
            loop,
            self._compiler.order(loop.source),
            [np.array(taken.integers, np.int64), np.array(taken.doubles, np.float64), *taken.sets],
            tuple(groups[r] for r in loop.refs),
            tuple((access[c].slot, access[c].masked) for c in loop.columns),
            [(interpreter(scalar, self._context), masked) for scalar, masked in taken.evaluated],
            tuple((k, (2,) if types[k].name == "WIDE" else (), DTYPES[types[k]], masked) for k, masked in loop.stored),
            [(k, interpreter(self._shape.maps[k], self._context)) for k in loop.left],
        )

    def _call(self, bound: _Bound, kernel: Any, delta: Delta, columns: list[Column]) -> Passed | bool:
        length = delta.length
        arguments: list[Any] = [length, *bound.constants]
        for memo in bound.loop.arguments.memos:
            memo.cover()
            arguments.append(memo.states)
            if memo.values is not None:
                arguments.append(memo.values)
        for group in bound.refs:
            arguments.append(_words(delta.groups[group].refs))
        for slot, masked in bound.slots:
            column = columns[slot]
            arguments.append(column.values)
            if masked:
                arguments.append(column.valid)
        if bound.evaluated:
            arguments += _evaluated(bound, delta)
        positions = np.empty(length, np.int64)
        arguments.append(positions)
        outputs: list[tuple[int, Array, Any]] = []
        for k, shape, dtype, masked in bound.outputs:
            values = np.empty((length, *shape), dtype)
            valid = np.empty(length, np.bool_) if masked else None
            outputs.append((k, values, valid))
            arguments.append(values)
            if masked:
                arguments.append(valid)
        count = kernel(*arguments)
        if count <= 0:
            return count < 0
        maps: list[Column | None] = [None] * len(self._shape.maps)
        kept = None if count == length else positions[:count]
        for k, values, valid in outputs:
            maps[k] = Column(values[:count], None if valid is None else valid[:count])
        if bound.left:
            self._finish(bound, delta, kept, maps)
        return kept, maps

    def _finish(self, bound: _Bound, delta: Delta, kept: Array | None, maps: list[Column | None]) -> None:
        """The maps without a compiled form, on the rows that passed."""
        rows = Rows(delta)
        if kept is not None:
            rows = rows.take(kept)
        width = self._shape.width
        for k, column in enumerate(maps):
            if column is not None:
                rows.append(width + k, column)
        with np.errstate(all="ignore"):
            for k, evaluate in bound.left:
                column = dense(evaluate(rows), rows.length)
                rows.append(width + k, column)
                maps[k] = column


def _evaluated(bound: _Bound, delta: Delta) -> list[Any]:
    """The sub-expressions without a compiled form, on all rows."""
    rows, arguments = Rows(delta), []
    with np.errstate(all="ignore"):
        for evaluate, masked in bound.evaluated:
            column = dense(evaluate(rows), rows.length)
            arguments.append(column.values)
            if masked:
                arguments.append(np.ones(rows.length, np.bool_) if column.valid is None else column.valid)
    return arguments


def _words(refs: Any) -> Array:
    words: Array = refs if refs.dtype == np.int64 else refs.astype(np.int64)
    return words
