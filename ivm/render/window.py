"""Renders window functions: a tree for each partition, with the functions' values."""

from __future__ import annotations

from ivm.operators.window import FunctionSpec, Window
from ivm.plan.window import WindowFunctionPlan, WindowPlan
from ivm.render.context import terms_of, types_of
from ivm.trace.dictionary import TextDictionary


def window_operator(plan: WindowPlan, dictionary: TextDictionary) -> Window:
    """The operator that carries out `plan`, still empty."""
    types, functions = types_of(plan.input.row), tuple(map(_spec, plan.functions))
    return Window(types, plan.width, plan.partition, terms_of(plan.order), functions, dictionary)


def _spec(plan: WindowFunctionPlan) -> FunctionSpec:
    frame = plan.frame
    return FunctionSpec(
        plan.function, plan.argument, plan.type, frame.start, frame.end, frame.peers, plan.skips_nulls, plan.number,
        plan.default, plan.reach, plan.before, plan.after,
    )  # fmt: skip
