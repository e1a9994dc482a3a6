"""Renders unions."""

from __future__ import annotations

from ivm.dataflow.node import Node
from ivm.operators.union import Union
from ivm.plan.union import UnionPlan
from ivm.render.context import RenderContext


def render_union(context: RenderContext, plan: UnionPlan) -> Node:
    """The union's node."""
    return context.graph.add("union", Union(), tuple(context.node(each) for each in plan.inputs))
