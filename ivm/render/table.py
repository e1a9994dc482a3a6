"""Renders tables: one source for all readers of a table."""

from __future__ import annotations

from ivm.dataflow.node import Node
from ivm.operators.ends import Source
from ivm.plan.table import TablePlan
from ivm.render.context import RenderContext


def render_table(context: RenderContext, plan: TablePlan) -> Node:
    """The table's node."""
    known = context.sources.get(plan.name)
    if known is None:
        known = context.graph.add(plan.label, Source(context.tables[plan.name].contents))
        context.sources[plan.name] = known
    return known
