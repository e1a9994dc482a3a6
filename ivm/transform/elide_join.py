"""A join that can only find one row, which is known to be there, is dropped."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

from ivm.analysis.references import references
from ivm.analysis.unique_keys import unique_keys
from ivm.sql.ir.rebuild import offsets, row
from ivm.sql.ir.relation import Get, Join, Relation
from ivm.sql.ir.scalar import Column, columns_of, remap
from ivm.transform.rewrite import Peeled, at_each, expressed, filtered, names, peeled, rejoined

Instead = tuple[Relation, tuple[int, ...]]
"""What takes the place of two inputs, and its columns that those of the dropped one are."""


@at_each(Join)
def elide_join(join: Join) -> Relation:
    """Drop inputs of joins that add nothing to the others.

    - a table joined by its key along an enforced foreign key, of which only key columns are read: they are the foreign
      key's. Where that can be NULL, a filter takes the join's place.
    - a relation that is joined with itself by a unique key: both are one row, which has to pass both filters.

    Needs joins whose inputs have no column that nobody reads. Keys of DOUBLE stay, since 0.0 = -0.0.
    """
    alike = [group for group in join.equivalences if not join.schema[group[0]].type.is_float]
    classes = {column: number for number, group in enumerate(alike) for column in group}
    sides = _Sides(join, tuple(map(peeled, join.inputs)), offsets(join.inputs), classes)
    for kept, gone in sorted(permutations(range(len(join.inputs)), 2), key=lambda pair: -pair[1]):
        instead = _by_reference(sides, kept, gone) or _by_itself(sides, kept, gone)
        if instead is not None:
            return elide_join(_without(join, kept, gone, *instead))
    return join


@dataclass(frozen=True, slots=True)
class _Sides:
    """The inputs of a join taken apart, where the columns of each begin, and the class of each column that is in one.

    Classes of DOUBLE are left out, whose equal values may differ.
    """

    join: Join
    sides: tuple[Peeled, ...]
    starts: tuple[int, ...]
    classes: dict[int, int]

    def are_equal(self, own: tuple[int, int], other: int, column: int) -> bool:
        """Whether the join makes column `own` (input, place) equal to column `column` of the base of input `other`."""
        place = self.sides[other].place(column)
        if place is None:
            return False
        group = self.classes.get(self.starts[other] + place)
        return group is not None and group == self.classes.get(self.starts[own[0]] + own[1])


def _by_reference(sides: _Sides, kept: int, gone: int) -> Instead | None:
    """What `kept` has of input `gone`, if that is a table of which it refers to a row; else None.

    What has been filtered by the key there is filtered by the foreign key here, unless that can be NULL.
    """
    relation, target = sides.join.inputs[kept], sides.sides[gone]
    if not isinstance(target.base, Get) or not target.base.is_table:
        return None
    tested = frozenset[int]().union(*map(columns_of, target.predicates))
    for each in references(relation):
        partners = dict(zip(each.referenced, each.columns, strict=True))
        own = tuple(partners[s.index] for s in target.columns if isinstance(s, Column) and s.index in partners)
        if (
            each.table == target.base.name
            and len(own) == len(target.columns)
            and all(c in partners and not relation.schema[partners[c]].nullable for c in tested)
            and all(sides.are_equal((kept, column), gone, other) for other, column in partners.items())
        ):
            return filtered(relation, (remap(p, partners.__getitem__) for p in target.predicates)), own
    return None


def _by_itself(sides: _Sides, kept: int, gone: int) -> Instead | None:
    """Both inputs over the one base that they have, where the filters of both hold, if they are the same row of it."""
    one, other = sides.sides[kept], sides.sides[gone]
    if one.base != other.base:
        return None
    for key in unique_keys(one.base):
        own = {column: one.place(column) for column in key}
        if all(p is not None and sides.are_equal((kept, p), gone, c) for c, p in own.items()):
            columns = (*one.columns, *other.columns)
            given = (*names(sides.join.inputs[kept]), *names(sides.join.inputs[gone]))
            both = expressed(filtered(one.base, (*one.predicates, *other.predicates)), columns, given)
            return both, tuple(map(columns.index, other.columns))
    return None


def _without(join: Join, kept: int, gone: int, instead: Relation, own: tuple[int, ...]) -> Relation:
    """The join without input `gone`, whose columns are columns `own` of `instead`, which takes the place of `kept`."""
    inputs = tuple(instead if i == kept else each for i, each in enumerate(join.inputs) if i != gone)
    starts = offsets(inputs)
    places: list[int] = []
    for i, each in enumerate(join.inputs):
        at = kept if i == gone else i
        places += [starts[at - (at > gone)] + c for c in (own if i == gone else range(len(each.schema)))]
    columns = row(Join(inputs))
    return rejoined(join, inputs, (columns[place] for place in places))
