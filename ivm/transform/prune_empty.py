"""What can hold no rows is an empty constant, and so is most of what is made of it."""

from __future__ import annotations

from ivm.sql.ir.relation import Asof, Constant, Filter, LetRec, Reduce, Relation, TopK, Union, inputs_of
from ivm.sql.ir.scalar import Literal
from ivm.transform.rewrite import bottom_up


@bottom_up
def prune_empty(relation: Relation) -> Relation:
    """Replace what is empty whatever the tables hold by `Constant` without rows.

    A Reduce without keys has a row over an empty input too, so it stays, as do rows that need no nearest one. A
    loop holds what one of its bindings does.
    """
    match relation:
        case Union():
            kept = tuple(each for each in relation.inputs if not _is_empty(each))
            return Union(kept) if kept else _empty(relation)
        case Filter() if any(isinstance(p, Literal) and p.value is not True for p in relation.predicates):
            return _empty(relation)
        case TopK(limit=0):
            return _empty(relation)
        case Asof(outer=True) if not _is_empty(relation.left):
            return relation
        case Reduce(keys=()) | LetRec():
            return relation
    return _empty(relation) if any(map(_is_empty, inputs_of(relation))) else relation


def _is_empty(relation: Relation) -> bool:
    return isinstance(relation, Constant) and not relation.rows


def _empty(relation: Relation) -> Constant:
    return Constant((), relation.schema)
