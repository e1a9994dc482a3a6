"""Nodes that change nothing are removed."""

from __future__ import annotations

from ivm.transform.rewrite import bottom_up, filtered, names, renamed
from sql.ir.conditions import comparison
from sql.ir.rebuild import row
from sql.ir.relation import MOST_TERMS, Constant, Filter, Join, Map, Negate, Project, Relation, TopK, Union
from sql.ir.scalar import TRUE


@bottom_up
def remove_trivial(relation: Relation) -> Relation:
    """Drop what does nothing: filters without predicates, maps without expressions, projections that keep every column
    in place, joins and unions of one input, the unit of a join, double negation, unlimited TopK.

    The names of a dropped projection go to the Reduce below it, or are lost: inside, names mean nothing.
    """
    match relation:
        case Filter() if all(p == TRUE for p in relation.predicates):
            return relation.input
        case Filter() if TRUE in relation.predicates:
            return Filter(relation.input, tuple(p for p in relation.predicates if p != TRUE))
        case Map(scalars=()):
            return relation.input
        case Project() if relation.columns == tuple(range(len(relation.input.schema))):
            return renamed(relation.input, names(relation))
        case Join():
            return _join(relation)
        case Union(inputs=(only,)):
            return only
        case Union() if any(isinstance(each, Union) for each in relation.inputs):
            return _flat(relation)
        case Negate(Negate() as inner):
            return inner.input
        case TopK(limit=None, offset=0):
            return relation.input
    return relation


def _join(join: Join) -> Relation:
    inputs = tuple(each for each in join.inputs if each != Constant(((),), ()))
    if len(inputs) == 1:
        columns = row(inputs[0])
        equalities = [comparison("eq", columns[g[0]], columns[c]) for g in join.equivalences for c in g[1:]]
        return filtered(inputs[0], equalities)
    if not inputs:
        return join.inputs[0]
    return join if len(inputs) == len(join.inputs) else Join(inputs, join.equivalences)


def _flat(union: Union) -> Relation:
    """One union, as far as it does not become too long: one that is read in several places would stand in each."""
    inputs: list[Relation] = []
    for place, each in enumerate(union.inputs):
        terms = each.inputs if isinstance(each, Union) else (each,)
        fits = len(inputs) + len(terms) + len(union.inputs) - place - 1 <= MOST_TERMS
        inputs += terms if fits else (each,)
    return Union(tuple(inputs)) if len(inputs) > len(union.inputs) else union
