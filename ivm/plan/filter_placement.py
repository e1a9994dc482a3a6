"""Where a filter over aggregates stands that a join looks up: before its arrangement, or after the lookup."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from ivm.analysis.ranges import can_raise
from ivm.analysis.selectivity import selectivity
from ivm.plan.existing import Existing
from ivm.plan.mfp import Mfp
from ivm.plan.node import Plan
from sql.ir.rebuild import row
from sql.ir.relation import Reduce, Relation

SELECTIVE = 0.3
"""A filter that keeps no more than this share of the groups is worth an arrangement of those: a comparison is."""
MANY_GROUPS = 10_000
"""Fewer groups than this stay in the processor's cache, so that looking them up costs next to nothing."""


def filters_first(
    base: Relation, local: Mfp, keyed: list[int], lower: Callable[[Relation], Plan], existing: Existing
) -> float | None:
    """The share of the rows of `base` that pass the predicates of `local`, where a join is to look only these up; or
    else None.

    `keyed`: the columns of `base` that the join compares. The groups themselves can be looked up by their keys for
    nothing, but where most lookups fall through the filter afterwards, each has been an access into a large table in
    vain. The rows that pass are few; that arrangement is small and close. To keep it costs the filter for each change
    of a group, which the path of these changes asks anyway, and what passes. By a part of its keys a reduce cannot be
    looked up, so that all of its rows would have to be held twice: then the filter always comes first.
    """
    if not isinstance(base, Reduce) or not local.predicates:
        return None
    _, predicates = local.over(row(base))
    if any(map(can_raise, predicates)):
        return None  # for a join to ask where it must be careful
    share = prod(map(selectivity, predicates))
    if not set(range(len(base.keys))) <= set(keyed):
        return share
    if share > SELECTIVE:
        return None
    plan = lower(base)
    return None if existing.sizes_known(plan) and existing.sizes.count(plan) < MANY_GROUPS else share
