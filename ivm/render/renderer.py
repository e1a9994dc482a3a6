"""The renderer: one dataflow node for each distinct plan, however many views ask for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import cast

from ivm.dataflow.node import Node
from ivm.operators.arrange import ArrangeTable
from ivm.plan.arrangement import ArrangementPlan
from ivm.plan.constant import ConstantPlan
from ivm.plan.existing import Existing
from ivm.plan.join import JoinPlan
from ivm.plan.mfp import MfpPlan
from ivm.plan.negate import NegatePlan
from ivm.plan.node import Plan
from ivm.plan.reduce import ReducePlan
from ivm.plan.table import TablePlan, ViewPlan
from ivm.plan.threshold import ThresholdPlan
from ivm.plan.top_k import TopKPlan
from ivm.plan.union import UnionPlan
from ivm.plan.window import WindowPlan
from ivm.render.arrangement import render_arrangement
from ivm.render.constant import render_constant
from ivm.render.context import RenderContext
from ivm.render.join import render_join
from ivm.render.mfp import render_mfp
from ivm.render.negate import render_negate
from ivm.render.reduce import render_reduce
from ivm.render.table import render_table
from ivm.render.threshold import render_threshold
from ivm.render.top_k import render_top_k
from ivm.render.union import render_union
from ivm.render.window import render_window
from ivm.trace.turns import Aside, at_once


@dataclass
class Renderer(RenderContext):
    """Remembers what was rendered, so that equal plans share a node; drops what nobody uses any more.

    `existing`: what is rendered, as the planner sees it.
    """

    rendered: dict[Plan | ArrangementPlan, Node] = field(default_factory=dict)
    existing: Existing = field(default_factory=Existing)
    _plans: dict[Node, list[Plan | ArrangementPlan]] = field(default_factory=dict)
    _made: dict[Plan | ArrangementPlan, None] = field(default_factory=dict)  # by the installation

    def apart(self) -> Renderer:
        """One for a single view over the same tables and views, which shares nothing else that it renders."""
        return replace(self, rendered={}, existing=Existing(), _plans={}, _made={}, sharing=False)

    def node(self, plan: Plan | ArrangementPlan) -> Node:
        """The node that carries out `plan`: the one that exists, else a new one, hydrated."""
        if isinstance(plan, ViewPlan):
            return self.views[plan.name]
        known = self.rendered.get(plan)
        if known is None:
            known = self.rendered[plan] = self._make(plan)
            self._plans.setdefault(known, []).append(plan)
            self._made[plan] = None
            self.existing.add((plan,))
        return known

    def was_there(self, plan: Plan | ArrangementPlan) -> bool:
        """Whether `plan` ran before the installation that is under way."""
        return plan in self.rendered and plan not in self._made

    def release(self, node: Node) -> None:
        """Give up one use of `node`, and everything that only it used."""
        self._forget(self.graph.release(node))

    @contextmanager
    def installing(self, pause: Callable[[int], None], aside: Aside = at_once) -> Iterator[None]:
        """What is rendered within is a view on its way in; an error leaves everything as it was before.

        See `Graph.installing`.
        """
        users = {each: each.users for store in self.tables.values() for each in store.followers()}
        try:
            with self.graph.installing(pause, aside):
                yield
        except BaseException:
            for plan in reversed(self._made):
                self._drop(plan)
            for store in self.tables.values():
                for arrangement in store.followers():
                    while arrangement.users > users.get(arrangement, 0):
                        store.release(arrangement)
            raise
        finally:
            self._made.clear()

    def _forget(self, removed: Iterable[Node]) -> None:
        for node in removed:
            for plan in tuple(self._plans.get(node, ())):
                self._drop(plan)
                if isinstance(plan, ArrangementPlan) and isinstance(plan.collection, TablePlan):
                    self.tables[plan.collection.name].release(cast(ArrangeTable, node.operator).arrangement)

    def _drop(self, plan: Plan | ArrangementPlan) -> None:
        """Undo what `node` noted of a plan."""
        node = self.rendered.pop(plan)
        self._plans[node].remove(plan)
        if not self._plans[node]:
            del self._plans[node]
        self.existing.remove((plan,))
        if isinstance(plan, TablePlan) and node.users == 0:  # where nothing is shared, others may have it too
            self.sources.pop(plan.name, None)

    def _make(self, plan: Plan | ArrangementPlan) -> Node:
        match plan:
            case TablePlan():
                return render_table(self, plan)
            case ConstantPlan():
                return render_constant(self, plan)
            case MfpPlan():
                return render_mfp(self, plan)
            case ArrangementPlan():
                return render_arrangement(self, plan)
            case JoinPlan():
                return render_join(self, plan)
            case ReducePlan():
                return render_reduce(self, plan)
            case TopKPlan():
                return render_top_k(self, plan)
            case WindowPlan():
                return render_window(self, plan)
            case UnionPlan():
                return render_union(self, plan)
            case NegatePlan():
                return render_negate(self, plan)
            case ThresholdPlan():
                return render_threshold(self, plan)
        raise AssertionError(f"no rendering of {type(plan).__name__}")
