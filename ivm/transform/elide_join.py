"""A join that can only find one row, which is known to be there, is dropped."""

from __future__ import annotations

from dataclasses import dataclass

from ivm.analysis.references import references
from ivm.analysis.unique_keys import unique_keys
from ivm.transform.peeled import Peeled, peeled
from ivm.transform.rewrite import at_each, expressed, filtered, names
from sql.ir.classes import merged_classes
from sql.ir.conditions import coalesced, comparison, is_null, negation
from sql.ir.rebuild import offsets, row, with_inputs
from sql.ir.relation import Filter, Get, Join, Project, Relation
from sql.ir.scalar import Column, Literal, Scalar, columns_of, remap, some_value


@at_each(Join)
def elide_join(join: Join) -> Relation:
    """Drop inputs of joins that add nothing to the others.

    - a table joined by its key along an enforced foreign key, of which only key columns are read: they are the foreign
      key's. Where that can be NULL, a filter takes the join's place.
    - a relation that is joined with itself by a unique key: both are one row, which has to pass both filters.

    Needs joins whose inputs have no column that nobody reads. Keys of DOUBLE stay, since 0.0 = -0.0.
    """
    return _elide(join)


@dataclass(frozen=True, slots=True)
class _Sides:
    """The inputs of a join taken apart, where the columns of each begin, and the class of each column that is in one.

    Classes of DOUBLE are left out, whose equal values may differ.
    """

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


def _sides(join: Join) -> _Sides:
    alike = [group for group in join.equivalences if not join.schema[group[0]].type.is_float]
    classes = {column: number for number, group in enumerate(alike) for column in group}
    return _Sides(tuple(map(peeled, join.inputs)), offsets(join.inputs), classes)


def _elide(join: Join) -> Relation:
    sides = _sides(join)
    for gone in reversed(range(len(join.inputs))):
        for kept in (i for i in range(len(join.inputs)) if i != gone):
            after = _without_referenced(join, sides, kept, gone) or _without_itself(join, sides, kept, gone)
            if after is not None:
                return _elide_further(after)
    return join


def _elide_further(relation: Relation) -> Relation:
    """The same of the join that is left, below the projection and the filter."""
    if isinstance(relation, Project | Filter):
        return with_inputs(relation, (_elide_further(relation.input),))
    return _elide(relation) if isinstance(relation, Join) else relation


def _without_referenced(join: Join, sides: _Sides, kept: int, gone: int) -> Relation | None:
    """The join without input `gone`, if that is a table of which `kept` refers to a row; else None.

    What has been filtered by the key there is filtered by the foreign key here, unless that can be NULL.
    """
    target = sides.sides[gone]
    if not isinstance(target.base, Get) or not target.base.is_table:
        return None
    for each in references(join.inputs[kept]):
        partners = dict(zip(each.referenced, each.columns, strict=True))
        if each.table != target.base.name or not _are_plain(target.columns, partners):
            continue
        if not _can_test(join.inputs[kept], partners, target.predicates):
            continue
        if not all(sides.are_equal((kept, own), gone, other) for other, own in partners.items()):
            continue
        own = tuple(partners[_index(scalar)] for scalar in target.columns)
        return _dropped(join, kept, gone, _tested(join.inputs[kept], partners, target.predicates), own)
    return None


def _can_test(relation: Relation, partners: dict[int, int], predicates: tuple[Scalar, ...]) -> bool:
    """Whether `predicates` over a table can be asked of the columns that refer to it."""
    tested = frozenset[int]().union(*map(columns_of, predicates))
    return all(c in partners and not relation.schema[partners[c]].nullable for c in tested)


def _tested(relation: Relation, partners: dict[int, int], predicates: tuple[Scalar, ...]) -> Relation:
    """The relation where `predicates` over a table hold of the columns that refer to it."""
    return filtered(relation, (remap(p, partners.__getitem__) for p in predicates))


def _are_plain(columns: tuple[Scalar, ...], among: dict[int, int]) -> bool:
    return all(isinstance(scalar, Column) and scalar.index in among for scalar in columns)


def _index(scalar: Scalar) -> int:
    assert isinstance(scalar, Column), "only plain columns are asked for their place"
    return scalar.index


def _without_itself(join: Join, sides: _Sides, kept: int, gone: int) -> Relation | None:
    """The join with `kept` and `gone` as one input, if both are the same row of one relation; else None."""
    one, other = sides.sides[kept], sides.sides[gone]
    if one.base != other.base:
        return None
    for key in unique_keys(one.base):
        own = {column: one.place(column) for column in key}
        if all(p is not None and sides.are_equal((kept, p), gone, c) for c, p in own.items()):
            both = _both(one, other, (*names(join.inputs[kept]), *names(join.inputs[gone])))
            columns = (*one.columns, *other.columns)
            return _dropped(join, kept, gone, both, tuple(columns.index(scalar) for scalar in other.columns))
    return None


def _both(one: Peeled, other: Peeled, given: tuple[str, ...]) -> Relation:
    """The columns of both sides computed over their one base, where the filters of both hold."""
    return expressed(filtered(one.base, (*one.predicates, *other.predicates)), (*one.columns, *other.columns), given)


def _dropped(join: Join, kept: int, gone: int, instead: Relation, own: tuple[int, ...]) -> Relation:
    """The join without input `gone`, whose columns are columns `own` of `instead`, which takes the place of `kept`.

    A class that is left with one column still asks for it not to be NULL, and where one input is left they are filters.
    """
    inputs = tuple(instead if i == kept else each for i, each in enumerate(join.inputs) if i != gone)
    starts = offsets(inputs)
    places: list[int] = []
    for i, each in enumerate(join.inputs):
        if i == gone:
            places += [starts[kept - (kept > gone)] + c for c in own]
        else:
            places += [starts[i - (i > gone)] + c for c in range(len(each.schema))]
    groups = [{places[c] for c in group} for group in join.equivalences]
    classes = merged_classes(groups)
    rest: Relation = Join(inputs, classes) if len(inputs) > 1 else inputs[0]
    columns = row(rest)
    alone = sorted({c for group in groups if len(group) == 1 for c in group if columns[c].nullable})
    conditions = [negation(is_null(columns[c])) for c in alone]
    if len(inputs) == 1:
        conditions += [comparison("eq", columns[first], columns[c]) for first, *others in classes for c in others]
    return _restored(filtered(rest, conditions), places, join)


def _restored(rest: Relation, places: list[int], join: Join) -> Relation:
    """The columns of `join`, which stand at `places`. One that was never NULL must not look as if it could be."""
    columns = row(rest)
    placed = tuple(
        _not_null(columns[place]) if columns[place].nullable and not field.nullable else columns[place]
        for place, field in zip(places, join.schema, strict=True)
    )
    return expressed(rest, placed, names(join))


def _not_null(column: Column) -> Scalar:
    """The column, of which a filter below has made sure that it is not NULL; the literal is never seen."""
    return coalesced(column, Literal(some_value(column.type), column.type))
