"""Renders top-k: ordered state of the input, a window per group."""

from __future__ import annotations

from ivm.dataflow.node import Node
from ivm.operators.top_k import AppendOnlyTopK, TopK
from ivm.plan.top_k import TopKPlan
from ivm.render.context import RenderContext


def render_top_k(context: RenderContext, plan: TopKPlan) -> Node:
    """The top-k's node, hydrated."""
    types = tuple((column.type, column.nullable) for column in plan.row)
    order = tuple((term.column, term.descending, term.nulls_first) for term in plan.order)
    operator: TopK | AppendOnlyTopK
    if plan.append_only and plan.limit is not None:
        operator = AppendOnlyTopK(types, plan.group, order, plan.limit, plan.offset, context.dictionary)
    else:
        operator = TopK(types, plan.group, order, plan.limit, plan.offset, context.dictionary, plan.ties)
    return context.graph.hydrate(context.graph.add("top-k", operator, (context.node(plan.input),)))
