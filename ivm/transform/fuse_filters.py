"""Filter over Filter is one Filter: the inner predicates first, since they guard the outer ones."""

from __future__ import annotations

from ivm.transform.rewrite import bottom_up, filtered
from sql.ir.relation import Filter, Relation


def fuse_filters(relation: Relation) -> Relation:
    """Merge stacked filters; equal predicates are kept once."""
    return bottom_up(relation, _fuse)


def _fuse(relation: Relation) -> Relation:
    if isinstance(relation, Filter) and isinstance(relation.input, Filter):
        return filtered(relation.input, relation.predicates)
    return relation
