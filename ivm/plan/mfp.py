"""Fused map-filter-project: any chain of Map, Filter and Project as one step over one row."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sql.ir.relation import Filter, Map, Project, Relation
from sql.ir.scalar import Column, Scalar, columns_of, remap, substitute

Row = tuple[Column, ...]
"""The columns of a plan's output, in order: column i of it is `row[i]`, with type and nullability."""


def row_of(parts: tuple[Scalar, ...]) -> Row:
    """The row whose columns have the types of `parts`."""
    return tuple(Column(i, part.type, part.nullable) for i, part in enumerate(parts))


def row_of_relation(relation: Relation) -> Row:
    """The row of a relation's schema."""
    return tuple(Column(i, field.type, field.nullable) for i, field in enumerate(relation.schema))


@dataclass(frozen=True)
class Mfp:
    """Append `maps` to a row of `width` columns, keep it where all `predicates` hold, keep columns `projection`.

    A map may read the input's columns and earlier maps; predicates and the projection may read all of them.
    `gathered`: columns that are only passed on are copied in the same pass, since the reader needs all of them.
    """

    width: int
    maps: tuple[Scalar, ...]
    predicates: tuple[Scalar, ...]
    projection: tuple[int, ...]
    gathered: bool = False

    @property
    def is_identity(self) -> bool:
        """Whether every row passes unchanged."""
        return not self.predicates and self.projection == tuple(range(self.width))

    def map(self, scalars: tuple[Scalar, ...]) -> Mfp:
        """This, then `scalars` (over its output) appended to its output."""
        base = self.width + len(self.maps)
        added = tuple(remap(s, self.projection.__getitem__) for s in scalars)
        places = tuple(s.index if isinstance(s, Column) else base + i for i, s in enumerate(added))
        return replace(self, maps=self.maps + added, projection=self.projection + places)

    def filter(self, predicates: tuple[Scalar, ...]) -> Mfp:
        """This, then a filter over its output."""
        added = tuple(remap(p, self.projection.__getitem__) for p in predicates)
        return replace(self, predicates=self.predicates + added)

    def project(self, columns: tuple[int, ...]) -> Mfp:
        """This, then a projection of its output."""
        return replace(self, projection=tuple(self.projection[c] for c in columns))

    def then(self, after: Mfp) -> Mfp:
        """This, then `after` over its output."""
        both = self
        for scalar in after.maps:
            both = both.map((scalar,))
        return replace(both.filter(after.predicates).project(after.projection), gathered=after.gathered)

    def outputs(self) -> tuple[Scalar | int, ...]:
        """Each output as an expression over the input's columns; a plain column as its position."""
        values = self.map_values()
        return tuple(p if p < self.width else values[p - self.width] for p in self.projection)

    def map_values(self) -> tuple[Scalar, ...]:
        """Each map as an expression over the input's columns alone."""
        values: list[Scalar] = []
        for scalar in self.maps:
            values.append(self.over_input(scalar, values))
        return tuple(values)

    def over_input(self, scalar: Scalar, values: list[Scalar] | tuple[Scalar, ...]) -> Scalar:
        """`scalar` with references to maps replaced by `values`."""
        columns = {s.index: s for s in _columns(scalar)}
        if all(index < self.width for index in columns):
            return scalar
        table = tuple(columns.get(i, Column(i, scalar.type)) for i in range(self.width)) + tuple(values)
        return substitute(scalar, table)

    def pruned(self) -> Mfp:
        """The same without maps that nobody reads, and with equal maps computed once."""
        maps, places = self._distinct_maps()
        predicates = tuple(dict.fromkeys(remap(p, places.__getitem__) for p in self.predicates))
        projection = tuple(places[p] for p in self.projection)
        needed = set(projection).union(*(columns_of(p) for p in predicates)) if predicates else set(projection)
        for i in reversed(range(len(maps))):
            if self.width + i in needed:
                needed |= columns_of(maps[i])
        kept = [i for i in range(len(maps)) if self.width + i in needed]
        final = {i: i for i in range(self.width)} | {self.width + i: self.width + n for n, i in enumerate(kept)}
        return Mfp(
            self.width,
            tuple(remap(maps[i], final.__getitem__) for i in kept),
            tuple(remap(p, final.__getitem__) for p in predicates),
            tuple(final[p] for p in projection),
            self.gathered,
        )

    def _distinct_maps(self) -> tuple[list[Scalar], dict[int, int]]:
        maps: list[Scalar] = []
        seen: dict[Scalar, int] = {}
        places = {i: i for i in range(self.width)}
        for i, scalar in enumerate(self.maps):
            moved = remap(scalar, places.__getitem__)
            if isinstance(moved, Column):
                places[self.width + i] = moved.index
                continue
            if moved not in seen:
                seen[moved] = self.width + len(maps)
                maps.append(moved)
            places[self.width + i] = seen[moved]
        return maps, places


def identity(width: int) -> Mfp:
    """The MFP that changes nothing."""
    return Mfp(width, (), (), tuple(range(width)))


def peel(relation: Relation) -> tuple[Relation, Mfp]:
    """Split a relation into the first node below it that is no map, filter or project, and the MFP above that."""
    chain: list[Map | Filter | Project] = []
    while isinstance(relation, Map | Filter | Project):
        chain.append(relation)
        relation = relation.input
    mfp = identity(len(relation.schema))
    for node in reversed(chain):
        match node:
            case Map():
                mfp = mfp.map(node.scalars)
            case Filter():
                mfp = mfp.filter(node.predicates)
            case Project():
                mfp = mfp.project(node.columns)
    return relation, mfp


def _columns(scalar: Scalar) -> list[Column]:
    if isinstance(scalar, Column):
        return [scalar]
    return [c for arg in getattr(scalar, "args", ()) for c in _columns(arg)]
