"""Programs whose functions of text are columns of their input: a source computes them from the bytes that it holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ivm.render.scalars.cost import cost_rank
from ivm.render.scalars.functions import Context
from ivm.render.scalars.shape import Shape
from ivm.render.scalars.text_function import Function, functions_in
from ivm.trace.delta import Delta, Layout, Place
from sql.ir.scalar import Call, Column, Scalar

_MOST_LAYOUTS = 64


class TextInputs:
    """The text columns that a program reads by native functions alone, each with the expressions by which it does."""

    def __init__(self, shape: Shape, context: Context) -> None:
        self.shape = shape
        self.expressions = functions_in((*shape.early, *shape.maps, *shape.late), shape.width, context)
        self._asked = [
            (1 << i, index, tuple(dict.fromkeys(each.values())))
            for i, (index, each) in enumerate(self.expressions.items())
        ]
        self._layouts: dict[tuple[int, Layout], Layout] = {}

    def wanted(self, delta: Delta) -> int:
        """Those that the delta's sources better compute themselves, a bit for each text column; see `rewritten`."""
        bits = 0
        for bit, index, functions in self._asked:
            if delta.computes(index, functions):
                bits |= bit
        return bits

    def _chosen(self, wanted: int) -> list[tuple[int, tuple[Function, ...]]]:
        return [(index, functions) for bit, index, functions in self._asked if wanted & bit]

    def rewritten(self, wanted: int) -> Shape:
        """The program that reads these functions as columns, which lie behind those of the input."""
        shape = self.shape
        more: dict[tuple[int, Function], int] = {}
        for index, functions in self._chosen(wanted):
            for function in functions:
                more[index, function] = shape.width + len(more)
        columns: dict[Scalar, Column] = {}
        for index, _ in self._chosen(wanted):
            for scalar, function in self.expressions[index].items():
                columns[scalar] = Column(more[index, function], scalar.type, _is_nullable(scalar))

        def moved(scalar: Scalar) -> Scalar:
            if scalar in columns:
                return columns[scalar]
            if isinstance(scalar, Column) and scalar.index >= shape.width:
                return replace(scalar, index=scalar.index + len(more))
            if isinstance(scalar, Call):
                return replace(scalar, args=tuple(moved(arg) for arg in scalar.args))
            return scalar

        return replace(
            shape,
            maps=tuple(map(moved, shape.maps)),
            early=tuple(sorted(map(moved, shape.early), key=cost_rank)),
            late=tuple(sorted(map(moved, shape.late), key=cost_rank)),
            width=shape.width + len(more),
        )

    def bound(self, delta: Delta, wanted: int) -> Delta:
        """The delta with these functions as columns behind its own."""
        key = wanted, delta.layout
        layout = self._layouts.get(key)
        if layout is None:
            if len(self._layouts) >= _MOST_LAYOUTS:
                self._layouts.clear()
            places = delta.layout.places[: self.shape.width]
            layout = self._layouts[key] = Layout((*places, *_places(places, self._chosen(wanted))))
        return Delta(delta.groups, layout, delta.length, delta.times, delta.diffs)


def _places(given: Sequence[Place | None], wanted: list[tuple[int, tuple[Function, ...]]]) -> Iterator[Place]:
    """Those of the functions of these columns."""
    for index, functions in wanted:
        place = given[index]
        assert place is not None, f"column {index} is not bound"
        group, column = place
        assert not isinstance(column, tuple), f"column {index} is a function itself"
        yield from ((group, (column, function)) for function in functions)


def _is_nullable(scalar: Scalar) -> bool:
    return isinstance(scalar, Call) and scalar.nullable
