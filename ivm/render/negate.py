"""Renders negations."""

from __future__ import annotations

from ivm.dataflow.node import Node
from ivm.operators.negate import Negate
from ivm.plan.negate import NegatePlan
from ivm.render.context import RenderContext


def render_negate(context: RenderContext, plan: NegatePlan) -> Node:
    """The negate's node."""
    return context.graph.add("negate", Negate(), (context.node(plan.input),))
