"""Renders arrangements: row references over a base table, a reduce's groups, or a derived collection's own columns.

Each is by a key; for threshold joins, in the order of a value within it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ivm.dataflow.bits import Bits
from ivm.dataflow.node import Node
from ivm.operators.arrange import ArrangeDerived, ArrangeGroups, ArrangeLater, ArrangeTable
from ivm.operators.operator import Operator
from ivm.operators.reduce import Reduce
from ivm.plan.arrangement import ArrangementPlan
from ivm.plan.node import Plan
from ivm.plan.table import TablePlan
from ivm.plan.within_loop import ByRoundPlan, FedPlan, SignedPlan
from ivm.render.context import RenderContext
from ivm.sql.ir.scalar import columns_of
from ivm.trace.index.arrangement import Arrangement
from ivm.trace.index.keys import KeyLayout
from ivm.trace.ordered.ordered_arrangement import OrderedArrangement
from ivm.trace.rows.row_store import RowStore
from ivm.trace.rows.rows import DerivedRows
from ivm.trace.rows.signed_rows import SignedRows
from ivm.trace.text.dictionary import TextDictionary
from ivm.trace.turns import at_once


def render_arrangement(context: RenderContext, plan: ArrangementPlan) -> Bits[Node]:
    """The arrangement's node, hydrated."""
    source, graph = (yield from context.node(plan.collection)), context.graph
    operator: Operator
    if isinstance(plan.collection, TablePlan):
        operator = yield from _of_table(context, plan, plan.collection.name)
    elif plan.kind == "groups":
        assert isinstance(source.operator, Reduce), "it carries out a reduce"
        operator = ArrangeGroups(source.operator)
    else:
        rows = _derived_rows(plan.collection, context.dictionary, partial(_arranged, context, plan))
        derived = ArrangeDerived(rows)
        if plan in context.looked_up_first:
            derived = ArrangeLater(rows)
            context.later.append(derived)
        # Commits run the program that computes a value, too.
        node = graph.add("arrange", derived, (source,))
        return (yield from context.fill(plan, node, alone=plan.value is not None))
    return graph.add("arrange", operator, (source,))


def _derived_rows(
    collection: Plan, dictionary: TextDictionary, arrange: Callable[[RowStore], Arrangement | OrderedArrangement]
) -> DerivedRows[Arrangement | OrderedArrangement]:
    """What keeps the rows of a collection."""
    types = [column.type for column in collection.row]
    if not isinstance(collection, SignedPlan):
        return DerivedRows(types, dictionary, arrange)
    are_net = isinstance(collection.input, FedPlan | ByRoundPlan)  # see `ivm.dataflow.feedback`
    return SignedRows(types[:-1], dictionary, arrange, are_net=are_net)


def _of_table(context: RenderContext, plan: ArrangementPlan, name: str) -> Bits[ArrangeTable]:
    """The arrangement of all rows of a table."""
    table, installation = context.tables[name], context.graph.installing
    read = plan.key if plan.value is None else sorted({*plan.key, *columns_of(plan.value)})
    yield from table.store.columns.prepare(read)
    if plan.value is not None:
        ordered = _arranged(context, plan, table.store)
        table.follow(ordered)
        yield from ordered.fill()
        return ArrangeTable(ordered, primary=False)
    there = table.arrangements()
    arrangement = table.arrangement(plan.key, shared=context.sharing)
    # One that a constraint has may be caught up by a commit: none comes while it is worked on.
    yield from arrangement.fill(at_once if arrangement in there else installation.aside)
    return ArrangeTable(arrangement, primary=arrangement is table.primary)


def _arranged(context: RenderContext, plan: ArrangementPlan, store: RowStore) -> Arrangement | OrderedArrangement:
    """The arrangement of a store's rows, of which it has none yet."""
    row = plan.collection.row
    layout = KeyLayout(tuple((row[c].type.physical, row[c].nullable) for c in plan.key), nulls="drop")
    if plan.value is None:
        return Arrangement(store, plan.key, layout)
    valued = context.valued(plan.value, row)
    return OrderedArrangement(store, plan.key, layout, valued, plan.value.type, context.dictionary)
