"""Renders map-filter-projects: a program over each delta."""

from __future__ import annotations

from ivm.dataflow.node import Node
from ivm.operators.mfp import Mfp
from ivm.plan.mfp import MfpPlan
from ivm.render.context import RenderContext


def render_mfp(context: RenderContext, plan: MfpPlan) -> Node:
    """The mfp's node."""
    program = context.program(plan.mfp, plan.input.row).run
    read = tuple(column.type for column in plan.input.row)
    return context.graph.add("mfp", Mfp(program, read), (context.node(plan.input),))
