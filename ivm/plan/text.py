"""One deterministic text form of plans and of the dataflows that they become, without ids or addresses."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ivm.plan.arrangement import ArrangementPlan
from ivm.plan.join import JoinPlan
from ivm.plan.node import NamesOf, Plan, nodes_of
from sql.ir.tree_text import TreeText


def plan_text(plan: Plan, names_of: NamesOf) -> str:
    """The plan, a node on each line, inputs indented below; what stands in several places is written once."""
    return TreeText(plan, lambda node: node.below(), lambda node: node.lines(names_of)).text()


def costs(plan: Plan) -> tuple[str, ...]:
    """A sentence for each way in which a change costs more than what follows from it; empty for an incremental plan.

    Said in EXPLAIN and in ivm_views, never left silent. Cost: linear in the plan.
    """
    return tuple(dict.fromkeys(sentence for each in nodes_of(plan) for sentence in each.costs()))


def remarks(plan: Plan) -> tuple[str, ...]:
    """A sentence for each cost that follows from a change, but may be large."""
    return tuple(dict.fromkeys(sentence for each in nodes_of(plan) for sentence in each.remarks()))


def flow_lines(plan: Plan, names_of: NamesOf, runs: Callable[[Plan | ArrangementPlan], bool]) -> list[str]:
    """A numbered line for each node of the dataflow, in the order in which they step, with the numbers of those that it
    reads, and whether it runs already. The last one is the view's own. Cost: linear in the plan.
    """
    numbers: dict[Plan | ArrangementPlan, int] = {}
    lines: list[str] = []
    for each in _steps(plan):
        if each not in numbers:
            numbers[each] = len(numbers) + 1
            lines.append(f"{numbers[each]} {_label(each, numbers, names_of)}: {'runs' if runs(each) else 'new'}")
    return [*lines, f"{len(numbers) + 1} view of {numbers[plan]}: new"]


def _steps(plan: Plan) -> Iterator[Plan | ArrangementPlan]:
    for node in nodes_of(plan):
        if isinstance(node, JoinPlan):
            yield from node.arrangements
        yield node


def _label(plan: Plan | ArrangementPlan, numbers: dict[Plan | ArrangementPlan, int], names_of: NamesOf) -> str:
    if isinstance(plan, ArrangementPlan):
        return f"{plan.kind} {plan.text(names_of)} of {numbers[plan.collection]}"
    below = ", ".join(str(numbers[each]) for each in dict.fromkeys(plan.below()))
    label = f"{plan.label} of {below}" if below else plan.label
    if not isinstance(plan, JoinPlan):
        return label
    found = {numbers[each] for each in plan.arrangements}
    return f"{label}, looking up {', '.join(map(str, sorted(found)))}" if found else label
