"""EXPLAIN: the relation as written, as transformed, its plan, and the state that installing it would add or share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from ivm.engine import Engine
from ivm.introspection import column_names
from ivm.operators.arrange import ArrangeTable
from ivm.plan.costly import costs, remarks
from ivm.plan.estimate import Estimate, total
from ivm.plan.lower import lower
from ivm.plan.nodes import (
    ArrangementPlan,
    Plan,
    ReducePlan,
    ThresholdPlan,
    TopKPlan,
    WindowPlan,
    arrangements_of,
    nodes_of,
)
from ivm.plan.text import arrangement_text, collection_text, plan_text
from ivm.transform.pipeline import optimize
from sql.ir.relation import Relation
from sql.ir.text import relation_text


def explain_text(engine: Engine, relation: Relation) -> str:
    """Deterministic text, without ids or addresses."""
    names = partial(column_names, engine)
    optimized = optimize(relation)
    plan = lower(optimized, engine.existing())
    sections = [
        ("logical", relation_text(relation)),
        ("optimized", relation_text(optimized)),
        ("plan", plan_text(plan, names)),
        ("state", "\n".join(_state_lines(engine, plan))),
    ]
    return "\n\n".join(f"{title}:\n{_indent(text)}" for title, text in sections)


def _state_lines(engine: Engine, plan: Plan) -> list[str]:
    names = partial(column_names, engine)
    added = engine.estimate(plan)
    lines = [
        f"{each.kind} {arrangement_text(each, names)}: {_shared(engine, each, added)}" for each in arrangements_of(plan)
    ]
    lines += [f"{collection_text(each)}: {_shared(engine, each, added)}" for each in _stateful(plan)]
    lines += [f"view contents: {_new(added.get(None))}", *_total_lines(added.values()), *remarks(plan)]
    return lines + ([f"not incremental: {cost}" for cost in costs(plan)] or ["every operator is incremental"])


def _stateful(plan: Plan) -> list[Plan]:
    kinds = ReducePlan | TopKPlan | WindowPlan | ThresholdPlan
    return list(dict.fromkeys(node for node in nodes_of(plan) if isinstance(node, kinds)))


def _total_lines(added: Iterable[Estimate]) -> list[str]:
    """What is added in all; nothing is said of tables without rows, of which nothing is known."""
    all_together = total(added)
    return [f"added in all: {all_together}"] if all_together.bytes else []


def _new(estimate: Estimate | None) -> str:
    return f"new, {estimate}" if estimate is not None and estimate.bytes else "new"


def _shared(
    engine: Engine, plan: Plan | ArrangementPlan, added: Mapping[Plan | ArrangementPlan | None, Estimate]
) -> str:
    if isinstance(plan, ArrangementPlan) and plan.kind == "groups":
        return "the reduce's own"
    node = engine.renderer.rendered.get(plan)
    if node is None:
        return _new(added.get(plan))
    if isinstance(node.operator, ArrangeTable) and node.operator.primary:
        return "the table's own"
    size = node.operator.size()
    return f"shared, {size.rows + size.entries} rows, {size.bytes} bytes"


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
