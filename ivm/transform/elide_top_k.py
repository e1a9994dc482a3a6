"""The first rows of each group are all rows where no group has more than one."""

from __future__ import annotations

from ivm.analysis.unique_keys import is_unique
from ivm.sql.ir.relation import Relation, TopK
from ivm.transform.rewrite import at_each


@at_each(TopK)
def elide_top_k(relation: TopK) -> Relation:
    """TopK(R, group) is R if the columns of `group` are unique in R, and the first row of a group is asked for."""
    wanted = relation.offset == 0 and (relation.limit is None or relation.limit > 0)
    return relation.input if wanted and relation.group and is_unique(relation.input, relation.group) else relation
