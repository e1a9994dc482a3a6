"""Threshold joins: rows looked up by a bound that itself changes, in their order, so that those in between are found.

A bound b moves from b' to b'': its retraction meets the rows r with f(r) > b', its insertion those with f(r) > b''. The
two cancel on every row but those between b' and b'', and just these are visited where the rows of a key are arranged
in the order of f. That costs a tree over the rows, a logarithm for each change of them. So it is done where a lookup
would find many rows: all there are, for a bound without a key, or those of a large group.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ivm.analysis.ranges import can_raise
from ivm.analysis.tables import tables_of
from ivm.analysis.unique_keys import is_unique
from ivm.plan.join import BoundPlan, RacePlan, StagePlan, lookups_of
from ivm.plan.mfp import Mfp, peel
from ivm.sql.ir.conditions import is_opposite
from ivm.sql.ir.functions import MIRRORED
from ivm.sql.ir.rebuild import offsets, row
from ivm.sql.ir.relation import Filter, Join, Project, Reduce, Relation
from ivm.sql.ir.scalar import Call, Scalar, columns_of, remap

LARGE = 64.0
"""A key that finds so many rows or more is worth keeping them in order; below it, to look at all of them is as good."""

_COMPARISONS = MIRRORED.keys() - {"ne"}


def bounded(
    stages: Sequence[StagePlan | RacePlan],
    final: Mfp,
    source: int,
    columns: Callable[[int], range],
    pays: Callable[[StagePlan, Scalar], bool],
) -> tuple[StagePlan | RacePlan, ...]:
    """The stages of the path of input `source`, those that compare with a bound looking rows up by it where that pays.

    `columns(i)` are those of input i in the joined row, of which `final` makes the output. A race has keys.
    """
    read = set(final.read)
    found: list[StagePlan | RacePlan] = []
    for stage in reversed(stages):
        found.append(stage)
        if isinstance(stage, StagePlan):
            own = columns(stage.input)
            sided = [(p, sides) for p in stage.predicates if (sides := _sides(p, own)) is not None]
            fitting = [(p, sides) for p, sides in sided if pays(stage, sides[2])]
            if fitting:
                found[-1] = _bounded(stage, read, own, columns(source), fitting)
        lookups = lookups_of((stage,))
        for lookup in lookups:
            read.update(lookup.stream, *map(columns_of, lookup.predicates))
        # From here back on, columns of these inputs are not bound.
        read.difference_update(*(columns(lookup.input) for lookup in lookups))
    return tuple(reversed(found))


def compared_with(predicate: Scalar, own: range) -> frozenset[int]:
    """The other columns that a comparison of `own` columns is with; empty for any other predicate."""
    sides = _sides(predicate, own)
    return frozenset() if sides is None else columns_of(sides[2])


_Sides = tuple[Scalar, str, Scalar]
"""Of a predicate: the value, the comparison, the bound."""


def _bounded(
    stage: StagePlan, read: set[int], own: range, source: range, fitting: list[tuple[Scalar, _Sides]]
) -> StagePlan:
    """The stage with one of the comparisons for its bound: one that the source moves first, an equality first.

    One of the same value in the other direction is a bound, too.
    """
    ranked = sorted(fitting, key=lambda f: (columns_of(f[1][2]).isdisjoint(source), f[1][1] != "eq"))
    predicate, (value, comparison, scalar) = ranked[0]
    opposite = next((f for f in ranked if f[1][0] == value and is_opposite(f[1][1], comparison)), None)
    tested = (predicate,) if opposite is None else (predicate, opposite[0])
    others = (columns_of(p) for p in stage.predicates if p not in tested)
    carried = sorted(c for c in read.union(*others) if c not in own and c not in stage.stream)
    arrangement = replace(stage.arrangement, value=remap(value, lambda c: c - own.start))
    other = None if opposite is None else opposite[1][1:]
    return replace(stage, arrangement=arrangement, bound=BoundPlan(comparison, scalar, tuple(carried), other))


def _sides(predicate: Scalar, own: range) -> _Sides | None:
    """The side on the `own` columns alone, the comparison, and the side on others alone; None for anything else."""
    if not isinstance(predicate, Call) or predicate.function not in _COMPARISONS:
        return None
    left, right = predicate.args
    of_left, of_right = columns_of(left), columns_of(right)
    if not of_left or not of_right:
        return None
    if of_left.issubset(own) and of_right.isdisjoint(own):
        return left, predicate.function, right
    if of_right.issubset(own) and of_left.isdisjoint(own):
        return right, MIRRORED[predicate.function], left
    return None


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
