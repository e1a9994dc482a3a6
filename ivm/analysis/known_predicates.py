"""Predicates that are true of every row of a relation: a filter below has tested them, or a table's CHECK has."""

from __future__ import annotations

from ivm.analysis.fact import fact
from ivm.sql.ir.rebuild import offsets
from ivm.sql.ir.relation import (
    Filter,
    Get,
    Join,
    LetRec,
    Map,
    Negate,
    Project,
    Reduce,
    Relation,
    Threshold,
    TopK,
    Unnest,
    Window,
)
from ivm.sql.ir.scalar import Column, Scalar, columns_of, remap


@fact
def known_predicates(relation: Relation) -> tuple[Scalar, ...]:
    """Predicates over the columns of `relation` that hold for all of its rows, each once."""
    match relation:
        case Get():
            return relation.holding
        case Filter():
            return tuple(dict.fromkeys((*known_predicates(relation.input), *relation.predicates)))
        case Map() | Unnest() | Negate() | Threshold() | TopK() | Window():
            return known_predicates(relation.input)
        case LetRec():
            return known_predicates(relation.last)
        case Project():
            return _kept(relation.input, {c: i for i, c in reversed(list(enumerate(relation.columns)))})
        case Reduce():
            places = {k.index: i for i, k in enumerate(relation.keys) if isinstance(k, Column)}
            return _kept(relation.input, places)
        case Join():
            placed = zip(offsets(relation.inputs), relation.inputs, strict=False)
            known = (remap(p, start.__add__) for start, each in placed for p in known_predicates(each))
            return tuple(dict.fromkeys(known))
    return ()


def _kept(below: Relation, places: dict[int, int]) -> tuple[Scalar, ...]:
    known = known_predicates(below)
    return tuple(remap(p, places.__getitem__) for p in known if columns_of(p) <= places.keys())
