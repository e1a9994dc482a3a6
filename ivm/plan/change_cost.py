"""What a change of one row of a base table costs on its way through a plan: lookups, rows visited, changes of the view.

An expectation, from the sizes of tables and textbook selectivities (see `ivm.plan.node.Sizes`). Where nothing is known
because tables are empty, each lookup is taken to find one row and each filter to keep it.
"""

from __future__ import annotations

from ivm.plan.estimate import rounded
from ivm.plan.node import Change, Plan, Sizes, nodes_of
from ivm.plan.table import TablePlan


def change_lines(plan: Plan, sizes: Sizes | None) -> list[str]:
    """A line for each base table that the plan reads, in the order in which it names them; None: no sizes are known.

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
