"""Projections are merged, absorbed by a Reduce, or lifted above maps and filters."""

from __future__ import annotations

from collections.abc import Callable

from ivm.sql.ir.rebuild import with_inputs, with_scalars
from ivm.sql.ir.relation import Filter, Map, Project, Reduce, Relation
from ivm.sql.ir.scalar import Scalar, remap
from ivm.transform.rewrite import bottom_up, names, projected


@bottom_up
def fuse_projects(relation: Relation) -> Relation:
    """Merge a Project into the Project or Reduce above it, and lift it over a Map or Filter.

    A TopK is not passed: it breaks ties by the columns of its input in their order.
    """
    match relation:
        case Project(Project() as inner):
            columns = tuple(map(inner.columns.__getitem__, relation.columns))
            return fuse_projects(Project(inner.input, columns, names(relation)))
        case Reduce(Project() as inner):
            return with_inputs(with_scalars(relation, _moved(inner)), (inner.input,))
        case Filter(Project() as inner):
            predicates = tuple(map(_moved(inner), relation.predicates))
            return projected(fuse_projects(Filter(inner.input, predicates)), inner.columns, names(inner))
        case Map(Project() as inner):
            lifted = fuse_projects(Map(inner.input, tuple(map(_moved(inner), relation.scalars)), relation.names))
            width = len(inner.input.schema)
            added = tuple(range(width, width + len(relation.scalars)))
            return projected(lifted, (*inner.columns, *added), names(relation))
    return relation


def _moved(inner: Project) -> Callable[[Scalar], Scalar]:
    """Expressions over the projection as expressions over its input."""
    return lambda scalar: remap(scalar, inner.columns.__getitem__)
