"""What is said of plans, deterministic and without ids or addresses: the nodes, the dataflow, what a change costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ivm.plan.arrangement import ArrangementPlan
from ivm.plan.estimate import rounded
from ivm.plan.join import JoinPlan
from ivm.plan.node import Change, NamesOf, Plan, Sizes, nodes_of
from ivm.plan.table import TablePlan
from ivm.sql.ir.tree_text import TreeText


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


def change_lines(plan: Plan, sizes: Sizes | None) -> list[str]:
    """A line for each base table that the plan reads, in the order in which it names them: what a change of it costs.

    An expectation, from the sizes of tables and textbook selectivities (see `Sizes`). Without sizes, since tables are
    empty, each lookup is taken to find one row and each filter to keep it.

    Each says how many keys a changed row of it looks up, how many rows it visits, what it changes in the view, and what
    it visits whole: collections, partitions or groups, in the order in which it meets them.
    Cost: linear in the plan, for each table.
    """
    nodes = tuple(dict.fromkeys(nodes_of(plan)))
    lines = []
    for table in dict.fromkeys(each.name for each in nodes if isinstance(each, TablePlan)):
        change = Change(table, sizes)
        change.follow(nodes)
        visits = "".join(f"; visits {each}" for each in change.whole)
        lines.append(f"a changed row of {table}: {_figures(change, change.rates[nodes[-1]])}{visits}")
    return lines


def _figures(change: Change, passed: float) -> str:
    if not change.lookups:
        return "no lookup"
    lookups = _counted(change.lookups, "lookup")
    if change.sizes is None:
        return f"{lookups} if each finds one row"
    return f"about {lookups}, {_counted(change.visited, 'row')} visited, {_counted(passed, 'change')} of the view"


def _counted(number: float, what: str) -> str:
    """A count with its noun: whole numbers from 10 on by two digits, below with one decimal place."""
    shown = rounded(number) if number >= 9.95 else f"{number:.1f}".removesuffix(".0")
    return f"{shown} {what}{'' if shown == '1' else 's'}"
