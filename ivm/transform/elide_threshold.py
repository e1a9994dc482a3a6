"""A threshold over what is never negative changes nothing."""

from __future__ import annotations

from ivm.analysis.non_negative import is_non_negative
from ivm.transform.rewrite import at_each
from sql.ir.relation import Relation, Threshold


@at_each(Threshold)
def elide_threshold(relation: Threshold) -> Relation:
    """Drop a Threshold whose input has no negative multiplicity, with the state that it would keep."""
    return relation.input if is_non_negative(relation.input) else relation
