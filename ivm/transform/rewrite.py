"""What every rule needs: take a relation apart, and rebuild it from rewritten parts, keeping what has not changed."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from typing import TypeVar

from ivm.analysis.fact import fact
from ivm.analysis.ranges import can_raise
from ivm.catalog.schema import Schema
from ivm.sql.ir.classes import merged_classes
from ivm.sql.ir.conditions import coalesced, comparison, is_null, negation
from ivm.sql.ir.rebuild import map_inputs, row
from ivm.sql.ir.relation import Filter, Join, Map, Project, Reduce, Relation
from ivm.sql.ir.scalar import Call, Column, Literal, Scalar, columns_of, some_value, substitute

Rule = Callable[[Relation], Relation]
"""A rule returns an equal relation with the same columns: the one it was given if it does not apply."""

Node = TypeVar("Node", bound=Relation)


def bottom_up(function: Rule) -> Rule:
    """The rule that applies `function`, which looks at one node alone, to every node, its inputs first.

    Its result is remembered on the node, so a node that stands in several places is rewritten once and stays one node,
    and one that nothing applies to is not looked at again.
    """

    @fact
    @wraps(function)
    def rule(node: Relation) -> Relation:
        return unless_equal(function(map_inputs(node, rule)), node)

    return rule


def at_each(kind: type[Node]) -> Callable[[Callable[[Node], Relation]], Rule]:
    """`bottom_up` for a function of one kind of node, which leaves all others as they are."""

    def rule_of(function: Callable[[Node], Relation]) -> Rule:
        @bottom_up
        @wraps(function)
        def rule(node: Relation) -> Relation:
            return function(node) if isinstance(node, kind) else node

        return rule

    return rule_of


def unless_equal(after: Relation, before: Relation) -> Relation:
    """`after`, but the very node `before` if they are equal, so that what is above it need not change either."""
    return before if after is before or after == before else after


def names(relation: Relation) -> tuple[str, ...]:
    """The names of a relation's columns."""
    return tuple([field.name for field in relation.schema])


@dataclass(frozen=True)
class Peeled:
    """A relation as expressions of its columns over `base`, what is below all maps, filters and projections, and what
    has been filtered there, oldest first.
    """

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


def filtered(relation: Relation, predicates: Iterable[Scalar]) -> Relation:
    """A filter over `relation`, merged into the filter that it may be; each predicate once, the older ones first.

    The order matters to expressions that can raise: a predicate guards those after it.
    """
    before = relation.predicates if isinstance(relation, Filter) else ()
    added = tuple(p for p in dict.fromkeys(predicates) if p not in before)
    if not added:
        return relation
    below = relation.input if isinstance(relation, Filter) else relation
    return Filter(below, (*before, *added))


def mapped(relation: Relation, scalars: tuple[Scalar, ...], added: tuple[str, ...]) -> Relation:
    """A map over `relation`; nothing if there is nothing to compute."""
    return Map(relation, scalars, added) if scalars else relation


def projected(relation: Relation, columns: tuple[int, ...], renamed: tuple[str, ...]) -> Relation:
    """A projection over `relation`; nothing if it would change neither columns nor names."""
    same = columns == tuple(range(len(relation.schema)))
    if same and renamed == names(relation):
        return relation
    kept = names(relation)
    return Project(relation, columns, () if tuple(kept[c] for c in columns) == renamed else renamed)


def expressed(relation: Relation, scalars: tuple[Scalar, ...], wanted: tuple[str, ...]) -> Relation:
    """`scalars` over `relation` in place of its columns, what is to be computed once each; by the names `wanted`."""
    calls = tuple(dict.fromkeys(s for s in scalars if not isinstance(s, Column)))
    places = {scalar: len(relation.schema) + i for i, scalar in enumerate(calls)}
    columns = tuple(s.index if isinstance(s, Column) else places[s] for s in scalars)
    return projected(mapped(relation, calls, tuple(wanted[scalars.index(s)] for s in calls)), columns, wanted)


def rejoined(
    join: Join,
    inputs: tuple[Relation, ...],
    columns: Iterable[Scalar],
    classes: Iterable[Iterable[int]] = (),
    predicates: Iterable[Scalar] = (),
) -> Relation:
    """The join made of other inputs, over which its columns are `columns`, and `classes` and `predicates` hold as well.

    Of a class that is left with one column, it is still asked not to be NULL. A computed one is compared by a filter,
    as all are where one input is left. What was never NULL does not look as if it could be.
    """
    values, groups, tested = tuple(columns), [*classes], [*predicates]
    for group in join.equivalences:
        members = tuple(dict.fromkeys(values[c] for c in group))
        plain = tuple(s for s in members if isinstance(s, Column))
        first = (*plain, *members)[0]
        groups.append(s.index for s in plain)
        tested += [comparison("eq", first, s) for s in members if s != first and s not in plain]
        if len(members) == 1 and first.nullable:
            tested.append(negation(is_null(first)))
    merged, made = merged_classes(groups), inputs[0]
    if len(inputs) > 1:
        made = Join(inputs, merged)
    else:
        own = row(made)
        tested += [comparison("eq", own[one], own[c]) for one, *others in merged for c in others]
    return expressed(filtered(made, tested), as_certain(values, join.schema), names(join))


def as_certain(scalars: tuple[Scalar, ...], schema: Schema) -> tuple[Scalar, ...]:
    """The same values, which say so where `schema` has them NOT NULL: a filter or a join below has made sure of it."""
    kept = zip(scalars, schema, strict=True)
    return tuple(_never_null(scalar) if scalar.nullable and not field.nullable else scalar for scalar, field in kept)


def _never_null(scalar: Scalar) -> Scalar:
    """What is not NULL, and looks so; the literal is never seen."""
    return coalesced(scalar, Literal(some_value(scalar.type), scalar.type))


def renamed(relation: Relation, wanted: tuple[str, ...]) -> Relation:
    """The relation with other names for its columns, if its outermost node gives names; else as it is."""
    match relation:
        case Project():
            return projected(relation.input, relation.columns, wanted)
        case Reduce():
            return replace(relation, names=wanted)
    return relation


def owner(scalar: Scalar, starts: tuple[int, ...]) -> int | None:
    """The one input, of those that begin there, that an expression reads; None if it reads none or several."""
    owners = {bisect_right(starts, c) - 1 for c in columns_of(scalar)}
    return owners.pop() if len(owners) == 1 else None


def equates(predicate: Scalar, starts: tuple[int, ...]) -> bool:
    """Whether a predicate is an equality of two of the inputs that begin there, which their join can look up."""
    if not isinstance(predicate, Call) or predicate.function != "eq" or can_raise(predicate):
        return False
    left, right = predicate.args
    owners = {owner(left, starts), owner(right, starts)}
    return left.type == right.type and len(owners) == 2 and None not in owners
