"""Whether no row of a relation has a negative multiplicity."""

from __future__ import annotations

from ivm.analysis.fact import fact
from ivm.sql.ir.relation import (
    Apply,
    Constant,
    Get,
    LetRec,
    Negate,
    RecursiveGet,
    Reduce,
    Relation,
    Threshold,
    TopK,
    inputs_of,
)


@fact
def is_non_negative(relation: Relation) -> bool:
    """Whether every multiplicity is at least 0, whatever the tables hold; False if in doubt.

    A difference may be so too (`A - (A semi join B)` is), but that is not looked into.
    """
    match relation:
        case Negate() | Apply() | RecursiveGet():
            return False
        case LetRec():
            return is_non_negative(relation.last)
        case Get():
            return not relation.differs
        case Constant() | Reduce() | TopK() | Threshold():
            return True
    return all(map(is_non_negative, inputs_of(relation)))
