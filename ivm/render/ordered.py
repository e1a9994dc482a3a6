"""Renders what keeps its input in order: top-k, or the first rows where that is enough; windows; ASOF joins."""

from __future__ import annotations

from collections.abc import Iterable

from ivm.operators.asof import Asof, AsofSide
from ivm.operators.top_k import AppendOnlyTopK, TopK
from ivm.operators.window import Window
from ivm.operators.window_functions import FrameSpec, FunctionSpec
from ivm.plan.asof import AsofPlan
from ivm.plan.top_k import TopKPlan
from ivm.plan.window import WindowFunctionPlan, WindowPlan
from ivm.render.context import types_of
from ivm.sql.ir.relation import Order
from ivm.trace.text.dictionary import TextDictionary


def top_k_operator(plan: TopKPlan, dictionary: TextDictionary) -> TopK | AppendOnlyTopK:
    """The operator that carries out `plan`, still empty."""
    types, order = types_of(plan.row), _terms_of(plan.order)
    if plan.append_only and plan.limit is not None:
        return AppendOnlyTopK(types, plan.group, order, plan.limit, plan.offset, dictionary)
    return TopK(types, plan.group, order, plan.limit, plan.offset, dictionary, plan.ties)


def window_operator(plan: WindowPlan, dictionary: TextDictionary) -> Window:
    """The operator that carries out `plan`, still empty."""
    types, functions = types_of(plan.input.row), tuple(map(_spec, plan.functions))
    return Window(types, plan.width, plan.partition, _terms_of(plan.order), functions, dictionary)


def asof_operator(plan: AsofPlan, dictionary: TextDictionary) -> Asof:
    """The operator that carries out `plan`, still empty."""
    left, right = (
        AsofSide(types_of(side.row), tuple(pair[i] for pair in plan.keys), plan.times[i], plan.widths[i])
        for i, side in enumerate((plan.left, plan.right))
    )
    return Asof(left, right, plan.function, dictionary, outer=plan.outer)


def _spec(plan: WindowFunctionPlan) -> FunctionSpec:
    frame = FrameSpec(plan.frame.start, plan.frame.end, plan.frame.peers, plan.frame.exclude, *plan.bounds)
    return FunctionSpec(
        plan.function, plan.argument, plan.type, frame, plan.skips_nulls, plan.number, plan.default, plan.reach,
        plan.before, plan.after, plan.numbered,
    )  # fmt: skip


def _terms_of(order: Iterable[Order]) -> tuple[tuple[int, bool, bool], ...]:
    """The terms of an ORDER BY as operators take them."""
    return tuple((term.column, term.descending, term.nulls_first) for term in order)
