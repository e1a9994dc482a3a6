"""Renders thresholds: the multiplicity of each row."""

from __future__ import annotations

from ivm.dataflow.node import Node
from ivm.operators.threshold import Threshold
from ivm.plan.threshold import ThresholdPlan
from ivm.render.context import RenderContext


def render_threshold(context: RenderContext, plan: ThresholdPlan) -> Node:
    """The threshold's node, hydrated."""
    types = tuple((column.type, column.nullable) for column in plan.row)
    operator = Threshold(types, context.dictionary)
    return context.graph.hydrate(context.graph.add("threshold", operator, (context.node(plan.input),)))
