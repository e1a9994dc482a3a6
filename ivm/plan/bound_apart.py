"""A bound that is compared with several inputs of a join together, set apart from the join of these."""

from __future__ import annotations

from dataclasses import replace

from ivm.analysis.ranges import can_raise
from ivm.analysis.tables import tables_of
from ivm.analysis.unique_keys import is_unique
from ivm.plan.mfp import Mfp, peel
from ivm.plan.threshold_join import compared_with
from sql.ir.rebuild import offsets, row
from sql.ir.relation import Filter, Join, Project, Reduce, Relation
from sql.ir.scalar import Scalar, columns_of, remap


def set_apart(join: Join, mfp: Mfp) -> tuple[Join, Mfp] | None:
    """The join with the bounds set apart from the join of all other inputs; None where there is no reason to.

    An aggregate of everything that is compared with what several inputs have together would meet all rows of one of
    them whenever it changes. The join of the others becomes a collection of its own, whose rows can be kept in order.
    """
    totals = {number for number, each in enumerate(join.inputs) if _is_total(each)}
    if not totals or not mfp.predicates:
        return None
    owner = [number for number, each in enumerate(join.inputs) for _ in each.schema]
    joined = {c for group in join.equivalences for c in group}
    _, predicates = mfp.over(row(join))
    apart = [number for number in sorted(totals) if joined.isdisjoint(_columns(join, number))]
    for number in apart:
        compared = [{owner[c] for c in compared_with(p, _columns(join, number))} for p in predicates]
        if any(len(each) > 1 and totals.isdisjoint(each) for each in compared):
            return _apart(join, mfp, apart, predicates)
    return None


def _columns(join: Join, number: int) -> range:
    return range(*offsets(join.inputs)[number : number + 2])


def _is_total(relation: Relation) -> bool:
    """Whether this is an aggregate of everything below it, that changes when that does."""
    base, _ = peel(relation)
    return isinstance(base, Reduce) and is_unique(base, ()) and bool(tables_of(base))


def _apart(join: Join, mfp: Mfp, apart: list[int], predicates: tuple[Scalar, ...]) -> tuple[Join, Mfp]:
    """The join of all inputs but those set apart, under the `predicates` on them alone, and these beside it.

    `predicates` are those of `mfp` over the join's columns. What can raise is not tested before it was.
    """
    outside = [c for number in apart for c in _columns(join, number)]
    below = {i: p for i, p in enumerate(predicates) if not can_raise(p) and columns_of(p).isdisjoint(outside)}
    left = replace(mfp, predicates=tuple(p for i, p in enumerate(mfp.predicates) if i not in below)).pruned()
    inside = [c for c in range(mfp.width) if c not in outside]
    within = {c: i for i, c in enumerate(inside)}
    needed = [c for c in inside if c in left.read]
    beside = {c: i for i, c in enumerate((*needed, *outside))}
    together: Relation = Join(
        tuple(each for number, each in enumerate(join.inputs) if number not in apart),
        tuple(tuple(within[c] for c in group) for group in join.equivalences),
    )
    if below:
        together = Filter(together, tuple(remap(p, within.__getitem__) for p in below.values()))
    together = Project(together, tuple(within[c] for c in needed))
    return Join((together, *(join.inputs[number] for number in apart))), left.placed(len(beside), beside)
