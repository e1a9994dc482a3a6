"""Renders arrangements: row references over a base table, a reduce's groups, or a derived collection's own columns."""

from __future__ import annotations

from ivm.dataflow.node import Node
from ivm.operators.arrange import ArrangeDerived, ArrangeGroups, ArrangeTable
from ivm.operators.reduce import Reduce
from ivm.plan.arrangement import ArrangementPlan
from ivm.plan.table import TablePlan
from ivm.render.context import RenderContext
from ivm.render.threshold_join import render_ordered
from ivm.trace.arrangement import Arrangement
from ivm.trace.derived_rows import DerivedRows
from ivm.trace.keys import KeyLayout
from ivm.trace.turns import at_once


def render_arrangement(context: RenderContext, plan: ArrangementPlan) -> Node:
    """The arrangement's node, hydrated."""
    source = context.node(plan.collection)
    if plan.value is not None:
        return render_ordered(context, plan, source)
    if isinstance(plan.collection, TablePlan):
        store = context.tables[plan.collection.name]
        for column in plan.key:
            for rows in store.store.columns.heat(column):
                context.graph.rest(rows)
        there = store.arrangements()
        arrangement = store.arrangement(plan.key, shared=context.sharing)
        # One that a constraint has may be caught up by a commit: none comes while it is worked on.
        for rows in arrangement.fill(at_once if arrangement in there else context.graph.aside):
            context.graph.rest(rows)
        return context.graph.add("arrange", ArrangeTable(arrangement, primary=arrangement is store.primary), (source,))
    if plan.kind == "groups":
        assert isinstance(source.operator, Reduce), "it carries out a reduce"
        return context.graph.add("arrange", ArrangeGroups(source.operator), (source,))
    row = plan.collection.row
    layout = KeyLayout(tuple((row[c].type.physical, row[c].nullable) for c in plan.key), nulls="drop")
    derived = DerivedRows([c.type for c in row], context.dictionary, lambda store: Arrangement(store, plan.key, layout))
    return context.graph.hydrate(context.graph.add("arrange", ArrangeDerived(derived), (source,)))
