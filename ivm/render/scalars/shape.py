"""A map-filter-project in the order in which it runs, how a delta's layout passes through it, and how it is cut.

Programs are cut into pieces, so that what is compiled at once is small: the compiler takes time with the square of a
loop's length: 20 columns of sums take a second, 100 take twenty.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ivm.analysis.ranges import can_raise
from ivm.catalog.types import JSON, VARCHAR, Kind, Physical
from ivm.plan.mfp import Mfp
from ivm.render.scalars.bodies.table import BODIES
from ivm.render.scalars.scratch import is_remembered, passes_texts
from ivm.sql.ir.functions import function_of
from ivm.sql.ir.scalar import TRUE, Call, Column, Scalar, columns_of, rewrite, walk
from ivm.trace.delta import Layout, Place

MOST = 180
"""What one loop may weigh; that takes the compiler a second or two."""

_OUTPUT = 3
_LIGHT = frozenset(("eq", "ne", "lt", "le", "gt", "ge", "is_null", "is_distinct", "not", "in"))
_JUNCTIONS = frozenset(("and", "or"))
_SEARCHED = (Physical.INT32, Physical.INT64, Physical.CODE)


@dataclass(frozen=True, slots=True)
class Shape:
    """`early` predicates need no map, `late` ones do; both are in the order of `cost_rank`.

    `maps` are what is computed: maps that are bare columns are left out (unless `gathered`), and those that read
    one read its origin; who reads a text that a map makes computes it for himself. `projection[i]` is a column of the
    input row, or `width + k` for the k-th of `maps`.
    `kept_maps` are the positions in `maps` of those that are projected, in their order. `made`: columns of texts that
    are made when they are read, and not of rows that are dropped.
    """

    maps: tuple[Scalar, ...]
    early: tuple[Scalar, ...]
    late: tuple[Scalar, ...]
    projection: tuple[int, ...]
    width: int
    kept_maps: tuple[int, ...]
    made: frozenset[int] = frozenset()

    @staticmethod
    def of(mfp: Mfp) -> Shape:
        """The shape of a program."""
        width, kept = mfp.width, set(mfp.projection)
        row: dict[int, int] = {i: i for i in range(width)}
        computed: list[Scalar] = []
        texts: dict[int, Scalar] = {}

        def placed(scalar: Scalar) -> Scalar:
            return rewrite(scalar, lambda part: moved(part) if isinstance(part, Column) else as_texts(part))

        def moved(column: Column) -> Scalar:
            return texts.get(column.index) or replace(column, index=row[column.index])

        for i, scalar in enumerate(map(placed, mfp.maps), width):
            if isinstance(scalar, Column) and not mfp.gathered:
                row[i] = scalar.index
                continue
            if isinstance(scalar, Call) and scalar.type.physical is Physical.CODE and weight(scalar) <= MOST:
                texts[i] = scalar
                if i not in kept:
                    continue
            row[i] = width + len(computed)
            computed.append(scalar)
        conditions = [placed(p) for p in mfp.predicates if p != TRUE]
        early = [p for p in conditions if all(c < width for c in columns_of(p))]
        late = [p for p in conditions if any(c >= width for c in columns_of(p))]
        outputs = tuple(row[c] for c in mfp.projection)
        return Shape(
            tuple(computed),
            tuple(sorted(early, key=cost_rank)),
            tuple(sorted(late, key=cost_rank)),
            outputs,
            width,
            tuple(sorted({c - width for c in outputs if c >= width})),
        )

    @property
    def inputs(self) -> tuple[int, ...]:
        """The input columns that a loop may read, in the order of their first use."""
        order: dict[int, None] = {}
        waiting = [*self.early, *self.maps, *self.late]
        for scalar in waiting:
            if isinstance(scalar, Column) and scalar.index < self.width and scalar.index not in self.made:
                order[scalar.index] = None
            elif isinstance(scalar, Call) and (is_remembered(scalar) or not passes_texts(scalar)):
                waiting.extend(scalar.args)
        return tuple(order)

    def project(self, layout: Layout) -> tuple[list[int], Layout]:
        """The groups of a delta that are still read, and the layout of the result over these and, last, the maps."""
        places = [layout.places[c] if c < self.width else None for c in self.projection]
        used = sorted({place[0] for place in places if place is not None})
        renumbered = {group: i for i, group in enumerate(used)}
        result: list[Place | None] = []
        for column, place in zip(self.projection, places, strict=True):
            if column >= self.width:
                result.append((len(used), self.kept_maps.index(column - self.width)))
            else:
                result.append(None if place is None else (renumbered[place[0]], place[1]))
        return used, Layout(result)

    @property
    def is_too_heavy(self) -> bool:
        """Whether a piece is left to the interpreter."""
        return sum(map(weight, (*self.early, *self.maps, *self.late))) + _OUTPUT * len(self.maps) > MOST

    def cut(self) -> list[Shape]:
        """Programs that do the same one after the other, each over what the one before it gives; mostly one.

        All but the last keep every column and add theirs behind. Each weighs at most `MOST`, or is one expression.
        """
        steps = [(False, p) for p in self.early] + [(True, m) for m in self.maps] + [(False, p) for p in self.late]
        chunks: list[list[tuple[bool, Scalar]]] = [[]]
        total = 0
        for is_map, scalar in steps:
            heavy = weight(scalar) + _OUTPUT * is_map
            if total and total + heavy > MOST:
                chunks.append([])
                total = 0
            chunks[-1].append((is_map, scalar))
            total += heavy
        pieces: list[Shape] = []
        width = self.width
        for chunk in chunks:
            maps = tuple(scalar for is_map, scalar in chunk if is_map)
            first = next((i for i, (is_map, _) in enumerate(chunk) if is_map), len(chunk))
            early = tuple(scalar for _, scalar in chunk[:first])
            late = tuple(scalar for is_map, scalar in chunk[first:] if not is_map)
            outputs = self.projection if chunk is chunks[-1] else tuple(range(width + len(maps)))
            kept = tuple(sorted({c - width for c in outputs if c >= width}))
            pieces.append(Shape(maps, early, late, outputs, width, kept))
            width += len(maps)
        return pieces


def as_texts(scalar: Scalar) -> Scalar:
    """What is cast from JSON to text, as the text which it is."""
    if not isinstance(scalar, Call) or scalar.function != "cast" or scalar.type != VARCHAR:
        return scalar
    (given,) = scalar.args
    if given.type == JSON and isinstance(given, Column):
        return replace(given, type=VARCHAR)
    if given.type == JSON and isinstance(given, Call) and function_of(given.function).asked is not None:
        return replace(given, type=VARCHAR)
    return scalar


def cost_rank(predicate: Scalar) -> int:
    """In which order predicates are asked: 0 plain ones, 1 those that look strings up, 2 those that can raise."""
    if can_raise(predicate):
        return 2
    calls = [part for part in walk(predicate) if isinstance(part, Call) and not BODIES[part.function].by_code]
    return int(any(arg.type.kind is Kind.VARCHAR for call in calls for arg in call.args))


def weight(scalar: Scalar) -> int:
    """What an expression adds to the time in which its loop compiles; a sum of two columns is 6."""
    return sum(_weight(each) for each in walk(scalar) if isinstance(each, Call))


def _weight(call: Call) -> int:
    if call.function in _JUNCTIONS:
        return len(call.args) - 1
    if call.function in ("case", "coalesce"):
        return len(call.args) // 2
    if call.function == "in" and call.args[0].type.physical not in _SEARCHED:
        return len(call.args)
    if any(each.type.physical is Physical.WIDE for each in (call, *call.args)):
        return 15
    if call.function in _LIGHT:
        return 2
    if any(each.type.kind is Kind.VARCHAR for each in call.args):
        return 8
    return 6 if can_raise(call) else 3
