"""Programs whose functions of text are columns of their input: a source computes them from the bytes that it holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ivm.render.scalars.cost import cost_rank
from ivm.render.scalars.functions import Context
from ivm.render.scalars.shape import Shape
from ivm.render.scalars.text_function import Function, functions_in
from ivm.trace.column import Array
from ivm.trace.column import Column as Values
from ivm.trace.delta import Delta, Group, Source
from ivm.trace.layout import Layout, Place
from sql.ir.scalar import Call, Column, Scalar

_MOST_LAYOUTS = 64


class Computing(Source):
    """A source with more columns: at position ~k is function k of `functions`, each with its column of `source`."""

    __slots__ = ("_functions", "_source")

    def __init__(self, source: Source, functions: Sequence[tuple[int, Function]]) -> None:
        self._source = source
        self._functions = functions

    def column(self, index: int) -> Values:
        """Column `index`, or a function."""
        return self._source.column(index) if index >= 0 else self._source.computed(*self._functions[~index])

    def piece(self, index: int) -> Values | None:
        """As the source has it."""
        return self._source.piece(index) if index >= 0 else self._source.computed_piece(*self._functions[~index])

    def gather(self, index: int, rows: Array) -> Values:
        """Column `index` of `rows`, or a function."""
        if index >= 0:
            return self._source.gather(index, rows)
        return self._source.gather_computed(*self._functions[~index], rows)


class TextInputs:
    """The text columns that a program reads by native functions alone, each with the expressions by which it does."""

    def __init__(self, shape: Shape, context: Context) -> None:
        self.shape = shape
        self.expressions = functions_in((*shape.early, *shape.maps, *shape.late), shape.width, context)
        self._asked = [
            (1 << i, index, tuple(dict.fromkeys(each.values())))
            for i, (index, each) in enumerate(self.expressions.items())
        ]
        self._placed: dict[tuple[int, Layout], _Placed] = {}

    def wanted(self, delta: Delta) -> int:
        """Those that the delta's sources better compute themselves, a bit for each text column; see `rewritten`."""
        bits, places, groups = 0, delta.layout.places, delta.groups
        for bit, index, functions in self._asked:
            place = places[index]
            if place is not None and groups[place[0]].source.computes(place[1], functions):
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
        known = self._placed.get(key)
        if known is None:
            if len(self._placed) >= _MOST_LAYOUTS:
                self._placed.clear()
            known = self._placed[key] = _placed(delta.layout.places[: self.shape.width], self._chosen(wanted))
        groups = list(delta.groups)
        for number, functions in known.computed:
            groups[number] = Group(Computing(groups[number].source, functions), groups[number].refs)
        return Delta(groups, known.layout, delta.length, delta.times, delta.diffs)


@dataclass(frozen=True, slots=True)
class _Placed:
    """A layout with functions behind its columns, and the groups that have some, with the functions of each."""

    layout: Layout
    computed: list[tuple[int, list[tuple[int, Function]]]]


def _placed(given: Sequence[Place | None], wanted: list[tuple[int, tuple[Function, ...]]]) -> _Placed:
    places = list(given)
    computed: dict[int, list[tuple[int, Function]]] = {}
    for index, functions in wanted:
        place = given[index]
        assert place is not None, f"column {index} is not bound"
        group = computed.setdefault(place[0], [])
        for function in functions:
            places.append((place[0], ~len(group)))
            group.append((place[1], function))
    return _Placed(Layout(places), list(computed.items()))


def _is_nullable(scalar: Scalar) -> bool:
    return isinstance(scalar, Call) and scalar.nullable
