"""What every rule needs: rebuild a relation from rewritten parts, keeping what has not changed as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache

from catalog.types import BOOLEAN
from ivm.analysis.fact import fact
from sql.ir.rebuild import with_inputs
from sql.ir.relation import Filter, Map, Project, Reduce, Relation, inputs_of
from sql.ir.scalar import Call, Scalar


def bottom_up(relation: Relation, function: Callable[[Relation], Relation]) -> Relation:
    """Apply `function` to every node, its inputs first.

    `function`, one of a module's, depends on the node alone. Its result is remembered on the node, so a node that
    stands in several places is rewritten once and stays one node, and one that nothing applies to is not looked at
    again.
    """
    return _visitor(function)(relation)


@cache
def _visitor(function: Callable[[Relation], Relation]) -> Callable[[Relation], Relation]:
    """What applies `function` bottom-up: made once, since every rule asks for its own in every round."""

    def visit(node: Relation) -> Relation:
        inputs = inputs_of(node)
        rebuilt = with_inputs(node, tuple(map(remembering, inputs))) if inputs else node
        return unless_equal(function(rebuilt), node)

    visit.__module__, visit.__name__ = function.__module__, function.__qualname__
    remembering = fact(visit)
    return remembering


def unless_equal(after: Relation, before: Relation) -> Relation:
    """`after`, but the very node `before` if they are equal, so that what is above it need not change either."""
    return before if after is before or after == before else after


def names(relation: Relation) -> tuple[str, ...]:
    """The names of a relation's columns."""
    return tuple([field.name for field in relation.schema])


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


def renamed(relation: Relation, wanted: tuple[str, ...]) -> Relation:
    """The relation with other names for its columns, if its outermost node gives names; else as it is."""
    match relation:
        case Project():
            return projected(relation.input, relation.columns, wanted)
        case Reduce():
            return replace(relation, names=wanted)
    return relation


def offsets(inputs: Iterable[Relation]) -> tuple[int, ...]:
    """Where each input's columns begin in the concatenated row, and last its width."""
    starts = [0]
    for relation in inputs:
        starts.append(starts[-1] + len(relation.schema))
    return tuple(starts)


def equal(left: Scalar, right: Scalar) -> Call:
    """`left = right`."""
    return Call("eq", (left, right), BOOLEAN, left.nullable or right.nullable)


def is_not_null(scalar: Scalar) -> Call:
    """`scalar IS NOT NULL`."""
    return Call("not", (Call("is_null", (scalar,), BOOLEAN, False),), BOOLEAN, False)
