"""Renders arrangements: row references over a base table, or a derived collection's own columns."""

from __future__ import annotations

from ivm.dataflow.node import Node
from ivm.operators.arrange import ArrangeDerived, ArrangeTable
from ivm.plan.nodes import ArrangementPlan, TablePlan
from ivm.render.context import Context, key_layout
from ivm.trace.arrangement import DerivedArrangement


def render_arrangement(context: Context, plan: ArrangementPlan) -> Node:
    """The arrangement's node, hydrated."""
    source = context.node(plan.collection)
    if isinstance(plan.collection, TablePlan):
        store = context.tables[plan.collection.name]
        arrangement = store.arrangement(plan.key) if context.sharing else store.arrangement_apart(plan.key)
        return context.graph.add("arrange", ArrangeTable(arrangement), (source,))
    row = plan.collection.row
    layout = key_layout(row, plan.key)
    derived = DerivedArrangement([c.type for c in row], plan.key, layout, context.dictionary, unique=plan.unique)
    return context.hydrated(context.graph.add("arrange", ArrangeDerived(derived), (source,)))
