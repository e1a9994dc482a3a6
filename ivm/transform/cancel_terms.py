"""What a union adds and takes away is left out."""

from __future__ import annotations

from dataclasses import replace

from ivm.analysis.fact import fact
from ivm.sql.ir.rebuild import map_inputs
from ivm.sql.ir.relation import Constant, Map, Negate, Project, Reduce, Relation, Union, Unnest, Window
from ivm.transform.rewrite import bottom_up


@bottom_up
def cancel_terms(relation: Relation) -> Relation:
    """Drop X and its negation from a union that holds both; the negation of a union becomes that of its terms.

    So a left join of whose right side nothing is read, and of which every row has one partner at most, is its left
    side: the rows with a partner are taken away as often as they are added. Names mean nothing here.
    """
    match relation:
        case Negate(Union() as inner):
            return Union(tuple(Negate(each) for each in inner.inputs))
        case Union() if any(isinstance(each, Negate) for each in relation.inputs):
            return _cancelled(relation)
    return relation


def _cancelled(union: Union) -> Relation:
    kept: dict[int, Relation] = {}
    places: dict[tuple[bool, Relation], list[int]] = {}
    for place, each in enumerate(union.inputs):
        taken = isinstance(each, Negate)
        known = nameless(each.input if isinstance(each, Negate) else each)
        opposite = places.get((not taken, known))
        if opposite:
            del kept[opposite.pop(0)]
        else:
            kept[place] = each
            places.setdefault((taken, known), []).append(place)
    if len(kept) == len(union.inputs):
        return union
    return Union(tuple(kept.values())) if kept else Constant((), union.schema)


@fact
def nameless(relation: Relation) -> Relation:
    """The relation without the names that it gives, so that relations are equal if only their names differ."""
    match relation:
        case Project():
            relation = replace(relation, names=("",) * len(relation.columns))
        case Map() | Unnest() | Reduce() | Window():
            relation = replace(relation, names=("",) * len(relation.names))
    return map_inputs(relation, nameless)
