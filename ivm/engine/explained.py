"""EXPLAIN where all rows are here: the relation as transformed, its plan, its dataflow, and the state it would add."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from ivm.dataflow.loop import Iterate
from ivm.engine.backend import Section
from ivm.engine.part import Part
from ivm.engine.sampled import sampled
from ivm.operators.arrange import ArrangeTable
from ivm.plan.arrangement import ArrangementPlan
from ivm.plan.estimate import Estimate, rounded, total
from ivm.plan.existing import question
from ivm.plan.iterate import IteratePlan
from ivm.plan.join import JoinPlan, arrangements_of
from ivm.plan.lower import lower
from ivm.plan.mfp import MfpPlan
from ivm.plan.node import Plan, nodes_of
from ivm.plan.table import TablePlan, ViewPlan
from ivm.plan.text import change_lines, costs, flow_lines, plan_text, remarks
from ivm.sql.ir.relation import Relation
from ivm.sql.ir.text import relation_text
from ivm.trace.turns import Turns
from ivm.transform.pipeline import optimize

MOST_DESCRIBED = 30
"""So many registered views, the nearest, does EXPLAIN say what became of: each is planned by itself for that."""


def explained(
    part: Part, relation: Relation, below: Mapping[str, Relation], names: Callable[[str], tuple[str, ...]], lock: Turns
) -> Sequence[Section]:
    """See `Backend.explained`. It is planned without the lock."""
    with lock:
        existing = part.existing().fixed()
    optimized = optimize(relation)
    plan = lower(optimized, existing)
    nearest = list(below)[-MOST_DESCRIBED:]
    held = {name: _core(lower(optimize(below[name]), existing)) for name in nearest}
    further = [f"and {len(below) - len(held)} views below these"] if len(below) > len(held) else []
    with lock:
        views = [*_registered_lines(part, plan, held), *further]
        return (
            ("optimized", relation_text(optimized)),
            ("plan", plan_text(plan, names)),
            ("dataflow", "\n".join(flow_lines(plan, names, partial(_runs, part)))),
            ("state", "\n".join([*views, *_state_lines(part, plan, names)])),
            ("changes", "\n".join(_change_lines(part, plan))),
        )


def _runs(part: Part, plan: Plan | ArrangementPlan) -> bool:
    """Whether the dataflow has the node of a plan already."""
    if isinstance(plan, ViewPlan):
        return True
    if isinstance(plan, TablePlan):
        return plan.name in part.renderer.sources
    return plan in part.renderer.rendered


def _state_lines(part: Part, plan: Plan, names: Callable[[str], tuple[str, ...]]) -> list[str]:
    added = part.estimate(plan)
    lines = [f"{each.kind} {each.text(names)}: {_shared(part, each, added)}" for each in arrangements_of(plan)]
    stateful = dict.fromkeys(node for node in nodes_of(plan) if node.state_kind)
    lines += [f"{each.short_text()}: {_shared(part, each, added)}{_rounds(part, each)}" for each in stateful]
    lines.append(f"view contents: {_new(added.get(None))}")
    if (in_all := total(added.values())).bytes:  # of tables without rows nothing is known
        lines.append(f"added in all: {in_all}")
    lines += remarks(plan)
    return lines + ([f"not incremental: {cost}" for cost in costs(plan)] or ["every operator is incremental"])


def _change_lines(part: Part, plan: Plan) -> list[str]:
    expected = sampled(part.sizes(), part.tables)
    sized = any(expected.rows.get(each.name) for each in nodes_of(plan) if isinstance(each, TablePlan | ViewPlan))
    return change_lines(plan, expected if sized else None) or ["no table that it reads directly"]


def _registered_lines(part: Part, plan: Plan, registered: Mapping[str, Plan]) -> list[str]:
    """Of each view that is only registered, by the plan of what it holds, whether it is a collection of the plan, and
    who else has that.

    Equal plans are one node. So it is what the same query alone would be, or else it has gone into what is around it.
    """
    users = part.users_of_nodes()
    lines: list[str] = []
    for name, core in registered.items():
        node = part.renderer.rendered.get(core)
        views = ", ".join(users.get(id(node), ())) if node is not None else ""
        if isinstance(core, TablePlan | ViewPlan) or not _contains(plan, core):
            how = "merged into the plan; indexes of its tables are shared"
        else:
            how = f"shared as a collection, with {views}" if views else "a collection, so far of this plan alone"
        lines.append(f"view {name}: {how}")
    return lines


def _core(plan: Plan) -> Plan:
    """What is below the map-filter-projects at the top: these hold nothing, and are part of whatever reads them."""
    while isinstance(plan, MfpPlan):
        plan = plan.input
    return plan


def _contains(plan: Plan, part: Plan) -> bool:
    if isinstance(part, JoinPlan):
        return any(isinstance(each, JoinPlan) and question(each) == question(part) for each in nodes_of(plan))
    return part in nodes_of(plan)


def _rounds(part: Part, plan: Plan) -> str:
    """Of a loop how many rounds one time takes at most, so far; of a new one, about how many."""
    if not isinstance(plan, IteratePlan):
        return ""
    node = part.renderer.rendered.get(plan)
    if node is None:
        return f", about {rounded(plan.rounds(sampled(part.sizes(), part.tables)))} rounds"
    assert isinstance(node.operator, Iterate), "it carries out a loop"
    return f", {node.operator.longest} rounds at most so far"


def _new(estimate: Estimate | None) -> str:
    return f"new, {estimate}" if estimate is not None and estimate.bytes else "new"


def _shared(part: Part, plan: Plan | ArrangementPlan, added: Mapping[Plan | ArrangementPlan | None, Estimate]) -> str:
    if isinstance(plan, ArrangementPlan) and plan.kind == "groups":
        return "the reduce's own"
    node = part.renderer.rendered.get(plan)
    if node is None:
        return _new(added.get(plan))
    if isinstance(node.operator, ArrangeTable) and node.operator.primary:
        return "the table's own"
    size = node.operator.size()
    return f"shared, {size.rows + size.entries} rows, {size.bytes} bytes"
