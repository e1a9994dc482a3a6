"""Map over Map is one Map where no computed value would have to be computed twice."""

from __future__ import annotations

from ivm.sql.ir.rebuild import row
from ivm.sql.ir.relation import Map, Relation
from ivm.sql.ir.scalar import Call, Scalar, columns_of, substitute
from ivm.transform.rewrite import at_each


@at_each(Map)
def fuse_maps(relation: Map) -> Relation:
    """Merge stacked maps.

    An outer expression that reads an inner call is left where it is: the planner computes nested maps in one pass,
    each value once, while merging them would repeat the call.
    """
    if not isinstance(relation.input, Map):
        return relation
    inner = relation.input
    values: tuple[Scalar, ...] = (*row(inner.input), *inner.scalars)
    if any(isinstance(values[c], Call) for scalar in relation.scalars for c in columns_of(scalar)):
        return relation
    outer = tuple(substitute(s, values) for s in relation.scalars)
    return Map(inner.input, (*inner.scalars, *outer), (*inner.names, *relation.names))
