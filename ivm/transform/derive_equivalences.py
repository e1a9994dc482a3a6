"""Equalities between inputs of a join become equivalence classes of the join, which the planner turns into lookups."""

from __future__ import annotations

from dataclasses import dataclass, field

from ivm.analysis.ranges import can_raise
from ivm.transform.rewrite import at_each, mapped, owner, rejoined
from sql.ir.rebuild import offsets, row
from sql.ir.relation import Filter, Join, Relation
from sql.ir.scalar import Call, Column, Scalar, remap


@at_each(Filter)
def derive_equivalences(relation: Filter) -> Relation:
    """Filter(Join, .. l = r ..) where l reads one input and r another becomes a Join with l and r in one class.

    Classes that share a column are merged. An expression is computed by a Map in its input, so one that can raise
    stays in the filter: below the join it would run on rows that the join drops.
    """
    if not isinstance(relation.input, Join):
        return relation
    extended = _Extended(relation.input)
    equalities = [p for p in relation.predicates if _is_between_inputs(p, extended)]
    if not equalities:
        return relation
    rest = tuple(p for p in relation.predicates if p not in equalities)
    pairs = [tuple(extended.place(arg) for arg in p.args) for p in equalities if isinstance(p, Call)]
    return _rebuilt(extended, pairs, rest)


@dataclass
class _Extended:
    """A join whose inputs get computed columns at their ends."""

    join: Join
    added: list[list[Scalar]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.starts = offsets(self.join.inputs)
        self.added = [[] for _ in self.join.inputs]

    def place(self, scalar: Scalar) -> tuple[int, int]:
        """The input and the column of it that hold the expression's value, added if need be."""
        number = owner(scalar, self.starts)
        assert number is not None
        local = remap(scalar, (-self.starts[number]).__add__)
        if isinstance(local, Column):
            return number, local.index
        if local not in self.added[number]:
            self.added[number].append(local)
        return number, len(self.join.inputs[number].schema) + self.added[number].index(local)


def _is_between_inputs(predicate: Scalar, extended: _Extended) -> bool:
    if not isinstance(predicate, Call) or predicate.function != "eq":
        return False
    left, right = predicate.args
    owners = {owner(left, extended.starts), owner(right, extended.starts)}
    return left.type == right.type and len(owners) == 2 and None not in owners and not can_raise(predicate)


def _rebuilt(extended: _Extended, pairs: list[tuple[tuple[int, int], ...]], rest: tuple[Scalar, ...]) -> Relation:
    """The join with its inputs extended; above it, `rest` and the columns as they were."""
    join = extended.join
    inputs = tuple(
        mapped(each, tuple(added), tuple(f"key{i}" for i in range(len(added))))
        for each, added in zip(join.inputs, extended.added, strict=True)
    )
    after, columns = offsets(inputs), row(Join(inputs))
    moved = [columns[after[i] + c] for i, each in enumerate(join.inputs) for c in range(len(each.schema))]
    return rejoined(
        join,
        inputs,
        moved,
        [[after[i] + c for i, c in pair] for pair in pairs],
        [remap(p, lambda c: moved[c].index) for p in rest],
    )
