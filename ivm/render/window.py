"""Renders window functions: a tree for each partition, with the functions' values."""

from __future__ import annotations

from ivm.dataflow.node import Node
from ivm.operators.window import FunctionSpec, Window
from ivm.plan.window import WindowFunctionPlan, WindowPlan
from ivm.render.context import RenderContext
from ivm.trace.dictionary import TextDictionary


def render_window(context: RenderContext, plan: WindowPlan) -> Node:
    """The window's node, hydrated."""
    operator = window_operator(plan, context.dictionary)
    # Rows that come in parts would move those that are there already, and change their values.
    return context.graph.hydrate(context.graph.add("window", operator, (context.node(plan.input),)), whole=True)


def window_operator(plan: WindowPlan, dictionary: TextDictionary) -> Window:
    """The operator that carries out `plan`, still empty."""
    types = tuple((column.type, column.nullable) for column in plan.input.row)
    order = tuple((term.column, term.descending, term.nulls_first) for term in plan.order)
    return Window(types, plan.width, plan.partition, order, tuple(map(_spec, plan.functions)), dictionary)


def _spec(plan: WindowFunctionPlan) -> FunctionSpec:
    frame = plan.frame
    return FunctionSpec(
        plan.function, plan.argument, plan.type, frame.start, frame.end, frame.peers, plan.skips_nulls, plan.number,
        plan.default, plan.reach, plan.before, plan.after,
    )  # fmt: skip
