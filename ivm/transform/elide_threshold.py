"""A threshold over what is never negative changes nothing."""

from __future__ import annotations

from ivm.analysis.non_negative import is_non_negative
from ivm.transform.rewrite import bottom_up
from sql.ir.relation import Relation, Threshold


def elide_threshold(relation: Relation) -> Relation:
    """Drop a Threshold whose input has no negative multiplicity, with the state that it would keep."""
    return bottom_up(relation, _elide)


def _elide(relation: Relation) -> Relation:
    if isinstance(relation, Threshold) and is_non_negative(relation.input):
        return relation.input
    return relation
