"""Renders loops: a dataflow within a node, and the nodes that read what its bindings hold at the end."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ivm.dataflow.bits import Bits
from ivm.dataflow.hydration import Installation
from ivm.dataflow.loop import Iterate, fill
from ivm.dataflow.loop_result import OfGroups
from ivm.dataflow.node import Node
from ivm.dataflow.scope import Fed, Scope
from ivm.operators.arrange import ArrangeDerived, ArrangeEntered, ArrangeGroups, ArrangeTable
from ivm.operators.ends import Feed
from ivm.operators.multiplicities import Threshold
from ivm.operators.numbered import ByValue
from ivm.operators.operator import Kept
from ivm.operators.round_node import RoundNode
from ivm.plan.arrangement import ArrangementPlan
from ivm.plan.iterate import IteratePlan
from ivm.plan.node import Plan
from ivm.plan.within_loop import FedPlan
from ivm.render.context import RenderContext, types_of
from ivm.trace.delta import Delta
from ivm.trace.index.arrangement import Arrangement
from ivm.trace.index.keys import KeyLayout
from ivm.trace.rows.signed_rows import SignedRows


def render_loop(context: RenderContext, plan: IteratePlan) -> Bits[Node]:
    """The loop's node, hydrated; it waits for the arrangements outside in which it looks up."""
    inputs = dict(zip(plan.entered, (yield from context.nodes(plan.entered)), strict=True))
    arrangements = dict(zip(plan.arrangements, (yield from context.nodes(plan.arrangements)), strict=True))
    scope = Scope()
    within = context.within(partial(_enter, scope, arrangements))
    for each in plan.order.valued:
        within.by_value[each.binding] = ByValue(each.largest)
    scope.valued, scope.waits = within.by_value, plan.waits
    within.looked_up_first = plan.looked_up_first
    within.graph.install(Installation())
    scope.graph = within.graph
    scope.entering = [*(yield from within.nodes(inputs))]
    nodes = yield from within.nodes(plan.bindings)
    within.graph.installation = None
    back = {each.name: node for each, node in within.rendered.items() if isinstance(each, FedPlan)}
    scope.bindings = [
        Fed(node, back.get(name), tuple(column.type for column in each.row))
        for name, node, each in zip(plan.names_bound, nodes, plan.bindings, strict=True)
    ]
    scope.groups, scope.holding, scope.later = within.groups, within.holding, within.later
    groups = {giving: taking for taking, giving in scope.groups}
    results = {number: _result(context, plan.bindings[number], groups.get(nodes[number])) for number in plan.read}
    last = [_rows(context, each) for each in plan.bindings if plan.fails_at_limit]
    scope.names = plan.names_written
    loop = Iterate(scope, results, plan.limit, last, context.recursion_limit)
    node = context.graph.add(plan.label, loop, tuple(inputs.values()), tuple(arrangements.values()))
    if context.saved is None or not context.saved(plan, node, False):
        yield from fill(node, context.graph.time, context.graph.installing)
    return node


def _result(context: RenderContext, plan: Plan, groups: RoundNode | None) -> Kept:
    """What knows the rows of a binding at the end: the groups that give them, or what keeps them."""
    if groups is not None and groups.shows_all:
        return OfGroups(groups, [column.type for column in plan.row[:-1]])
    return Threshold(types_of(plan.row[:-1]), context.dictionary)


def _rows(context: RenderContext, plan: Plan) -> SignedRows[Arrangement]:
    """The changes of a binding in a round, empty."""
    types = [column.type for column in plan.row]
    return SignedRows(types, context.dictionary, lambda store: Arrangement(store, (), KeyLayout((), nulls="match")))


def _enter(
    scope: Scope, arrangements: dict[ArrangementPlan, Node], within: RenderContext, plan: Plan | ArrangementPlan
) -> Node:
    """The node within a loop at which something from outside is seen."""
    if isinstance(plan, ArrangementPlan):
        arranged = arrangements[plan].operator
        assert isinstance(arranged, ArrangeTable | ArrangeGroups | ArrangeDerived), "it carries out an arrangement"
        entered = ArrangeEntered(arranged.arrangement)
        scope.looking.append(entered.arrangement)
        return within.graph.add("arrange", entered)
    return within.graph.add(plan.label, nothing())


def nothing() -> Feed:
    """A feed of what the loop puts in, of which there is nothing at first."""

    def read(time: int) -> Iterator[Delta]:
        return iter(())

    return Feed(read)
