"""A relation as its columns and filters over what is below all maps, filters and projections."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sql.ir.rebuild import row
from sql.ir.relation import Filter, Map, Project, Relation
from sql.ir.scalar import Column, Scalar, substitute


@dataclass(frozen=True)
class Peeled:
    """The expressions of a relation's columns over `base`, and what has been filtered there, oldest first."""

    base: Relation
    predicates: tuple[Scalar, ...]
    columns: tuple[Scalar, ...]

    def place(self, column: int) -> int | None:
        """Where a column of the base stands among the relation's; None if it is not there."""
        return self._places.get(column)

    @cached_property
    def _places(self) -> dict[int, int]:
        plain = [(scalar.index, i) for i, scalar in enumerate(self.columns) if isinstance(scalar, Column)]
        return dict(reversed(plain))


def peeled(relation: Relation) -> Peeled:
    """The relation taken apart. Cost: linear in the expressions that come out, which may repeat what maps share."""
    match relation:
        case Project():
            below = peeled(relation.input)
            return Peeled(below.base, below.predicates, tuple(below.columns[c] for c in relation.columns))
        case Map():
            below = peeled(relation.input)
            added = tuple(substitute(s, below.columns) for s in relation.scalars)
            return Peeled(below.base, below.predicates, (*below.columns, *added))
        case Filter():
            below = peeled(relation.input)
            added = tuple(substitute(p, below.columns) for p in relation.predicates)
            return Peeled(below.base, (*below.predicates, *added), below.columns)
    return Peeled(relation, (), row(relation))
