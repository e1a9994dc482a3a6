"""Nodes that change nothing are removed."""

from __future__ import annotations

from ivm.analysis.lifted import is_lifted
from ivm.analysis.non_negative import is_non_negative
from ivm.sql.ir.rebuild import row
from ivm.sql.ir.relation import (
    MOST_TERMS,
    Constant,
    Filter,
    Join,
    LetRec,
    Map,
    Negate,
    Project,
    Relation,
    Threshold,
    TopK,
    Union,
)
from ivm.sql.ir.scalar import TRUE
from ivm.transform.rewrite import bottom_up, filtered, names, rejoined, renamed


@bottom_up
def remove_trivial(relation: Relation) -> Relation:
    """Drop what does nothing: filters without predicates, maps without expressions, projections that keep every column
    in place, joins and unions of one input, the unit of a join, double negation, unlimited TopK, a Threshold of what is
    never negative, a loop of which what is read is the same in each round. Stacked filters are one, the inner
    predicates first, since they guard the outer ones.

    The names of a dropped projection go to the Reduce below it, or are lost: inside, names mean nothing.
    """
    match relation:
        case Filter():
            return filtered(relation.input, (p for p in relation.predicates if p != TRUE))
        case Threshold() if is_non_negative(relation.input):
            return relation.input
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
        case LetRec(fails_at_limit=False) if not is_lifted(relation.last):
            return relation.last
    return relation


def _join(join: Join) -> Relation:
    inputs = tuple(each for each in join.inputs if each != Constant(((),), ())) or join.inputs[:1]
    return rejoined(join, inputs, row(join)) if len(inputs) < len(join.inputs) or len(inputs) == 1 else join


def _flat(union: Union) -> Relation:
    """One union, as far as it does not become too long: one that is read in several places would stand in each."""
    inputs: list[Relation] = []
    for place, each in enumerate(union.inputs):
        terms = each.inputs if isinstance(each, Union) else (each,)
        fits = len(inputs) + len(terms) + len(union.inputs) - place - 1 <= MOST_TERMS
        inputs += terms if fits else (each,)
    return Union(tuple(inputs)) if len(inputs) > len(union.inputs) else union
