"""Rows that the right side of a dependent join makes of lists of its left row: made of that row, without a join."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ivm.sql.decorrelate.expand_joins import filtered
from ivm.sql.decorrelate.unique import has_one_row
from ivm.sql.ir.rebuild import column
from ivm.sql.ir.relation import Apply, Constant, Filter, Map, Project, Relation, Unnest
from ivm.sql.ir.scalar import TRUE, Outer, Scalar, remap, rewrite

Removed = Callable[[Apply], Relation]


def pulled(apply: Apply, removed: Removed) -> Relation | None:
    """The rows of an inner join whose right side is made of an Unnest, which is put above the join of what it is over.

    So is that of a left join, where nothing else is done on its right side: a row without elements stays. None for any
    other. `removed` says what becomes of the join of what the Unnest is over.
    """
    if apply.kind == "inner":
        found = _inner(apply, apply.right, removed)
        return None if found is None else filtered(found, tuple(_over_left(apply, p) for p in apply.predicates))
    if apply.kind == "left" and all(p == TRUE for p in apply.predicates):
        return _left(apply, apply.right)
    return None


def _inner(apply: Apply, right: Relation, removed: Removed) -> Relation | None:
    """The rows of (l, r) for each l of the left side and r of `right`."""
    if isinstance(right, Unnest):
        deeper = _inner(apply, right.input, removed)
        if deeper is None:
            deeper = _beside(replace(apply, right=right.input, predicates=()), removed)
        return replace(right, input=deeper, lists=tuple(_of_right(apply, each) for each in right.lists))
    if not isinstance(right, Map | Filter | Project):
        return None
    below = _inner(apply, right.input, removed)
    if below is None:
        return None
    match right:
        case Map():
            return replace(right, input=below, scalars=tuple(_of_right(apply, s) for s in right.scalars))
        case Filter():
            return replace(right, input=below, predicates=tuple(_of_right(apply, p) for p in right.predicates))
    return _projected(apply, right, below)


def _left(apply: Apply, right: Relation) -> Relation | None:
    if isinstance(right, Project):
        below = _left(apply, right.input)
        return None if below is None else _projected(apply, right, below)
    if isinstance(right, Unnest) and not right.optional and _is_nothing(right.input):
        lists = tuple(_of_right(apply, each) for each in right.lists)
        return replace(right, input=apply.left, lists=lists, optional=True)
    return None


def _beside(apply: Apply, removed: Removed) -> Relation:
    return apply.left if _is_nothing(apply.right) else removed(apply)


def _is_nothing(relation: Relation) -> bool:
    """Whether this is one row without columns."""
    return isinstance(relation, Constant) and has_one_row(relation) and not relation.schema


def _projected(apply: Apply, right: Project, below: Relation) -> Project:
    width = len(apply.left.schema)
    names = (*(f.name for f in apply.left.schema), *(f.name for f in right.schema))
    return Project(below, (*range(width), *(width + c for c in right.columns)), names)


def _of_right(apply: Apply, scalar: Scalar) -> Scalar:
    """An expression over the right row, over both."""
    return _over_left(apply, remap(scalar, len(apply.left.schema).__add__))


def _over_left(apply: Apply, scalar: Scalar) -> Scalar:
    """An expression with the columns of the left row in the place of the outer row's."""

    def bind(s: Scalar) -> Scalar:
        return column(apply.left, s.index) if isinstance(s, Outer) and s.binding == apply.binding else s

    return rewrite(scalar, bind)
