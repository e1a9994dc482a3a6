"""The compiled half of a program: which loop runs, and from when on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ivm.render.scalars.columns import Passed
from ivm.render.scalars.compiler import Compiler
from ivm.render.scalars.functions import Context
from ivm.render.scalars.shape import Shape
from ivm.trace.column import Column
from ivm.trace.delta import Delta
from sql.ir.scalar import Column as Reference
from sql.ir.scalar import walk

if TYPE_CHECKING:
    from ivm.render.scalars.bound import BoundLoop, Pattern


class Fused:
    """Which loop runs depends on how a delta holds the columns that it reads. Each is ordered once it is worth it."""

    def __init__(self, shape: Shape, context: Context, compiler: Compiler) -> None:
        self._shape, self._context, self._compiler = shape, context, compiler
        scalars = (*shape.early, *shape.maps, *shape.late)
        nullable = {s.index for e in scalars for s in walk(e) if isinstance(s, Reference) and s.nullable}
        self._columns = shape.inputs
        self._inputs = [(c, c in nullable) for c in self._columns]
        self._bound: dict[Pattern, BoundLoop | None] = {}
        self._missed: dict[Pattern, tuple[int, int]] = {}
        compiler.add(self)

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
            if not self._is_worth(pattern, delta.length):
                return True
            bound = self._bind(pattern)
        if bound is None or bound.ticket.kernel is None:
            return True
        return bound.run(bound.ticket.kernel, delta, columns)

    def order(self) -> None:
        """Order the loops that were missed so far, whatever they are worth."""
        for pattern in list(self._missed):
            if pattern not in self._bound:
                self._bind(pattern)

    def _is_worth(self, pattern: Pattern, length: int) -> bool:
        calls, rows = self._missed.get(pattern, (0, 0))
        self._missed[pattern] = calls + 1, rows + length
        return self._compiler.is_worth(calls + 1, rows + length)

    def _bind(self, pattern: Pattern) -> BoundLoop | None:
        """Order the loop for a pattern; None if it has none."""
        from ivm.render.scalars.bound import bind  # noqa: PLC0415  what writes loops, which few processes need

        bound = self._bound[pattern] = bind(self._shape, self._context, self._compiler, self._columns, pattern)
        return bound
