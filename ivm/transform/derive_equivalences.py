"""Equalities between inputs of a join become equivalence classes of the join, which the planner turns into lookups."""

from __future__ import annotations

from ivm.sql.ir.rebuild import offsets, row
from ivm.sql.ir.relation import Filter, Join, Relation
from ivm.sql.ir.scalar import Call, Column, Scalar, remap
from ivm.transform.rewrite import at_each, equates, mapped, owner, rejoined


@at_each(Filter)
def derive_equivalences(relation: Filter) -> Relation:
    """Filter(Join, .. l = r ..) where l reads one input and r another becomes a Join with l and r in one class.

    Classes that share a column are merged. An expression is computed by a Map in its input, so one that can raise
    stays in the filter: below the join it would run on rows that the join drops.
    """
    join = relation.input
    if not isinstance(join, Join):
        return relation
    starts = offsets(join.inputs)
    equalities = [p for p in relation.predicates if equates(p, starts)]
    if not equalities:
        return relation
    pairs = [[_local(arg, starts) for arg in p.args] for p in equalities if isinstance(p, Call)]
    added: list[dict[Scalar, int]] = [{} for _ in join.inputs]  # of each input, what it computes, and where
    for number, scalar in (side for pair in pairs for side in pair):
        if not isinstance(scalar, Column):
            added[number].setdefault(scalar, len(join.inputs[number].schema) + len(added[number]))
    names = [tuple(f"key{i}" for i in range(len(new))) for new in added]
    inputs = tuple(map(mapped, join.inputs, map(tuple, added), names))
    after, columns = offsets(inputs), row(Join(inputs))
    moved = [columns[after[i] + c] for i, each in enumerate(join.inputs) for c in range(len(each.schema))]
    classes = [[after[i] + (s.index if isinstance(s, Column) else added[i][s]) for i, s in pair] for pair in pairs]
    rest = [remap(p, lambda c: moved[c].index) for p in relation.predicates if p not in equalities]
    return rejoined(join, inputs, moved, classes, rest)


def _local(scalar: Scalar, starts: tuple[int, ...]) -> tuple[int, Scalar]:
    """The one input that an expression reads, and the expression over it."""
    number = owner(scalar, starts)
    assert number is not None, "each side of the equality reads one input"
    return number, remap(scalar, (-starts[number]).__add__)
