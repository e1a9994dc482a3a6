"""Predicates move down to the input that they are about.

A predicate that can raise stays above joins, unions and thresholds, where rows may be missing that the inputs hold, and
never overtakes a predicate that stands before it and stays: that one may guard it.
"""

from __future__ import annotations

from functools import partial

from ivm.analysis.fact import recalled
from ivm.analysis.ranges import can_raise
from ivm.sql.folded import folded
from ivm.sql.ir.rebuild import map_inputs, offsets, row, with_inputs
from ivm.sql.ir.relation import (
    Asof,
    Filter,
    Join,
    Map,
    Negate,
    Project,
    Reduce,
    Relation,
    Threshold,
    TopK,
    Union,
    Unnest,
    Window,
)
from ivm.sql.ir.scalar import TRUE, Call, Literal, Scalar, columns_of, remap, substitute
from ivm.transform.rewrite import equates, filtered, names, owner, projected, unless_equal

_REMEMBERED = f"_{__name__}"
MOST_MADE = 2000
"""So many nodes get predicates from above in one go. Where a node stands in many places, each may bring others."""


def pushdown_predicates(relation: Relation) -> Relation:
    """Move each predicate as low as it can go: through Map, Project, Negate, into the inputs of Join, Union and
    Threshold, through Reduce if it reads keys only, through Unnest if it reads no element. Not through TopK, which
    must see the rows that it ranks.
    """
    return _Pushing().within(relation)


class _Pushing:
    """One pass. What comes to a node by several ways with the same predicates is made once."""

    def __init__(self) -> None:
        self._made: dict[tuple[int, tuple[Scalar, ...]], Relation] = {}

    def within(self, relation: Relation) -> Relation:
        """`pushed` where nothing comes from above: remembered, also by later passes."""
        return recalled(relation, _REMEMBERED, lambda node: unless_equal(self._push((), node), node))

    def pushed(self, predicates: tuple[Scalar, ...], relation: Relation) -> Relation:
        """The relation filtered by `predicates`, each as low as it can go."""
        if not predicates:
            return self.within(relation)
        place = id(relation), predicates
        if place not in self._made:
            if len(self._made) >= MOST_MADE:
                return filtered(self.within(relation), predicates)
            self._made[place] = self._push(predicates, relation)
        return self._made[place]

    def _push(self, predicates: tuple[Scalar, ...], relation: Relation) -> Relation:
        match relation:
            case Filter():
                return self._push(tuple(dict.fromkeys((*relation.predicates, *predicates))), relation.input)
            case Project():
                moved = tuple(remap(p, relation.columns.__getitem__) for p in predicates)
                return projected(self.pushed(moved, relation.input), relation.columns, names(relation))
            case Join():
                return self._push_into_join(predicates, relation)
            case Asof():
                return self._push_into_asof(predicates, relation)
        below: dict[Scalar, None] = {}
        here: list[Scalar] = []
        for each in predicates:
            lowered = None if here and can_raise(each) else _lowered(each, relation)
            if lowered is None:
                here.append(each)
            elif lowered != TRUE:
                below[lowered] = None
        return filtered(map_inputs(relation, partial(self.pushed, tuple(below))), here)

    def _push_into_join(self, predicates: tuple[Scalar, ...], join: Join) -> Relation:
        starts = offsets(join.inputs)
        owned: list[list[Scalar]] = [[] for _ in join.inputs]
        here: list[Scalar] = []
        for predicate in predicates:
            number = owner(predicate, starts)
            if number is None or can_raise(predicate):
                here.append(predicate)
            else:
                owned[number].append(remap(predicate, (-starts[number]).__add__))
        inputs = tuple(self.pushed(tuple(own), each) for own, each in zip(owned, join.inputs, strict=True))
        return filtered(with_inputs(join, inputs), here)

    def _push_into_asof(self, predicates: tuple[Scalar, ...], asof: Asof) -> Relation:
        """What is said of the left is asked there; and of the right, where that can be told by the keys."""
        width, (one, other) = len(asof.left.schema), (asof.left.schema, asof.right.schema)
        same = {c: d for c, d in asof.keys if other[d].nullable <= one[c].nullable and not one[c].type.is_float}
        left = tuple(p for p in predicates if all(c < width for c in columns_of(p)) and not can_raise(p))
        right = tuple(remap(p, same.__getitem__) for p in left if columns_of(p) <= same.keys())
        inputs = self.pushed(left, asof.left), self.pushed(right, asof.right)
        return filtered(with_inputs(asof, inputs), [p for p in predicates if p not in left])


def _lowered(predicate: Scalar, relation: Relation) -> Scalar | None:
    """The predicate over the inputs of a node that is no join; None if it has to stay."""
    match relation:
        case Map():
            return _through_map(predicate, relation)
        case Unnest():
            own = all(c < len(relation.input.schema) for c in columns_of(predicate))
            return predicate if own and (relation.optional or not can_raise(predicate)) else None
        case Reduce():
            grouped = relation.keys and all(c < len(relation.keys) for c in columns_of(predicate))
            return substitute(predicate, relation.keys) if grouped else None
        case TopK():
            return predicate if columns_of(predicate) <= set(relation.group) and not can_raise(predicate) else None
        case Window():
            return predicate if columns_of(predicate) <= set(relation.partition) else None
        case Negate():
            return predicate
        case Threshold() | Union():
            return None if can_raise(predicate) else predicate
    return None


def _through_map(predicate: Scalar, relation: Map) -> Scalar | None:
    """Over computed values only if that lets the predicate go on, since they are then computed twice."""
    width = len(relation.input.schema)
    values: tuple[Scalar, ...] = (*row(relation.input), *relation.scalars)
    computed = [values[c] for c in columns_of(predicate) if c >= width]
    if not computed:
        return predicate
    moved = substitute(predicate, values)
    if any(isinstance(s, Literal) for s in computed):
        moved = folded(moved)  # of the branches of a union that differ by a constant, few then ask for anything
    free = not any(isinstance(s, Call) for s in computed)
    return moved if free or _sinks(moved, relation.input) else None


def _sinks(predicate: Scalar, relation: Relation) -> bool:
    """Whether the predicate would pass, or become part of, the first node that is no map, filter or projection."""
    match relation:
        case Filter():
            return not can_raise(predicate) and _sinks(predicate, relation.input)
        case Project():
            return _sinks(remap(predicate, relation.columns.__getitem__), relation.input)
        case Map():
            return _sinks(substitute(predicate, (*row(relation.input), *relation.scalars)), relation.input)
        case Join():
            starts = offsets(relation.inputs)
            return equates(predicate, starts) or (owner(predicate, starts) is not None and not can_raise(predicate))
    return _lowered(predicate, relation) is not None
