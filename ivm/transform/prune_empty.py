"""What can hold no rows is an empty constant, and so is most of what is made of it."""

from __future__ import annotations

from ivm.transform.rewrite import bottom_up
from sql.ir.relation import (
    Constant,
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
    Window,
    inputs_of,
)
from sql.ir.scalar import Literal


@bottom_up
def prune_empty(relation: Relation) -> Relation:
    """Replace what is empty whatever the tables hold by `Constant` without rows.

    A Reduce without keys has a row over an empty input too, so it stays.
    """
    match relation:
        case Union():
            kept = tuple(each for each in relation.inputs if not _is_empty(each))
            if len(kept) == len(relation.inputs) or not kept:
                return relation if kept else _empty(relation)
            return Union(kept)
        case Filter() if any(isinstance(p, Literal) and p.value is not True for p in relation.predicates):
            return _empty(relation)
        case TopK(limit=0):
            return _empty(relation)
        case Map() | Filter() | Project() | Join() | TopK() | Window() | Negate() | Threshold():
            return _empty(relation) if any(map(_is_empty, inputs_of(relation))) else relation
        case Reduce() if relation.keys and _is_empty(relation.input):
            return _empty(relation)
    return relation


def _is_empty(relation: Relation) -> bool:
    return isinstance(relation, Constant) and not relation.rows


def _empty(relation: Relation) -> Constant:
    return Constant((), relation.schema)
