"""Renders reduces: group table, accumulators and ordered state, as the plan says."""

from __future__ import annotations

from decimal import Decimal

from catalog.types import Kind
from ivm.dataflow.node import Node
from ivm.operators.accumulable import FUNCTIONS
from ivm.operators.aggregate_order import FORMS, ROWS, Ordered, ordered_by
from ivm.operators.reduce import AggregateSpec, Reduce
from ivm.plan.reduce import AggregatePlan, ReducePlan
from ivm.render.context import RenderContext
from ivm.trace.row_order import Term
from sql.ir.aggregates import AGGREGATES, Reduction, kept_as
from sql.ir.relation import Order
from sql.ir.scalar import Literal

_WITHOUT = kept_as(Reduction.EXPANDED, Reduction.REWRITTEN)
if FORMS.keys() != kept_as(Reduction.ORDERED) or FUNCTIONS.keys() != AGGREGATES.keys() - _WITHOUT:
    raise ImportError(f"aggregates that no operator keeps: {sorted(AGGREGATES.keys() - _WITHOUT - FUNCTIONS.keys())}")


def render_reduce(context: RenderContext, plan: ReducePlan) -> Node:
    """The reduce's node, hydrated."""
    keys = tuple((column.type, column.nullable) for column in plan.input.row[: plan.keys])
    operator = Reduce(
        keys, tuple(_spec(plan, a) for a in plan.aggregates), context.dictionary, append_only=plan.append_only
    )
    node = context.graph.add("reduce", operator, (context.node(plan.input),))
    # What shows all rows of a group is made anew whenever one of them changes.
    return context.graph.hydrate(node, whole=any(FORMS.get(each.function) == ROWS for each in plan.aggregates))


def _spec(plan: ReducePlan, aggregate: AggregatePlan) -> AggregateSpec:
    argument = None if aggregate.argument is None else plan.input.row[aggregate.argument]
    return AggregateSpec(
        aggregate.function,
        aggregate.argument,
        None if argument is None else argument.type,
        argument is not None and argument.nullable,
        aggregate.type,
        _ordered(plan, aggregate),
        tuple(_python(literal) for literal in aggregate.parameters),
    )


def _ordered(plan: ReducePlan, aggregate: AggregatePlan) -> Ordered | None:
    if aggregate.function not in FORMS or aggregate.argument is None:
        return None
    others = [_term(plan, Order(column)) for column in aggregate.others]
    order = [_term(plan, term) for term in aggregate.order]
    return ordered_by(aggregate.function, _term(plan, Order(aggregate.argument)), others, order)


def _term(plan: ReducePlan, order: Order) -> Term:
    column = plan.input.row[order.column]
    return Term(order.column, column.type, column.nullable, order.descending, order.nulls_first)


def _python(literal: Literal) -> object:
    """The Python object of a parameter: a Decimal of a DECIMAL, else the value."""
    if literal.type.kind is Kind.DECIMAL:
        return Decimal(int(literal.value or 0)).scaleb(-literal.type.scale)
    return literal.value
