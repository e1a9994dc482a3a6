"""What a change of one row of a base table costs on its way through a plan: lookups, rows visited, changes of the view.

An expectation, from the sizes of tables and textbook selectivities (see `ivm.plan.node.Sizes`). Where nothing is known
because tables are empty, each lookup is taken to find one row and each filter to keep it.
"""

from __future__ import annotations

from dataclasses import dataclass

from ivm.plan.estimate import rounded
from ivm.plan.node import Change, Plan, Sizes, nodes_of
from ivm.plan.table import TablePlan


@dataclass(frozen=True)
class ChangeCost:
    """For one changed row of a table: keys looked up, rows visited, changes of the view, and what is visited whole.

    `sized`: whether the figures come from the sizes of tables. `whole` names collections of which a change of this
    table visits all rows, or a whole partition or group, in the order in which it meets them.
    """

    table: str
    lookups: float
    visited: float
    changes: float
    whole: tuple[str, ...]
    sized: bool

    def __str__(self) -> str:
        return f"a changed row of {self.table}: {self._figures()}{''.join(f'; visits {each}' for each in self.whole)}"

    def _figures(self) -> str:
        if not self.lookups:
            return "no lookup"
        if not self.sized:
            return f"{_counted(self.lookups, 'lookup')} if each finds one row"
        found = _counted(self.visited, "row"), _counted(self.changes, "change")
        return f"about {_counted(self.lookups, 'lookup')}, {found[0]} visited, {found[1]} of the view"


def change_costs(plan: Plan, sizes: Sizes | None) -> tuple[ChangeCost, ...]:
    """One for each base table that the plan reads, in the order in which it names them; None: no sizes are known.

    Cost: linear in the plan, for each table.
    """
    nodes = tuple(dict.fromkeys(nodes_of(plan)))
    found = []
    for table in dict.fromkeys(each.name for each in nodes if isinstance(each, TablePlan)):
        change = Change(table, sizes)
        change.follow(nodes)
        passed = change.rates[nodes[-1]]
        found.append(ChangeCost(table, change.lookups, change.visited, passed, tuple(change.whole), sizes is not None))
    return tuple(found)


def _counted(number: float, what: str) -> str:
    """A count with its noun: whole numbers from 10 on by two digits, below with one decimal place."""
    shown = rounded(number) if number >= 9.95 else f"{number:.1f}".removesuffix(".0")
    return f"{shown} {what}{'' if shown == '1' else 's'}"
