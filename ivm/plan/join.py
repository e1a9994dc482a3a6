"""Delta joins: for each input a path of lookups into arrangements of the others, without intermediate state.

A change u of input i at time t meets the rows of input j that were there strictly before t, or also those that came
at t if j < i. So each combination of changes is produced once, by the latest of them, ties going to the later input
(Shared Arrangements, section 5.4; Optimising Distributed Dataflows, section 8).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from catalog.types import BOOLEAN
from ivm.analysis.classes import merged_classes
from ivm.plan.mfp import Mfp, Row, identity, peel, row_of
from ivm.plan.nodes import ArrangementPlan, JoinPlan, Path, Plan, ReducePlan, Stage, TablePlan
from sql.ir.relation import Join, Relation
from sql.ir.scalar import Call, Column, Scalar, columns_of, remap, substitute


@dataclass(frozen=True)
class _Input:
    """One input: what is arranged, and the MFP that makes the join's columns of it after a lookup."""

    collection: Plan
    local: Mfp
    keys: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class _JoinedRow:
    """The columns of all collections side by side, and what holds among them."""

    inputs: tuple[_Input, ...]
    offsets: tuple[int, ...]
    columns: tuple[Scalar, ...]  # the join's output columns over the joined row
    classes: tuple[tuple[int, ...], ...]  # equivalent columns of the joined row, ascending
    predicates: tuple[Scalar, ...]  # over the joined row
    row: Row
    owners: tuple[int, ...]  # the input that each column belongs to
    members: tuple[tuple[tuple[int, int], ...], ...]  # of each input the columns in classes: (class, column)

    def owner(self, column: int) -> int:
        """The input that a column belongs to."""
        return self.owners[column]

    def width(self) -> int:
        """The number of columns."""
        return len(self.row)


def lower_join(join: Join, mfp: Mfp, lower: Callable[[Relation], Plan]) -> Plan:
    """The plan of `join` followed by `mfp`; predicates of `mfp` are tested as soon as their columns are bound."""
    joined = _joined_row(join, mfp, lower)
    final = _final(joined, mfp)
    paths = tuple(_path(joined, source, final) for source in range(len(joined.inputs)))
    parts: tuple[Scalar, ...] = (*joined.row, *final.maps)
    row = row_of(tuple(parts[p] for p in final.projection))
    return JoinPlan(tuple(each.collection for each in joined.inputs), paths, final, row)


def _joined_row(join: Join, mfp: Mfp, lower: Callable[[Relation], Plan]) -> _JoinedRow:
    inputs = _lower_inputs(join, lower)
    offsets = [0]
    columns: list[Scalar] = []
    predicates: list[Scalar] = []
    for each in inputs:
        offset = offsets[-1]
        columns += [remap(s, lambda i, o=offset: i + o) for s in _outputs(each)]  # type: ignore[misc]
        values = each.local.map_values()
        local = [each.local.over_input(p, values) for p in each.local.predicates]
        predicates += [remap(p, lambda i, o=offset: i + o) for p in local]  # type: ignore[misc]
        offsets.append(offset + len(each.collection.row))
    computed = mfp.map_values()
    predicates += [substitute(mfp.over_input(p, computed), tuple(columns)) for p in mfp.predicates]
    # A projection may repeat a column, so that two classes are one here.
    classes = merged_classes({_position(columns[c]) for c in group} for group in join.equivalences)
    row = row_of(tuple(c for each in inputs for c in each.collection.row))
    owners = tuple(i for i, each in enumerate(inputs) for _ in each.collection.row)
    distinct = tuple(dict.fromkeys(predicates))
    members: list[list[tuple[int, int]]] = [[] for _ in inputs]
    for number, group in enumerate(classes):
        for column in group:
            members[owners[column]].append((number, column))
    starts = tuple(offsets[:-1])
    return _JoinedRow(inputs, starts, tuple(columns), classes, distinct, row, owners, tuple(map(tuple, members)))


@dataclass
class _Bound:
    """The inputs that a path has met so far, and of each class that they have columns in, the first such column."""

    joined: _JoinedRow
    inputs: set[int] = field(default_factory=set)
    known: dict[int, int] = field(default_factory=dict)

    def add(self, number: int) -> None:
        """Bind one more input."""
        self.inputs.add(number)
        for group, column in self.joined.members[number]:
            self.known[group] = min(column, self.known.get(group, column))


def _outputs(each: _Input) -> list[Scalar]:
    return [each.collection.row[o] if isinstance(o, int) else o for o in each.local.outputs()]


def _position(column: Scalar) -> int:
    assert isinstance(column, Column), "a join key must be a plain column of its input"
    return column.index


def _lower_inputs(join: Join, lower: Callable[[Relation], Plan]) -> tuple[_Input, ...]:
    inputs: list[_Input] = []
    start = 0
    joined = {c for group in join.equivalences for c in group}
    for relation in join.inputs:
        base, local = peel(relation)
        keyed = [local.projection[c - start] for c in sorted(joined) if start <= c < start + len(relation.schema)]
        start += len(relation.schema)
        if isinstance(base, Join) or any(p >= local.width for p in keyed):
            plan = lower(relation)
            inputs.append(_Input(plan, identity(len(plan.row)), ()))
        else:
            plan = lower(base)
            inputs.append(_Input(plan, local.pruned(), _unique_keys(plan)))
    return tuple(inputs)


def _unique_keys(plan: Plan) -> tuple[tuple[int, ...], ...]:
    if isinstance(plan, TablePlan):
        return plan.keys
    if isinstance(plan, ReducePlan):
        return (tuple(range(plan.keys)),)
    return ()


def _final(joined: _JoinedRow, mfp: Mfp) -> Mfp:
    """`mfp` without its predicates, over the joined row."""
    start = identity(joined.width()).map(joined.columns)
    base = joined.width()
    start = start.project(tuple(range(base, base + len(joined.columns))))
    return start.then(replace(mfp, predicates=())).pruned()


def _path(joined: _JoinedRow, source: int, final: Mfp) -> Path:
    bound = _Bound(joined)
    equal = _equal_within(joined, source, bound)
    bound.add(source)
    pending = list(joined.predicates)
    first = (*equal, *_ready(joined, pending, bound))
    stages: list[Stage] = []
    while len(bound.inputs) < len(joined.inputs):
        best = min(_candidates(joined, bound), key=lambda c: c.rank)
        equal = _equal_within(joined, best.input, bound)
        bound.add(best.input)
        predicates = (*best.checks, *equal, *_ready(joined, pending, bound))
        inclusive = best.input < source
        arrangement = ArrangementPlan(joined.inputs[best.input].collection, best.key)
        stages.append(Stage(best.input, arrangement, best.stream, inclusive, best.unique, predicates))
    return Path(source, _needed(joined, source, first, stages, final), first, tuple(stages))


def _needed(
    joined: _JoinedRow, source: int, first: tuple[Scalar, ...], stages: list[Stage], final: Mfp
) -> tuple[int, ...]:
    """The columns of `source` that anything on its path reads."""
    read = {p for p in final.projection if p < final.width}
    for stage in stages:
        read.update(stage.stream)
    for scalar in (*first, *(p for stage in stages for p in stage.predicates), *final.maps):
        read.update(columns_of(scalar))
    offset, width = joined.offsets[source], len(joined.inputs[source].collection.row)
    return tuple(sorted(c - offset for c in read if offset <= c < offset + width))


def _equal_within(joined: _JoinedRow, target: int, bound: _Bound) -> tuple[Scalar, ...]:
    """Columns of one input that a class makes equal to each other, where nothing bound is compared with each."""
    classes = [group for number, group in enumerate(joined.classes) if number not in bound.known]
    own = [[c for c in group if joined.owner(c) == target] for group in classes]
    return tuple(_equal(joined, group[0], other) for group in own for other in group[1:])


def _ready(joined: _JoinedRow, pending: list[Scalar], bound: _Bound) -> tuple[Scalar, ...]:
    """Take the predicates whose columns are all bound out of `pending`."""
    ready = [p for p in pending if all(joined.owner(c) in bound.inputs for c in columns_of(p))]
    for predicate in ready:
        pending.remove(predicate)
    return tuple(ready)


@dataclass(frozen=True)
class _Candidate:
    """A possible next stage; the smallest rank is the best."""

    input: int
    key: tuple[int, ...]
    stream: tuple[int, ...]
    unique: bool
    checks: tuple[Scalar, ...]
    rank: tuple[int, ...]


def _candidates(joined: _JoinedRow, bound: _Bound) -> list[_Candidate]:
    return [_candidate(joined, bound, i) for i in range(len(joined.inputs)) if i not in bound.inputs]


def _candidate(joined: _JoinedRow, bound: _Bound, target: int) -> _Candidate:
    """Look `target` up by all its columns that are equal to bound ones, or by a unique key among them."""
    offset = joined.offsets[target]
    streams = {column - offset: bound.known[g] for g, column in joined.members[target] if g in bound.known}
    unique = next((k for k in joined.inputs[target].keys if set(k) <= streams.keys()), None)
    key = tuple(sorted(streams)) if unique is None else unique
    checks = tuple(_equal(joined, streams[c], offset + c) for c in sorted(streams) if c not in key)
    filtered = bool(joined.inputs[target].local.predicates) or bool(checks)
    rank = (_fan_out(joined, bound, target, unique), 0 if filtered else 1, -len(key), target)
    return _Candidate(target, key, tuple(streams[c] for c in key), unique is not None, checks, rank)


def _fan_out(joined: _JoinedRow, bound: _Bound, target: int, unique: tuple[int, ...] | None) -> int:
    """0: at most one partner; 1: the bound side's key is unique, as along a foreign key; 2: many to many; 3: all."""
    if unique is not None:
        return 0
    groups = {g for g, _ in joined.members[target] if g in bound.known}
    if not groups:
        return 3
    for each in bound.inputs:
        own = {column - joined.offsets[each] for g, column in joined.members[each] if g in groups}
        if any(k and set(k) <= own for k in joined.inputs[each].keys):
            return 1
    return 2


def _equal(joined: _JoinedRow, left: int, right: int) -> Scalar:
    sides = joined.row[left], joined.row[right]
    return Call("eq", sides, BOOLEAN, any(side.nullable for side in sides))
