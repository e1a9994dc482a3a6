"""What a change of one row of a base table costs on its way through a plan: lookups, rows visited, changes of the view.

An expectation, from the sizes of tables and textbook selectivities (see `ivm.plan.estimate`). Where nothing is known
because tables are empty, each lookup is taken to find one row and each filter to keep it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log2, prod

from ivm.analysis.cardinality import selectivity
from ivm.plan.costly import called, is_small
from ivm.plan.estimate import Estimator, rounded
from ivm.plan.join_keys import MOVED
from ivm.plan.nodes import (
    JoinPlan,
    MfpPlan,
    NegatePlan,
    Path,
    Plan,
    ReducePlan,
    Stage,
    TablePlan,
    ThresholdPlan,
    TopKPlan,
    UnionPlan,
    WindowPlan,
    inputs_of,
    nodes_of,
)
from sql.ir.scalar import Scalar

_WHOLE_GROUP = frozenset(("string_agg", "list"))


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


def change_costs(plan: Plan, estimator: Estimator | None) -> tuple[ChangeCost, ...]:
    """One for each base table that the plan reads, in the order in which it names them; None: no sizes are known.

    Cost: linear in the plan, for each table.
    """
    nodes = tuple(dict.fromkeys(nodes_of(plan)))
    tables = dict.fromkeys(each.name for each in nodes if isinstance(each, TablePlan))
    return tuple(_Change(name, estimator).through(nodes) for name in tables)


@dataclass
class _Change:
    """One row of `table` on its way; `rates` are the changes that each node passes on for it."""

    table: str
    estimator: Estimator | None
    lookups: float = 0.0
    visited: float = 0.0
    rates: dict[Plan, float] = field(default_factory=dict)
    whole: dict[str, None] = field(default_factory=dict)

    def through(self, nodes: tuple[Plan, ...]) -> ChangeCost:
        """Follow the row through `nodes`, inputs first; the last one is the view's."""
        for node in nodes:
            self.rates[node] = self._passed(node)
        return ChangeCost(
            self.table, self.lookups, self.visited, self.rates[nodes[-1]], tuple(self.whole), self.estimator is not None
        )

    def _passed(self, node: Plan) -> float:
        """The changes of a node, whose inputs' are known; adds up what they cost."""
        if isinstance(node, TablePlan):
            return float(node.name == self.table)
        if isinstance(node, JoinPlan):
            return sum(self._path(node, path) for path in node.paths)
        rate = sum(self.rates[each] for each in inputs_of(node))
        if not rate:
            return 0.0
        match node:
            case MfpPlan():
                return rate * self._kept(node.mfp.predicates)
            case ReducePlan():
                return self._reduced(node, rate)
            case TopKPlan():
                return self._first(node, rate)
            case WindowPlan():
                return self._windowed(node, rate)
            case ThresholdPlan():
                self.lookups += rate
            case UnionPlan() | NegatePlan():
                pass
        return rate

    def _path(self, join: JoinPlan, path: Path) -> float:
        rows = self.rates[join.inputs[path.source]]
        if not rows:
            return 0.0
        rows *= self._kept(path.predicates)
        for stage in path.stages:
            if not stage.arrangement.key and stage.bound is None and not is_small(join.inputs[stage.input]):
                self.whole[f"all rows of {called(join.inputs[stage.input])}"] = None
            met = rows * self._found(join, stage)
            if stage.bound is not None:  # the order holds those that pass side by side
                met *= self._kept(stage.predicates)
                if self.estimator is not None and isinstance(join.inputs[path.source], ReducePlan):
                    met = min(met, rows * MOVED)
            self.lookups += rows
            self.visited += met
            rows = met if stage.bound is not None else met * self._kept(stage.predicates)
        return rows

    def _found(self, join: JoinPlan, stage: Stage) -> float:
        """The rows that a lookup by the key meets."""
        if self.estimator is None:
            return 1.0
        rows = self.estimator.count(stage.arrangement.collection)
        if stage.unique:
            return min(1.0, rows)
        offset = join.offsets[stage.input]
        values = prod(self._values(join, self.estimator, offset + column) for column in stage.arrangement.key)
        return rows / max(1.0, min(rows, values))

    def _values(self, join: JoinPlan, estimator: Estimator, column: int) -> float:
        """The values of a joined column: no more than there are rows of a table whose key it must equal."""
        known = [estimator.distinct_joined(join, column)]
        for other in next((group for group in join.classes if column in group), ()):
            number = max(i for i, offset in enumerate(join.offsets) if offset <= other)
            table = join.inputs[number]
            if isinstance(table, TablePlan) and (other - join.offsets[number],) in table.keys:
                known.append(estimator.count(table))
        return min(known)

    def _reduced(self, reduce: ReducePlan, rate: float) -> float:
        self.lookups += rate
        self.visited += rate
        if self.estimator is None:
            ordered = 0.0
        else:
            ordered = log2(1.0 + self.estimator.count(reduce.input) / max(1.0, self.estimator.count(reduce)))
        self.visited += rate * ordered * sum(map(reduce.keeps_order, reduce.aggregates))
        if any(a.function in _WHOLE_GROUP for a in reduce.aggregates):
            self.whole[f"all values of a group of {called(reduce.input)}"] = None
            self.visited += rate * self._partition(reduce.input, tuple(range(reduce.keys)))
        # The group's row goes and comes; of many changes to few groups, once for each group.
        groups = rate if self.estimator is None else min(rate, max(1.0, self.estimator.count(reduce)))
        return groups * (1.0 if self.estimator is None else 2.0)

    def _first(self, top: TopKPlan, rate: float) -> float:
        self.lookups += rate
        if self.estimator is None:
            return rate
        rows = self._partition(top.input, top.group)
        shown = rows if top.limit is None else min(rows, float(top.limit))
        within = min(1.0, (shown + top.offset) / rows)
        changes = rate * within * 2.0
        if top.growing:  # a group's first rows stand side by side, and are read and written together
            kept = min(rows, shown + top.offset)
            self.visited += rate * (log2(1.0 + kept) + kept)
        else:
            self.visited += rate * log2(1.0 + rows) + changes
        return changes

    def _windowed(self, window: WindowPlan, rate: float) -> float:
        self.lookups += rate
        reaches = {function.reach for function in window.functions}
        if "partition" in reaches:
            self.whole[f"a whole partition of {called(window.input)}"] = None
        if self.estimator is None:
            return rate
        rows = self._partition(window.input, window.partition)
        if reaches & {"partition", "shared"}:
            met = rows
        elif reaches == {"near"}:
            met = min(rows, max(float(f.before + f.after) for f in window.functions))
        else:
            met = rows / 2.0
        self.visited += rate * (log2(1.0 + rows) + met)
        return rate * (1.0 + 2.0 * met)

    def _partition(self, plan: Plan, columns: tuple[int, ...]) -> float:
        """The rows of a plan that agree on `columns`, at least 1."""
        if self.estimator is None:
            return 1.0
        rows = self.estimator.count(plan)
        values = prod(self.estimator.distinct(plan, column) for column in columns)
        return max(1.0, rows / max(1.0, min(rows, values)))

    def _kept(self, predicates: tuple[Scalar, ...]) -> float:
        return 1.0 if self.estimator is None else prod(selectivity(p) for p in predicates)


def _counted(number: float, what: str) -> str:
    """A count with its noun: whole numbers from 10 on by two digits, below with one decimal place."""
    shown = rounded(number) if number >= 9.95 else f"{number:.1f}".removesuffix(".0")
    return f"{shown} {what}{'' if shown == '1' else 's'}"
