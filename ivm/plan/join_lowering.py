"""Joins to plan: the paths of lookups by which the changes of each input find their partners.

A change u of input i at time t meets the rows of input j that were there strictly before t, or also those that came
at t if j ranks before i. So each combination of changes is produced once, by the latest of them, ties going to the one
that ranks last
(Shared Arrangements, section 5.4; Optimising Distributed Dataflows, section 8).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate
from math import prod

from ivm.analysis.ranges import can_raise
from ivm.analysis.selectivity import selectivity
from ivm.plan.arrangement import ArrangementPlan
from ivm.plan.existing import Existing
from ivm.plan.join import JoinPlan, PathPlan, RacePlan, StagePlan, lookups_of, stage_of
from ivm.plan.join_keys import Choice, Side, Step, sides_of
from ivm.plan.join_races import Ways, raced
from ivm.plan.join_ties import Ties, ties
from ivm.plan.lift import Signed
from ivm.plan.mfp import Mfp, identity, peel, table_of
from ivm.plan.multiplicities import ThresholdPlan
from ivm.plan.node import Plan
from ivm.plan.reduce import ReducePlan
from ivm.plan.table import ConstantPlan, TablePlan
from ivm.plan.threshold_join import LARGE, bounded, compared_with, set_apart
from ivm.sql.ir.classes import merged_classes
from ivm.sql.ir.conditions import comparison
from ivm.sql.ir.rebuild import Row, row, row_of
from ivm.sql.ir.relation import Get, Join, Reduce, Relation
from ivm.sql.ir.scalar import Column, Scalar, columns_of

SELECTIVE = 0.3
"""A filter that keeps no more than this share of the groups is worth an arrangement of those: a comparison is."""
RARE = 0.1
"""A filter of a table that keeps no more than this share of its rows is worth an arrangement of those: an equality is,
and a range.
"""
MANY_GROUPS = 10_000
"""Fewer groups than this stay in the processor's cache, so that looking them up costs next to nothing."""


@dataclass(frozen=True)
class _Input:
    """One input: what is arranged, and the MFP that makes the join's columns of it after a lookup."""

    collection: Plan
    relation: Relation  # of which `collection` is the plan
    local: Mfp
    share: float = 1.0  # of what is looked up there: what a filter below the collection lets pass


@dataclass(frozen=True)
class _JoinedRow:
    """The columns of all collections side by side, and what holds among them."""

    inputs: tuple[_Input, ...]
    offsets: tuple[int, ...]  # where the columns of each input begin, and last the width
    columns: tuple[Scalar, ...]  # the join's output columns over the joined row
    classes: tuple[tuple[int, ...], ...]  # equivalent columns of the joined row, ascending
    predicates: tuple[Scalar, ...]  # over the joined row
    row: Row
    owners: tuple[int, ...]  # the input that each column belongs to
    ties: Ties

    def columns_of(self, number: int) -> range:
        """The columns of one input."""
        return range(self.offsets[number], self.offsets[number + 1])


def lower_join(join: Join, mfp: Mfp, lower: Callable[[Relation], Plan], existing: Existing) -> Plan:
    """The plan of `join` followed by `mfp`; predicates of `mfp` are tested as soon as their columns are bound.

    The keys of lookups are chosen for all paths together and with what is arranged already (see `join_keys`). Where
    a join that computes the same exists, it is that one.
    """
    apart = None if _is_lifted(join) else set_apart(join, mfp)
    if apart is not None:
        return lower_join(*apart, lower, existing)
    joined = _joined_row(join, mfp, lower, existing)
    final = _final(joined, mfp)
    inputs = tuple(each.collection for each in joined.inputs)
    known = existing.join((inputs, joined.classes, joined.predicates, final))
    if known is not None:
        return known
    choice = _choice(joined, existing)
    ways = choice.ways()
    by_source = zip(choice.sources, ways, strict=True)
    paths = tuple(_path(joined, source, way.steps, final, choice) for source, way in by_source)
    parts: tuple[Scalar, ...] = (*joined.row, *final.maps)
    row = row_of(tuple(parts[p] for p in final.projection))
    plan = JoinPlan(inputs, joined.classes, joined.predicates, paths, final, row, choice.for_all_rows(ways))
    existing.add((plan, *plan.arrangements))  # those below have been added with the joins below
    return plan


def _is_lifted(join: Join) -> bool:
    """Whether it runs within a loop."""
    return any(isinstance(each, Signed) for each in join.inputs)


def _choice(joined: _JoinedRow, existing: Existing) -> Choice:
    collections = [each.collection for each in joined.inputs]
    sizes = existing.sizes if existing.sizes_known(*collections) else None
    predicates = tuple((frozenset(joined.owners[c] for c in columns_of(p)), selectivity(p)) for p in joined.predicates)
    predicates += tuple((frozenset((i,)), each.share) for i, each in enumerate(joined.inputs) if each.share < 1.0)
    alone = {next(iter(reads)) for reads, _ in predicates if len(reads) == 1}
    sides: list[Side] = []
    for number, side in enumerate(sides_of(collections, joined.classes, sizes)):
        arranged = existing.keys(collections[number])
        if isinstance(collections[number], TablePlan):
            arranged |= set(side.unique)  # a table finds its rows by them itself
        silent = number in joined.ties.silent
        sides.append(replace(side, existing=arranged, filtered=number in alone, silent=silent))
    return Choice(tuple(sides), predicates, _bounds(joined))


def _bounds(joined: _JoinedRow) -> frozenset[tuple[int, frozenset[int]]]:
    """The inputs that a predicate compares with others, and these."""
    found: set[tuple[int, frozenset[int]]] = set()
    for predicate in joined.predicates:
        for number in {joined.owners[c] for c in columns_of(predicate)}:
            others = frozenset(map(joined.owners.__getitem__, compared_with(predicate, joined.columns_of(number))))
            if others:
                found.add((number, others))
    return frozenset(found)


def _joined_row(join: Join, mfp: Mfp, lower: Callable[[Relation], Plan], existing: Existing) -> _JoinedRow:
    inputs = _lower_inputs(join, lower, existing)
    row = row_of(c for each in inputs for c in each.collection.row)
    starts = tuple(accumulate((len(each.collection.row) for each in inputs), initial=0))
    columns: tuple[Scalar, ...] = ()
    predicates: tuple[Scalar, ...] = ()
    for each, start, end in zip(inputs, starts, starts[1:], strict=False):
        found, tested = each.local.over(row[start:end])
        columns, predicates = columns + found, predicates + tested
    predicates += mfp.over(columns)[1]
    # A projection may repeat a column, so that two classes are one here.
    classes = merged_classes({_position(columns[c]) for c in group} for group in join.equivalences)
    owners = tuple(i for i, each in enumerate(inputs) for _ in each.collection.row)
    distinct = tuple(dict.fromkeys(predicates))
    order = ties([each.collection for each in inputs], [each.relation for each in inputs], classes)
    return _JoinedRow(inputs, starts, columns, classes, distinct, row, owners, order)


@dataclass
class _Met:
    """The inputs that a path has met so far, and of each class that they have columns in, the first such column."""

    joined: _JoinedRow
    sides: tuple[Side, ...]
    inputs: set[int] = field(default_factory=set)
    known: dict[int, int] = field(default_factory=dict)

    def add(self, number: int) -> None:
        """Bind one more input."""
        self.inputs.add(number)
        for own, group in self.sides[number].classes.items():
            column = self.joined.offsets[number] + own
            self.known[group] = min(column, self.known.get(group, column))


def _position(column: Scalar) -> int:
    assert isinstance(column, Column), "a join key must be a plain column of its input"
    return column.index


def _lower_inputs(join: Join, lower: Callable[[Relation], Plan], existing: Existing) -> tuple[_Input, ...]:
    inputs: list[_Input] = []
    start = 0
    joined = {c for group in join.equivalences for c in group}
    for relation in join.inputs:
        base, local = peel(relation)
        keyed = [local.projection[c - start] for c in sorted(joined) if start <= c < start + len(relation.schema)]
        start += len(relation.schema)
        share = _filters_first(base, local, keyed, lower, existing)
        if isinstance(base, Join) or any(p >= local.width for p in keyed) or share is not None:
            plan = lower(relation)
            inputs.append(_Input(plan, relation, identity(len(plan.row)), share or 1.0))
        else:
            inputs.append(_Input(lower(base), base, local.pruned()))
    return tuple(inputs)


def _filters_first(
    base: Relation, local: Mfp, keyed: list[int], lower: Callable[[Relation], Plan], existing: Existing
) -> float | None:
    """The share of the rows of `base` that pass the predicates of `local`, where a join is to look only these up; or
    else None.

    `keyed`: the columns of `base` that the join compares. The groups themselves can be looked up by their keys for
    nothing, but where most lookups fall through the filter afterwards, each has been an access into a large table in
    vain. The rows that pass are few; that arrangement is small and close. To keep it costs the filter for each change
    of a group, which the path of these changes asks anyway, and what passes. By a part of its keys a reduce cannot be
    looked up, so that all of its rows would have to be held twice: then the filter always comes first. A table keeps
    no more than a reference to each row, but to each, where next to none may pass.
    """
    if not isinstance(base, Reduce | Get) or not local.predicates:
        return None
    _, predicates = local.over(row(base))
    if any(map(can_raise, predicates)):
        return None  # for a join to ask where it must be careful
    share = prod(map(selectivity, predicates))
    if isinstance(base, Get):
        return share if share <= RARE and _is_alone(lower(base), set(keyed), existing) else None
    if not set(range(len(base.keys))) <= set(keyed):
        return share
    if share > SELECTIVE:
        return None
    plan = lower(base)
    return None if existing.sizes_known(plan) and existing.sizes.count(plan) < MANY_GROUPS else share


def _is_alone(plan: Plan, keyed: set[int], existing: Existing) -> bool:
    """Whether the few rows of a table are worth an arrangement of their own, where a join compares these columns.

    They are where it finds them by a key of the table, which has all rows, or needs one arrangement only; and nobody
    keeps it anyway.
    """
    if not isinstance(plan, TablePlan):
        return False
    others = existing.keys(plan).difference(plan.unique)
    return (len(keyed) == 1 or any(keyed.issuperset(key) for key in plan.unique)) and not any(
        keyed.issuperset(key) for key in others
    )


def _final(joined: _JoinedRow, mfp: Mfp) -> Mfp:
    """`mfp` without its predicates, over the joined row."""
    base = len(joined.row)
    start = identity(base).map(joined.columns).project(tuple(range(base, base + len(joined.columns))))
    return start.then(replace(mfp, predicates=())).pruned()


def _path(joined: _JoinedRow, source: int, steps: tuple[Step, ...], final: Mfp, choice: Choice) -> PathPlan:
    bound = _Met(joined, choice.sides)
    equal = _equal_within(joined, source, bound)
    bound.add(source)
    pending = list(joined.predicates)
    first = (*equal, *_ready(joined, pending, bound))
    lifted = any(each.collection.is_lifted for each in joined.inputs)  # whose times are not those of what enters
    ways = (((step,),) for step in steps) if lifted else raced(choice.sides, source, steps)
    stages = tuple(_next(joined, source, way, bound, pending) for way in ways)
    if not lifted and not isinstance(joined.inputs[source].collection, ConstantPlan):
        stages = bounded(stages, final, source, joined.columns_of, partial(_pays, joined, choice, source))
    return PathPlan(source, _needed(joined, source, first, stages, final), first, stages)


def _next(joined: _JoinedRow, source: int, ways: Ways, bound: _Met, pending: list[Scalar]) -> StagePlan | RacePlan:
    """The next stage of a path, or a race of several; whichever way they go, the same is bound and tested then."""
    found, waiting = list[tuple[StagePlan, ...]](), tuple(pending)
    inputs, known = frozenset(bound.inputs), dict(bound.known)
    for way in ways:
        bound.inputs, bound.known, pending[:] = set(inputs), dict(known), waiting
        found.append(tuple(_stage(joined, source, step, bound, pending) for step in way))
    return stage_of(tuple(found))


def _stage(joined: _JoinedRow, source: int, step: Step, bound: _Met, pending: list[Scalar]) -> StagePlan:
    """The next stage of a path; equalities with what is bound that are not in the key are tested after the lookup."""
    target, offset = joined.inputs[step.input], joined.offsets[step.input]
    streams = {c: bound.known[g] for c, g in bound.sides[step.input].classes.items() if g in bound.known}
    checks = tuple(
        comparison("eq", joined.row[streams[c]], joined.row[offset + c]) for c in sorted(streams) if c not in step.key
    )
    equal = _equal_within(joined, step.input, bound)
    bound.add(step.input)
    predicates = (*checks, *equal, *_ready(joined, pending, bound))
    arrangement = ArrangementPlan(target.collection, step.key)
    stream = tuple(streams[c] for c in step.key)
    inclusive = joined.ties.ranks[step.input] < joined.ties.ranks[source]
    return StagePlan(step.input, arrangement, stream, inclusive, step.key in target.collection.unique, predicates)


def _pays(joined: _JoinedRow, choice: Choice, source: int, stage: StagePlan, bound: Scalar) -> bool:
    """Whether to keep the rows that a stage looks up in order, since it would find many of them that cancel.

    It does without a key. With one it may where `bound` is an aggregate of a group that changes all the time. What
    refers to a row of a table is known to be few, or how many, as are the parts of one that it is numbered within;
    how large any other group may be is not known, and a change must not cost all of it.
    """
    key, collection = stage.arrangement.key, stage.arrangement.collection
    if stage.unique or collection.is_small:
        return False
    if not key:
        return True
    if not isinstance(joined.inputs[source].collection, ReducePlan):
        return False
    numbered = any(len(each) > 1 and each[0] in key for each in collection.unique)
    if numbered or any(joined.owners[c] != source for c in columns_of(bound)):
        return False
    own = choice.sides[stage.input]
    known, rows = {group for column, group in own.classes.items() if column in key}, own.rows
    for side, each in zip(choice.sides, joined.inputs, strict=True):
        if table_of(each.collection) is not None and any(_refers(known, side, k) for k in side.unique):
            return rows is not None and side.rows is not None and rows * each.share >= LARGE * side.rows
    return True


def _refers(known: set[int], side: Side, key: tuple[int, ...]) -> bool:
    return bool(key) and all(side.classes.get(column) in known for column in key)


_NET = (ReducePlan, ThresholdPlan)
"""Collections that give a change only where a row has changed."""


def _needed(
    joined: _JoinedRow, source: int, first: tuple[Scalar, ...], stages: Sequence[StagePlan | RacePlan], final: Mfp
) -> tuple[int, ...]:
    """The columns of `source` that anything on its path reads; none where its changes differ in them by themselves."""
    lookups = lookups_of(stages)
    tested = (*first, *(p for lookup in lookups for p in lookup.predicates))
    read = final.read.union(*(lookup.stream for lookup in lookups), *map(columns_of, tested))
    collection, own = joined.inputs[source].collection, joined.columns_of(source)
    needed = tuple(sorted(c - own.start for c in read.intersection(own)))
    return () if isinstance(collection, _NET) and len(needed) == len(own) else needed


def _equal_within(joined: _JoinedRow, target: int, bound: _Met) -> tuple[Scalar, ...]:
    """Columns of one input that a class makes equal to each other, where nothing bound is compared with each."""
    classes = [group for number, group in enumerate(joined.classes) if number not in bound.known]
    own = [[c for c in group if joined.owners[c] == target] for group in classes]
    return tuple(comparison("eq", joined.row[group[0]], joined.row[other]) for group in own for other in group[1:])


def _ready(joined: _JoinedRow, pending: list[Scalar], bound: _Met) -> tuple[Scalar, ...]:
    """Take the predicates whose columns are all bound out of `pending`."""
    ready = tuple(p for p in pending if all(joined.owners[c] in bound.inputs for c in columns_of(p)))
    pending[:] = [p for p in pending if p not in ready]
    return ready
