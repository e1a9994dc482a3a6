"""Renders threshold joins: the rows of a collection in order, and the stages that look them up by a bound."""

from __future__ import annotations

from ivm.dataflow.node import Node
from ivm.operators.arrange import ArrangeDerived, ArrangeTable
from ivm.operators.mfp import Program
from ivm.operators.threshold_join import ThresholdJoin, Visits
from ivm.plan.arrangement import ArrangementPlan
from ivm.plan.join import BoundPlan, StagePlan
from ivm.plan.mfp import Mfp
from ivm.plan.row import Row
from ivm.plan.table import TablePlan
from ivm.render.context import RenderContext
from ivm.trace.column import Column as Values
from ivm.trace.computed import Computed
from ivm.trace.delta import Delta
from ivm.trace.derived_rows import DerivedRows
from ivm.trace.keys import KeyLayout
from ivm.trace.ordered_arrangement import OrderedArrangement, Valued
from ivm.trace.row_store import RowStore
from sql.ir.scalar import Column, Scalar, columns_of


def render_ordered(context: RenderContext, plan: ArrangementPlan, source: Node) -> Node:
    """The node of an ordered arrangement, hydrated: over a base table's rows, or over rows of its own."""
    row, value = plan.collection.row, plan.value
    assert value is not None, "an ordered arrangement has a value"
    layout = KeyLayout(tuple((row[c].type.physical, row[c].nullable) for c in plan.key), nulls="drop")
    valued = _valued(context, value, row)

    def arrange(store: RowStore) -> OrderedArrangement:
        return OrderedArrangement(store, plan.key, layout, valued, value.type, context.dictionary)

    if isinstance(plan.collection, TablePlan):
        table = context.tables[plan.collection.name]
        for column in sorted({*plan.key, *columns_of(value)}):
            for count in table.store.columns.heat(column):
                context.graph.rest(count)
        arrangement = arrange(table.store)
        table.follow(arrangement)
        for count in arrangement.fill():
            context.graph.rest(count)
        return context.graph.add("arrange", ArrangeTable(arrangement, primary=False), (source,))
    rows = DerivedRows([c.type for c in row], context.dictionary, arrange)
    # Commits run the program that computes the value, too.
    return context.graph.hydrate(context.graph.add("arrange", ArrangeDerived(rows), (source,)), alone=True)


def render_threshold_join(
    context: RenderContext,
    stage: StagePlan,
    bound: BoundPlan,
    ordered: OrderedArrangement,
    joined: Row,
    offset: int,
    read: tuple[int, ...],
    computed: Computed,
    program: Program | None,
) -> ThresholdJoin:
    """The stage that looks rows up by a bound; `joined` is the row whose columns it binds from `offset` on.

    `read` are the columns of it that somebody reads later, `computed` those of whose text only functions are read.
    """
    carried = KeyLayout(tuple((joined[c].type.physical, joined[c].nullable) for c in bound.carried), nulls="match")
    return ThresholdJoin(
        ordered,
        bound.comparison,
        _valued(context, bound.scalar, joined),
        stage.stream,
        bound.carried,
        carried,
        offset,
        len(stage.arrangement.collection.row),
        stage.inclusive,
        program,
        Visits(),
        read,
        computed,
    )


def _valued(context: RenderContext, scalar: Scalar, row: Row) -> Valued:
    """What computes `scalar` for each row of a delta."""
    if isinstance(scalar, Column):
        return lambda delta: delta.column(scalar.index)
    program = context.program(Mfp(len(row), (scalar,), (), (len(row),)), row)

    def valued(delta: Delta) -> Values:
        result = program.run(delta)
        assert result is not None, "a program without predicates passes every row"
        return result.column(0)

    return valued
