"""Whether a relation changes from round to round of the loop that it stands in."""

from __future__ import annotations

from ivm.analysis.fact import fact
from ivm.sql.ir.relation import LetRec, RecursiveGet, Relation, inputs_of


@fact
def is_lifted(relation: Relation) -> bool:
    """Whether a relation reads a name of the loop around it. What does not is the same in all rounds."""
    match relation:
        case RecursiveGet():
            return True
        case LetRec():
            return False
    return any(map(is_lifted, inputs_of(relation)))
