"""Filter over Filter is one Filter: the inner predicates first, since they guard the outer ones."""

from __future__ import annotations

from ivm.transform.rewrite import at_each, filtered
from sql.ir.relation import Filter, Relation


@at_each(Filter)
def fuse_filters(relation: Filter) -> Relation:
    """Merge stacked filters; equal predicates are kept once."""
    return filtered(relation.input, relation.predicates) if isinstance(relation.input, Filter) else relation
