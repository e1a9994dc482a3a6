"""Renders top-k: ordered state of the input, or the first rows alone."""

from __future__ import annotations

from ivm.operators.top_k import AppendOnlyTopK, TopK
from ivm.plan.top_k import TopKPlan
from ivm.render.context import terms_of, types_of
from ivm.trace.dictionary import TextDictionary


def top_k_operator(plan: TopKPlan, dictionary: TextDictionary) -> TopK | AppendOnlyTopK:
    """The operator that carries out `plan`, still empty."""
    types, order = types_of(plan.row), terms_of(plan.order)
    if plan.append_only and plan.limit is not None:
        return AppendOnlyTopK(types, plan.group, order, plan.limit, plan.offset, dictionary)
    return TopK(types, plan.group, order, plan.limit, plan.offset, dictionary, plan.ties)
