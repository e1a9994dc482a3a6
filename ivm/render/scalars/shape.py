"""A map-filter-project in the order in which it runs, and how a delta's layout passes through it."""

from __future__ import annotations

from dataclasses import dataclass

from ivm.render.scalars.cost import cost_rank
from ivm.trace.column import Column as Values
from ivm.trace.delta import Columns, Group, Layout, Place
from sql.ir.scalar import TRUE, Column, Scalar, columns_of, remap


@dataclass(frozen=True, slots=True)
class Shape:
    """`early` predicates need no map, `late` ones do; both are in the order of `cost_rank`.

    `maps` are what is computed: maps that are bare columns are left out (unless `gathered`), and those that read
    one read its origin. `projection[i]` is a column of the input row, or `width + k` for the k-th of `maps`.
    `kept_maps` are the positions in `maps` of those that are projected, in their order.
    """

    maps: tuple[Scalar, ...]
    early: tuple[Scalar, ...]
    late: tuple[Scalar, ...]
    projection: tuple[int, ...]
    width: int
    kept_maps: tuple[int, ...]

    @staticmethod
    def of(
        maps: tuple[Scalar, ...],
        predicates: tuple[Scalar, ...],
        projection: tuple[int, ...] | None,
        width: int,
        gathered: bool = False,
    ) -> Shape:
        """The shape of a program as `MfpProgram` takes it."""
        row: dict[int, int] = {i: i for i in range(width)}
        computed: list[Scalar] = []
        for i, scalar in enumerate(maps):
            placed = remap(scalar, row.__getitem__)
            if isinstance(placed, Column) and not gathered:
                row[width + i] = placed.index
            else:
                row[width + i] = width + len(computed)
                computed.append(placed)
        conditions = [remap(p, row.__getitem__) for p in predicates if p != TRUE]
        early = [p for p in conditions if all(c < width for c in columns_of(p))]
        late = [p for p in conditions if any(c >= width for c in columns_of(p))]
        kept = range(width + len(maps)) if projection is None else projection
        outputs = tuple(row[c] for c in kept)
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
        """The input columns that are read, in the order of their first use."""
        order: dict[int, None] = {}
        for scalar in (*self.early, *self.maps, *self.late):
            order.update(dict.fromkeys(c for c in sorted(columns_of(scalar)) if c < self.width))
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

    def group_of(self, maps: list[Values | None]) -> Group:
        """The group of the projected maps."""
        return Group(Columns([column for k in self.kept_maps if (column := maps[k]) is not None]))
