"""Renders delta joins: one path of half-joins for each input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

from ivm.dataflow.bits import Bits
from ivm.dataflow.node import Node
from ivm.operators.arrange import ArrangeDerived, ArrangeEntered, ArrangeGroups, ArrangeTable
from ivm.operators.bound_leg import Bounds
from ivm.operators.half_join import HalfJoin
from ivm.operators.join import Careful, DeltaJoin, Path
from ivm.operators.race import Race
from ivm.operators.stage import Stage
from ivm.operators.threshold_join import ThresholdJoin
from ivm.plan.join import JoinPlan, PathPlan, StagePlan, apart
from ivm.plan.mfp import identity
from ivm.render.context import RenderContext
from ivm.render.scalars.by_bytes import functions_in
from ivm.render.scalars.functions import Context
from ivm.render.wants import wants_of
from ivm.sql.ir.functions import DIRECTIONS
from ivm.sql.ir.rebuild import Row
from ivm.sql.ir.scalar import Scalar, columns_of
from ivm.trace.columns.computed import TextFunction
from ivm.trace.index.keys import KeyLayout
from ivm.trace.ordered.ordered_arrangement import OrderedArrangement

_Read = tuple[frozenset[int], dict[int, tuple[TextFunction, ...]]]
"""Columns of the joined row that anything reads, and those of whose text only these functions are read."""


def render_join(context: RenderContext, plan: JoinPlan) -> Bits[Node]:
    """The join's node; it waits for its arrangements, so that they show the batch that it looks up."""
    inputs = yield from context.nodes(plan.inputs)
    arrangements = dict.fromkeys((yield from context.nodes(plan.arrangements)))
    operator = DeltaJoin([_path(context, plan, path) for path in plan.paths], _careful(context, plan), plan.whole)
    for _ in operator.prepare():
        yield 0
    tested = {path.source: path.predicates for path in plan.paths}
    wants = [
        wants_of(tested.get(source, ()), first, len(each.row), context.dictionary)
        for source, (first, each) in enumerate(zip(plan.offsets, plan.inputs, strict=True))
    ]
    return context.graph.add("join", operator, inputs, tuple(arrangements), wants=wants)


def _careful(context: RenderContext, plan: JoinPlan) -> Callable[[], Careful] | None:
    """What makes, when it is needed, the join without that which can raise; None if nothing can."""
    if not plan.is_risky:
        return None

    @cache
    def made() -> Careful:
        below, after = apart(plan)
        join = DeltaJoin([_path(context, below, path) for path in below.paths], whole=below.whole)
        return Careful(join, context.program(after, below.row).run, tuple(column.type for column in below.row))

    return made


def _path(context: RenderContext, plan: JoinPlan, path: PathPlan) -> Path:
    row = plan.joined_row
    last = len(path.stages) - 1
    read = _read(context, plan, path)
    stages = _filter(context, path.predicates, row)
    for i, stage in enumerate(path.stages):
        ways = tuple(_way(context, plan, way, row, read, i == last) for way in stage.ways)
        stages += (Race(ways),) if len(ways) > 1 else ways[0]
    own = plan.inputs[path.source].row
    needed = tuple((column, own[column].type) for column in path.needed)
    offset = plan.offsets[path.source]
    computed = {c - offset: each for c, each in read[1].items() if offset <= c < offset + len(own)}
    return Path(path.source, offset, len(row), needed, stages, computed)


def _way(
    context: RenderContext, plan: JoinPlan, way: Sequence[StagePlan], joined: Row, read: _Read, last: bool
) -> tuple[Stage, ...]:
    """Look-ups one after the other, each with what the rows pass then."""
    stages: tuple[Stage, ...] = ()
    for stage in way:
        stages += _met(context, plan, stage, joined, read)
        stages += _after(context, plan, stage, joined, last and stage is way[-1])
    return stages


def _after(context: RenderContext, plan: JoinPlan, stage: StagePlan, joined: Row, last: bool) -> tuple[Stage, ...]:
    """What rows pass that were looked up."""
    if last:
        return (context.program(replace(plan.final, predicates=stage.predicates).pruned(), joined),)
    return _filter(context, stage.predicates, joined)


def _met(context: RenderContext, plan: JoinPlan, stage: StagePlan, joined: Row, read: _Read) -> tuple[Stage, ...]:
    """A look-up, behind what computes the bounds by which it is done."""
    offset, width = plan.offsets[stage.input], len(stage.arrangement.collection.row)
    columns, functions = read
    computed = tuple((c - offset, each) for c, each in functions.items() if offset <= c < offset + width)
    wanted = tuple(sorted(c - offset for c in columns if offset <= c < offset + width))
    arranged = context.rendered[stage.arrangement].operator
    assert isinstance(arranged, ArrangeTable | ArrangeGroups | ArrangeDerived | ArrangeEntered), (
        "it carries out an arrangement"
    )
    lookup, bound = arranged.arrangement, stage.bound
    placed = stage.stream, offset, width, stage.inclusive, wanted, computed
    if bound is None:
        return (HalfJoin(lookup, *placed, stage.unique),)
    assert isinstance(lookup, OrderedArrangement), "a bound looks up what is in order"
    carried = KeyLayout(tuple((joined[c].type.physical, joined[c].nullable) for c in bound.carried), nulls="match")
    sides = sorted(bound.sides, key=lambda side: -DIRECTIONS.get(side[0], 0))
    comparisons, scalars = zip(*sides, strict=True)
    computing, bounds = context.beside(scalars, joined)
    join = ThresholdJoin(lookup, *placed, Bounds(comparisons, bounds, bound.carried, carried))
    return (join,) if computing is None else (computing, join)


def _read(context: RenderContext, plan: JoinPlan, path: PathPlan) -> _Read:
    """What anything reads on a path."""
    read = {p for p in plan.final.projection if p < plan.final.width}
    for each in path.lookups:
        read.update(each.stream)
        if each.bound is not None:
            read.update(each.bound.carried)
    scalars = (*path.predicates, *(p for each in path.lookups for p in each.predicates), *plan.final.maps)
    found = functions_in(scalars, plan.final.width, Context(context.dictionary))
    computed: dict[int, tuple[TextFunction, ...]] = {
        c: tuple(dict.fromkeys(each.values())) for c, each in found.items() if c not in read
    }
    for scalar in scalars:
        read.update(columns_of(scalar) - computed.keys())
    return frozenset(read), computed


def _filter(context: RenderContext, predicates: tuple[Scalar, ...], row: Row) -> tuple[Stage, ...]:
    return (context.program(identity(len(row)).filter(predicates), row),) if predicates else ()
