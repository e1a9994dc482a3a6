"""An OR over several inputs of a join implies an OR over each of them, which can be tested before the join.

`n1 = 'F' AND n2 = 'G' OR n1 = 'G' AND n2 = 'F'` implies `n1 IN ('F', 'G')` and `n2 IN ('F', 'G')`.
"""

from __future__ import annotations

from ivm.analysis.known_predicates import known_predicates
from ivm.analysis.ranges import can_raise
from ivm.sql.ir.conditions import conjuncts, junction, members_of
from ivm.sql.ir.rebuild import offsets, with_inputs
from ivm.sql.ir.relation import Filter, Join, Relation
from ivm.sql.ir.scalar import Scalar, columns_of, remap
from ivm.transform.rewrite import at_each, filtered
from ivm.transform.simplify_predicates import simplified


@at_each(Filter)
def derive_disjunctions(relation: Filter) -> Relation:
    """Filter the inputs of a join by what an OR above it says of each alone. The OR itself stays.

    An input gets nothing unless every member of the OR restricts it. What can raise is not copied below the join.
    """
    if not isinstance(relation.input, Join):
        return relation
    join = relation.input
    starts = offsets(join.inputs)
    inputs = tuple(
        _restricted(each, relation.predicates, start, start + len(each.schema))
        for each, start in zip(join.inputs, starts, strict=False)
    )
    return with_inputs(relation, (with_inputs(join, inputs),))


def _restricted(relation: Relation, predicates: tuple[Scalar, ...], start: int, end: int) -> Relation:
    own = frozenset(range(start, end))
    implied = [_implied(p, own) for p in predicates if len(members_of("or", (p,))) > 1 and not columns_of(p) <= own]
    known = known_predicates(relation)
    local = conjuncts(remap(p, (-start).__add__) for p in implied if p is not None)
    return filtered(relation, (p for p in local if p not in known))


def _implied(predicate: Scalar, own: frozenset[int]) -> Scalar | None:
    """The strongest consequence of an OR that reads columns of `own` alone, as far as its members' conjuncts show."""
    members = []
    for member in members_of("or", (predicate,)):
        about = [c for c in conjuncts((member,)) if columns_of(c) and columns_of(c) <= own and not can_raise(c)]
        if not about:
            return None
        members.append(junction("and", about))
    return simplified(junction("or", members))
