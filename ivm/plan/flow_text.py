"""The dataflow that a plan becomes, as EXPLAIN shows it: a line for each node, in the order in which they step."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ivm.plan.nodes import (
    ArrangementPlan,
    ConstantPlan,
    JoinPlan,
    MfpPlan,
    NegatePlan,
    Plan,
    ReducePlan,
    TablePlan,
    ThresholdPlan,
    TopKPlan,
    UnionPlan,
    ViewPlan,
    WindowPlan,
    inputs_of,
    nodes_of,
)
from ivm.plan.text import arrangement_text

_LABELS: dict[type, str] = {
    ConstantPlan: "constant",
    MfpPlan: "mfp",
    ReducePlan: "reduce",
    TopKPlan: "top-k",
    WindowPlan: "window",
    UnionPlan: "union",
    NegatePlan: "negate",
    ThresholdPlan: "threshold",
    JoinPlan: "join",
}


def flow_lines(
    plan: Plan, names: Callable[[str], tuple[str, ...]], runs: Callable[[Plan | ArrangementPlan], bool]
) -> list[str]:
    """A numbered line for each node, with the numbers of those that it reads, and whether it runs already.

    The last one is the view's own. Cost: linear in the plan.
    """
    numbers: dict[Plan | ArrangementPlan, int] = {}
    lines: list[str] = []
    for each in _steps(plan):
        if each not in numbers:
            numbers[each] = len(numbers) + 1
            lines.append(f"{numbers[each]} {_label(each, numbers, names)}: {'runs' if runs(each) else 'new'}")
    return [*lines, f"{len(numbers) + 1} view of {numbers[plan]}: new"]


def _steps(plan: Plan) -> Iterator[Plan | ArrangementPlan]:
    for node in nodes_of(plan):
        if isinstance(node, JoinPlan):
            yield from (stage.arrangement for path in node.paths for stage in path.stages)
        yield node


def _label(
    plan: Plan | ArrangementPlan,
    numbers: dict[Plan | ArrangementPlan, int],
    names: Callable[[str], tuple[str, ...]],
) -> str:
    if isinstance(plan, TablePlan | ViewPlan):
        return f"{'table' if isinstance(plan, TablePlan) else 'view'} {plan.name}"
    if isinstance(plan, ArrangementPlan):
        return f"{plan.kind} {arrangement_text(plan, names)} of {numbers[plan.collection]}"
    below = ", ".join(str(numbers[each]) for each in dict.fromkeys(inputs_of(plan)))
    label = f"{_LABELS[type(plan)]} of {below}" if below else _LABELS[type(plan)]
    if not isinstance(plan, JoinPlan):
        return label
    found = dict.fromkeys(numbers[stage.arrangement] for path in plan.paths for stage in path.stages)
    return f"{label}, looking up {', '.join(map(str, sorted(found)))}" if found else label
