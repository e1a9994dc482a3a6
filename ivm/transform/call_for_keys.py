"""Calls of the application's functions that a join is to look rows up by are computed below it, while it is a join."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ivm.sql.ir.conditions import comparison
from ivm.sql.ir.functions.called import calls
from ivm.sql.ir.rebuild import offsets, row
from ivm.sql.ir.relation import Filter, Join, Relation
from ivm.sql.ir.scalar import Call, Column, Scalar, rewrite, substitute
from ivm.transform.calling import Calling
from ivm.transform.rewrite import at_each, owner, rejoined


@at_each(Filter)
def call_for_keys(relation: Filter) -> Relation:
    """Compute the calls in an equality of two inputs of a join over these inputs, so that it can look up by them."""
    join = relation.input
    if not isinstance(join, Join):
        return relation
    starts, inputs = offsets(join.inputs), [Calling(each) for each in join.inputs]
    keyed = {each: _sides(each, starts, inputs) for each in relation.predicates if _is_key(each, starts)}
    if not keyed:
        return relation
    made = tuple(each.relation for each in inputs)
    begins, columns = offsets(made), list[Scalar]()
    for start, end, begin in zip(starts, starts[1:], begins, strict=False):
        columns += (replace(each, index=begin + each.index - start) for each in row(join)[start:end])
    predicates = [
        comparison("eq", *(_shifted(side, begins[place]) for place, side in keyed[each]))
        if each in keyed
        else substitute(each, tuple(columns))
        for each in relation.predicates
    ]
    return rejoined(join, made, columns, predicates=predicates)


def _is_key(predicate: Scalar, starts: tuple[int, ...]) -> bool:
    """Whether it is an equality of two inputs that calls something."""
    if not isinstance(predicate, Call) or predicate.function != "eq" or not calls(predicate):
        return False
    owners = {owner(side, starts) for side in predicate.args}
    return len(owners) == 2 and None not in owners


def _sides(
    predicate: Scalar, starts: tuple[int, ...], inputs: Sequence[Calling]
) -> tuple[tuple[int, Scalar], tuple[int, Scalar]]:
    """Both sides of an equality: the input of each, and the expression over that, with the calls made there."""
    assert isinstance(predicate, Call), "it is an equality"
    found = []
    for side in predicate.args:
        place = owner(side, starts)
        assert place is not None, "it reads one input"
        found.append((place, inputs[place].placed(_shifted(side, -starts[place]))))
    return found[0], found[1]


def _shifted(scalar: Scalar, by: int) -> Scalar:
    return rewrite(scalar, lambda s: replace(s, index=s.index + by) if isinstance(s, Column) else s)
