"""Renders reduces: group table, accumulators and ordered state, as the plan says."""

from __future__ import annotations

from ivm.dataflow.node import Node
from ivm.operators.reduce import AggregateSpec, Reduce
from ivm.plan.nodes import AggregatePlan, ReducePlan
from ivm.render.context import Context


def render_reduce(context: Context, plan: ReducePlan) -> Node:
    """The reduce's node, hydrated."""
    keys = tuple((column.type, column.nullable) for column in plan.input.row[: plan.keys])
    operator = Reduce(keys, tuple(_spec(plan, a) for a in plan.aggregates), context.dictionary)
    return context.hydrated(context.graph.add("reduce", operator, (context.node(plan.input),)))


def _spec(plan: ReducePlan, aggregate: AggregatePlan) -> AggregateSpec:
    argument = None if aggregate.argument is None else plan.input.row[aggregate.argument]
    return AggregateSpec(
        aggregate.function,
        aggregate.argument,
        None if argument is None else argument.type,
        argument is not None and argument.nullable,
        aggregate.type,
    )
